/* SPDX-License-Identifier: MIT */
/*
 * worker.h - one thread of load: its connections, its epoll loop and its
 * tally. Threads share nothing that is written on the way of a request but the
 * counter of requests still to send.
 */
#ifndef WORKER_H
#define WORKER_H

#include "load/clock.h"
#include "load/connection.h"
#include "load/pace.h"

#include <pthread.h>

enum { WORKER_BUFFER = 65536, WORKER_EVENTS = 256 };

struct worker {
    struct run *run;
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
    uint64_t cpu_start_ns, cpu_end_ns;
    uint64_t delay_start_ns, delay_end_ns; /* waited for a processor */
    uint64_t end_ns;
    uint64_t peak_open;
    char server[64];
    struct example example[FAILURES];
    struct tally *tally;
    char *buffer;
};

/* Prepares a worker with <connections> slots, of which <first> stand before it
 * in the whole run. 0, or -1 with errno. */
int worker_init(struct worker *w, struct run *run, unsigned number, size_t connections,
                size_t first, int done_fd);

/* The thread: makes load until the run ends. <argument> is the worker. */
void *worker_main(void *argument);

void worker_free(struct worker *w);

/* The slot has no request: gives it one, lets it think, or retires it. */
void worker_next(struct worker *w, struct connection *c);

/* Moves a slot to the queue of <state>. */
void worker_move(struct worker *w, struct connection *c, enum state state, uint64_t deadline_ns);

/* The user's request in the order of weights. */
struct request *worker_request(struct worker *w);

/* A connect failed for good, or succeeded. */
void worker_connect_failed(struct worker *w, struct connection *c);
void worker_connected(struct worker *w, struct connection *c);

#endif
