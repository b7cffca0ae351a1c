/* SPDX-License-Identifier: MIT */
/*
 * board.h - a shared mapping that tells what every child does. The master
 * writes the head, each child writes its own slot only, and all processes read.
 *
 * Numbers are 64-bit atomics with relaxed order (plain moves on x86-64). The
 * text of the current request is guarded by a sequence counter: a reader that
 * sees it change tries again, and in the end treats the text as empty. In a child with a
 * watch thread, "the child" is the thread that holds the connection lock.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_METHOD_SIZE  16
#define BOARD_URI_SIZE     256
#define BOARD_HANDLER_SIZE 64
#define BOARD_ERROR_SIZE   160
#define BOARD_BUCKETS      36 /* bucket b: latency < 2^b microseconds; the last one takes the rest */

enum board_state {
    BOARD_FREE = 0,     /* no child */
    BOARD_STARTING = 1, /* forked, not yet ready */
    BOARD_IDLE = 2,     /* waits; kept connections may be open */
    BOARD_READING = 3,  /* a request has begun to arrive */
    BOARD_RUNNING = 4,  /* inside a handler */
    BOARD_WAITING = 5,  /* handlers wait (FH_WAIT), none runs: takes more work */
    BOARD_DRAINING = 6, /* takes no more work, finishes its requests */
};

/* One child. Fields of the master come first. */
struct board_slot {
    _Alignas(128) _Atomic int32_t pid; /* 0: free */
    _Atomic uint32_t generation;       /* of the configuration it was started with */
    _Atomic int64_t start_ms;          /* wall clock */

    /* the child's */
    _Atomic uint32_t state;              /* enum board_state */
    _Atomic uint32_t in_flight;          /* requests running or waiting */
    _Atomic uint32_t connections_active; /* connections with a request */
    _Atomic uint32_t connections_idle;   /* kept, no request */
    _Atomic uint64_t accepted;           /* connections */
    _Atomic uint64_t adopted;            /* connections taken over from siblings */
    _Atomic uint64_t handed;             /* connections handed to siblings */
    _Atomic uint64_t requests;           /* answered */
    _Atomic uint64_t failed;             /* answered with 500 to 599 */
    _Atomic uint64_t aborted;            /* front end went away */
    _Atomic uint64_t skipped;            /* aborted before a handler ran */
    _Atomic uint64_t timed_out;          /* request timeout */
    _Atomic uint64_t dropped;            /* incomplete requests, protocol errors */
    _Atomic uint64_t rejected;           /* clients not allowed */
    _Atomic uint64_t slow;               /* took longer than slow_ms */
    _Atomic uint64_t log_lost;           /* lost lines of access log and slow log */
    _Atomic uint64_t busy_ns;            /* time inside handlers */
    _Atomic uint64_t latency_us_sum;
    _Atomic uint64_t latency[BOARD_BUCKETS];
    _Atomic int64_t state_since_ns;   /* monotonic */
    _Atomic int64_t request_start_ns; /* monotonic; of the current or last request */
    _Atomic int64_t request_end_ns;   /* monotonic; 0 while it runs */

    _Atomic uint32_t sequence; /* odd while the text changes */
    uint64_t content_length;
    char method[BOARD_METHOD_SIZE];
    char uri[BOARD_URI_SIZE]; /* sanitised: printable ASCII without quotes and backslashes */
    char handler[BOARD_HANDLER_SIZE];
    char error[BOARD_ERROR_SIZE]; /* last one */
};

/* Written by the master; <retired> sums up the counters of children that ended. */
struct board_head {
    uint32_t magic;
    uint32_t layout; /* size of head and slot: a board with another layout is not used */
    uint32_t slots;
    _Atomic int32_t master_pid;
    _Atomic uint32_t generation;
    _Atomic int64_t start_ms; /* wall clock */
    _Atomic uint32_t pm;
    _Atomic uint32_t max_children;
    _Atomic uint32_t backlog; /* effective: after somaxconn */
    _Atomic uint64_t max_listen_queue;
    _Atomic uint64_t max_active;
    _Atomic uint64_t max_children_reached;
    _Atomic uint64_t restarts; /* children replaced because they died */
    _Atomic uint64_t killed;   /* children killed because they did not end in time */
    _Atomic uint64_t recycled; /* children replaced by max_requests or memory_limit */
    _Atomic uint64_t reloads;
    _Atomic uint64_t log_lost; /* lines of the log that were lost */
    struct board_slot retired;
};

struct board {
    struct board_head *head;
    struct board_slot *slot; /* head->slots of them */
    size_t size;
    int fd; /* memfd; passed on when the binary is replaced */
};

/* --- the child's side: what an engine calls ----------------------------------- */

/* Sets the state of the child. Cheap when nothing changes. */
void board_state(struct board_slot *slot, enum board_state state);

/* A request starts in a handler: state RUNNING, in_flight + 1. Texts need not be
 * NUL-terminated (<uri_length>); NULL counts as "". <now_ns> is CLOCK_MONOTONIC. */
void board_request_begin(struct board_slot *slot, int64_t now_ns, const char *method,
                         const char *uri, size_t uri_length, const char *handler,
                         uint64_t content_length);

/* A request has been answered (or dropped): in_flight - 1, requests + 1, latency
 * since <start_ns> into the histogram; <status> >= 500 counts as failed. The
 * caller sets the new state. */
void board_request_end(struct board_slot *slot, int64_t now_ns, int64_t start_ns, int status);

/* Keeps the last error, for the per-child view. */
void board_error(struct board_slot *slot, const char *text);

/* Counters: board_count(&slot->aborted). There is one writer, so no locked instruction is needed.
 */
static inline void
board_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Gauges: board_gauge(&slot->connections_idle, 3). */
static inline void
board_gauge(_Atomic uint32_t *gauge, uint32_t value)
{
    atomic_store_explicit(gauge, value, memory_order_relaxed);
}

/* --- the readers' and the master's side ---------------------------------------- */

/* Makes a board with <slots> slots, or maps that of <fd> if it has the same layout
 * and at least as many. Returns 0, or -1 with errno. */
int board_open(struct board *board, uint32_t slots, int fd);

/* A free slot for a new child, cleared and in state STARTING; NULL if none is left. */
struct board_slot *board_take(struct board *board);

/* Adds the counters of a slot to head->retired and frees the slot. */
void board_release(struct board *board, struct board_slot *slot);

/* Adds the counters of <slot> to those of <sum>. */
void board_sum(struct board_slot *sum, const struct board_slot *slot);

/* A copy of the texts of a slot. */
struct board_request {
    uint64_t content_length;
    char method[BOARD_METHOD_SIZE];
    char uri[BOARD_URI_SIZE];
    char handler[BOARD_HANDLER_SIZE];
    char error[BOARD_ERROR_SIZE];
};

/* Copies the texts of <slot>. Returns false, with empty texts, if they kept changing. */
bool board_text(const struct board_slot *slot, struct board_request *request);

/* "Idle", "Running", ...: php-fpm's words where they mean the same. */
const char *board_state_name(enum board_state state);

#endif
