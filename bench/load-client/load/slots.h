/* SPDX-License-Identifier: MIT */
/*
 * slots.h - what one thread of load works on: its connection slots, each in
 * exactly one state, and one queue per state, ordered by deadline. Threads
 * share nothing that is written on the way of a request but the counter of
 * requests still to send.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include "load/clock.h"
#include "load/pace.h"
#include "load/result.h"

#include <pthread.h>

enum state {
    STATE_IDLE = 0,   /* no request; deadline_ns holds the time since when */
    STATE_RAMP,       /* waits for its turn to begin */
    STATE_CONNECTING, /* has a request, waits for the connect */
    STATE_ACTIVE,     /* sends a request or waits for its answer */
    STATE_CLOSING,    /* answered; lets the server close first, so that the
                         closed port waits on the server's side */
    STATE_PAUSED,     /* thinks */
    STATE_BACKOFF,    /* waits after a failed connect */
    STATE_NEXT,       /* wants a request from the loop */
    STATES
};

/* One connection slot. */
struct connection {
    struct connection *next, *prev; /* in the queue of its state */
    uint64_t deadline_ns;           /* when the state ends by itself */
    uint64_t intended_ns;           /* start that the latency counts from */
    uint64_t begun_ns;              /* the slot took the request */
    uint64_t connect_ns;            /* connect() was called */
    uint64_t sent_ns;               /* just before the request was sent */
    uint64_t paused_ns;             /* when the pause of STATE_CLOSING or STATE_BACKOFF began */
    uint64_t first_ns;              /* first byte of the answer; 0: none yet */
    struct request *request;
    int fd;                  /* -1: not open */
    uint32_t generation;     /* tells events of this socket from its predecessors' */
    uint32_t sent;           /* bytes of the request */
    uint32_t served;         /* answers on this socket */
    int send_error;          /* errno with which sending ended; 0: none */
    uint8_t state;           /* enum state */
    uint8_t address;         /* index tried last */
    uint8_t addresses_tried; /* for this connect */
    uint8_t failures;        /* connects failed in a row */
    bool measured;           /* the request began after the warm-up */
    bool redone;             /* the request was sent once before */
    bool want_write;         /* the socket's buffer was full */
    bool seen_byte;          /* this socket brought something */
    struct answer answer;
    union parser parser;
};

/* How long the server may take to close a connection that it must close, so that
 * the closed port waits (TIME_WAIT) on its side. A quarter each time that it does
 * not, until nothing; twice as long again when it does. */
#define PATIENCE_NS (20 * NS_PER_MS)

enum { WORKER_BUFFER = 65536 };

/* One thread of load. */
struct worker {
    struct shared *run;
    pthread_t thread;
    unsigned number; /* 0 .. threads - 1 */
    int epoll_fd;
    int wake_fd;                     /* eventfd: run.stop was set */
    int done_fd;                     /* eventfd of the run: this thread has ended */
    uint64_t now_ns;                 /* the clock when it was last read */
    struct connection queue[STATES]; /* heads; only next and prev are used */
    struct connection *connection;
    size_t connections;
    size_t busy;               /* connections that have a request */
    size_t open;               /* sockets established */
    struct pace pace;          /* open loop only */
    size_t next_request;       /* index in the target's sequence */
    bool exhausted;            /* no request is left to begin */
    uint8_t address;           /* index that worked last */
    uint64_t connect_failures; /* in a row, all slots */
    uint64_t first_failure_ns; /* of that row */
    uint64_t patience_ns;      /* for the server to close a connection */
    uint64_t cpu_start_ns, cpu_end_ns;
    uint64_t delay_start_ns, delay_end_ns; /* waited for a processor */
    uint64_t end_ns;
    uint64_t peak_open;
    char server[64];
    struct example example[FAILURES];
    struct tally *tally;
    char *buffer;
};

/* Puts the <connections> slots into the queue STATE_RAMP, their turns spread
 * over --ramp; <before> slots of the whole run stand before them. */
void slots_init(struct worker *w, size_t before);

/* Moves a slot to the end of the queue of <state>. */
void slots_move(struct worker *w, struct connection *c, enum state state, uint64_t deadline_ns);

/* The slot that waits longest in <state>; NULL when there is none. */
static inline struct connection *
slots_first(struct worker *w, enum state state)
{
    struct connection *head = &w->queue[state];
    return head->next == head ? NULL : head->next;
}

#endif
