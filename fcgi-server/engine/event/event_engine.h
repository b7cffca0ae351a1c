/* SPDX-License-Identifier: MIT */
/*
 * event_engine.h - private to the event engine: event_loop.c has the loop, event_enter.c
 * accepts connections, event_leave.c closes them or gives them away, event_request.c serves a
 * request, event_busy.c acts while a handler runs long. ARCHITECTURE.md says why.
 *
 * Everything here is guarded by the lock of the slow watch (slow_watch.h). Call all
 * functions with the lock held; only handlers run without it.
 */
#ifndef EVENT_ENGINE_H
#define EVENT_ENGINE_H

#include "engine/answer.h"
#include "engine/engine.h"
#include "engine/event/connection.h"
#include "engine/event/timers.h"
#include "engine/slow_watch.h"

/* Which handlers were slow recently: a hash table of router entries. Two entries that share a
 * slot replace each other, which costs a few milliseconds once. */
struct event_slow {
    const struct router_entry *entry;
    int64_t until_ns;
};

enum { EVENT_SLOW_SLOTS = 32 };

struct event_engine {
    struct engine_context *context;
    const struct config *config;
    struct intake_limits limits;
    struct connections connections;
    struct timers timers; /* of exchanges that wait */
    struct slow_watch watch;
    struct answer answer;
    enum child_order order;
    uint64_t left; /* requests left until the child ends */
    uint32_t in_flight;
    bool listening;        /* the listening socket and the queue are in epoll */
    bool handed_next;      /* of the two queues, the one of handed over connections is next */
    bool parked_next;      /* of the queues and the parked connections, these are next */
    bool retire;           /* end after the requests in flight: quota, or a handler was stopped */
    bool told;             /* the master knows that this child retires */
    int64_t now_ns;        /* the last reading of the clock */
    int64_t slow_until_ns; /* handlers have been slow until now: see event_is_slow() */
    struct event_slow slow[EVENT_SLOW_SLOTS];
    int64_t retry_ns;       /* see event_on_slow() */
    int64_t pause_until_ns; /* no accept() before: out of descriptors */
};

/* The engine of this process. */
extern struct event_engine event_here;

/* --- event_enter.c --- */

/* Takes one new connection, alternating between the two queues if both have one. Only one: a
 * second would wait here while the handler of the first runs. Reads it at once, so that a
 * connection for a single request is never put into epoll. */
void event_take_one(struct event_engine *engine, bool queued, bool handed);

/* Takes a connection that a sibling has handed over; NULL if there was none. */
struct connection *event_adopt_one(struct event_engine *engine);

/* Adds both queues to the epoll set or removes them: whether new connections may come in
 * now. */
void event_adjust_listening(struct event_engine *engine);
void event_stop_listening(struct event_engine *engine);

/* --- event_request.c --- */

/* Bytes have arrived on <connection>, or it has been closed: reads, and serves a
 * complete request. <gone>: the peer has closed both directions. */
void event_on_input(struct event_engine *engine, struct connection *connection, bool gone);

/* Parses the bytes in the buffer of <connection> and serves at most one request. A peer that
 * pipelines waits for its next turn: its connection is then READY. */
void event_advance(struct event_engine *engine, struct connection *connection, bool gone);

/* The socket takes more of an answer: sends it. */
void event_on_output(struct event_engine *engine, struct connection *connection);

/* Resumes the handler of <connection>: its event has come, or (<revents> 0) its time has
 * passed. */
void event_on_wait(struct event_engine *engine, struct connection *connection, short revents);

/* The peer of a connection whose handler waits has sent something or has gone. */
void event_on_peer(struct event_engine *engine, struct connection *connection, bool gone);

/* request_timeout is over for a handler that waits: 504. */
void event_on_timeout(struct event_engine *engine, struct connection *connection);

extern const struct request_io event_io;

/* Whether the limit of requests in flight is reached: no further request may start. */
bool event_is_full(const struct event_engine *engine);

/* --- event_leave.c --- */

/* Ends a connection whose peer may still be sending: shuts down sending, then reads until the
 * peer closes, for a bounded time. */
void event_linger(struct event_engine *engine, struct connection *connection);

/* Gives <connection>, on which no request runs, to a sibling. Returns whether
 * that worked. */
bool event_pass_on(struct event_engine *engine, struct connection *connection);

/* Closes an idle connection without losing a request that is on its way: on a
 * unix socket a request that was sent before can still be read, and one sent
 * later fails at once with EPIPE, which a front end repeats elsewhere. If there is a request,
 * the connection stays until it is answered. On TCP, where request and close can cross, this
 * does what every server does. */
void event_shed(struct event_engine *engine, struct connection *connection);

/* Gives all connections on which nothing runs to siblings, as many as the queue takes.
 * Returns whether none is left. */
bool event_give_away(struct event_engine *engine);

/* --- event_busy.c --- */

/* The slow watch has found the running handler slow. */
int64_t event_on_slow(void *engine, int64_t now_ns);

#endif
