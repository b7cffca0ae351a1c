/* SPDX-License-Identifier: MIT */
/*
 * connection.h - one connection slot: it opens, sends, receives, judges and
 * counts one request after another. A slot is always in exactly one state, and
 * each state is a queue of its thread, ordered by deadline.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "load/run.h"

struct worker;

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

struct connection {
    struct connection *next, *prev; /* in the queue of its state */
    uint64_t deadline_ns;           /* when the state ends by itself */
    uint64_t intended_ns;           /* start that the latency counts from */
    uint64_t begun_ns;              /* the slot took the request */
    uint64_t connect_ns;            /* connect() was called */
    uint64_t sent_ns;               /* just before the request was sent */
    uint64_t first_ns;              /* first byte of the answer; 0: none yet */
    struct request *request;
    int fd;                  /* -1: not open */
    uint32_t generation;     /* tells events of this socket from its predecessors' */
    uint32_t sent;           /* bytes of the request */
    uint32_t served;         /* answers on this socket */
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

/* Begins the next request on an idle slot; its latency counts from
 * <intended_ns>. Connects first when the slot is not open. */
void connection_begin(struct worker *w, struct connection *c, uint64_t intended_ns, bool measured);

/* Acts on what epoll reported. */
void connection_event(struct worker *w, struct connection *c, uint32_t events);

/* Acts on the deadline of the slot's state having passed. */
void connection_deadline(struct worker *w, struct connection *c);

/* Closes the socket, if there is one. <abort> resets the connection instead of
 * closing it in order. */
void connection_close(struct worker *w, struct connection *c, bool abort);

#endif
