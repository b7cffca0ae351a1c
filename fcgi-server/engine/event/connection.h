/* SPDX-License-Identifier: MIT */
/*
 * connection.h - the connections and exchanges of a child of the event engine. Each
 * connection is in the list of its state, the oldest first. It has an exchange only from the
 * first byte of a request to the last byte of the answer. Both come from pools: nothing is
 * allocated in the steady state, and an idle connection needs no buffer.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "engine/event/timers.h"
#include "request/intake.h"
#include "request/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum connection_state {
    CONNECTION_IDLE = 0,    /* no byte of a request has arrived */
    CONNECTION_READING = 1, /* a part of a request has arrived */
    CONNECTION_READY = 2,   /* bytes wait in the buffer to be parsed */
    CONNECTION_PARKED = 3,  /* as IDLE or READING, but not read while too much is in flight */
    CONNECTION_RUNNING = 4, /* its handler runs */
    CONNECTION_WAITING = 5, /* its handler waits (FH_WAIT) */
    CONNECTION_SENDING = 6, /* the rest of an answer waits for room in the socket */
    CONNECTION_CLOSING = 7, /* nothing more is sent; input is dropped until the peer closes */
    CONNECTION_STATES = 8,
};

/* One request with its buffers. */
struct exchange {
    struct request request;
    struct intake intake;
    struct connection *connection;
    struct exchange *next; /* in the pool */
    struct timer timer;    /* while it waits */
    int waits_for;         /* descriptor that epoll watches for the handler; -1: none */
    char *rest;            /* bytes that the socket did not take; NULL: none */
    size_t rest_at;
    size_t rest_length;
};

struct connection {
    int fd; /* -1: the place in the table is free */
    uint32_t index;
    uint32_t generation; /* tells successive users of a place apart */
    uint32_t interest;   /* what epoll was asked for */
    bool registered;     /* with epoll */
    bool served;         /* has had an answer, so may be closed when idle */
    bool last;           /* closed after the answer: reading was shut down */
    short hang_events;   /* see steps_accept() */
    enum connection_state state;
    int64_t since_ns; /* in this state */
    struct connection *previous;
    struct connection *next;
    struct exchange *exchange; /* NULL when idle */
};

struct connection_list {
    struct connection *first;
    struct connection *last;
    uint32_t count;
};

struct connections {
    int epoll_fd;
    struct connection **table;
    uint32_t size; /* places made so far */
    uint32_t count;
    uint32_t max;
    struct connection *free; /* linked by <next> */
    struct connection_list list[CONNECTION_STATES];
    struct exchange *pool;
    uint32_t pooled;
    const struct intake_limits *limits;
    const struct request_io *io;
};

/* What epoll returns with an event: enough to tell whether the event is still valid, since
 * a handler or the slow watch may have changed everything meanwhile. */
enum event_kind {
    EVENT_ORDER = 0,
    EVENT_LISTEN = 1,
    EVENT_HANDOVER = 2,
    EVENT_CONNECTION = 3,
    EVENT_WAIT = 4, /* the descriptor that the handler of a connection waits for */
};

static inline uint64_t
event_tag(enum event_kind kind, const struct connection *connection)
{
    return connection == NULL
               ? (uint64_t)kind << 28
               : (uint64_t)connection->generation << 32 | (uint64_t)kind << 28 | connection->index;
}

static inline enum event_kind
event_kind_of(uint64_t tag)
{
    return (enum event_kind)(tag >> 28 & 0xf);
}

/* The connection of an event; NULL if it has been closed or handed over since. */
struct connection *connections_find(const struct connections *connections, uint64_t tag);

/* Takes over <fd>: IDLE, not yet registered with epoll. NULL when out of memory;
 * then <fd> stays the caller's. There must be room (count < max). */
struct connection *connections_add(struct connections *connections, int fd, short hang_events,
                                   int64_t now_ns);

/* Closes it and frees its exchange. <shared>: the socket stays open in another process, so
 * it must be removed from epoll. */
void connection_close(struct connections *connections, struct connection *connection, bool shared);

/* Puts it into the list of <state>, with <since_ns> as its time of entry. */
void connection_move(struct connections *connections, struct connection *connection,
                     enum connection_state state, int64_t since_ns);

/* Asks epoll for <events> and for the end of the peer. Makes no system call if epoll watches
 * these already. Returns 0 or -1 with errno. */
int connection_poll(struct connections *connections, struct connection *connection,
                    uint32_t events);

/* Asks epoll for <events> of any other descriptor. Returns 0 or -1 with errno. */
int connections_poll_other(struct connections *connections, int fd, enum event_kind kind,
                           uint32_t events);

/* Gives <connection> an exchange unless it has one. Returns it; NULL when out of memory. */
struct exchange *connection_exchange(struct connections *connections,
                                     struct connection *connection);

/* Puts the exchange of <connection>, if it has one, back into the pool. */
void connection_release(struct connections *connections, struct connection *connection);

#endif
