/* SPDX-License-Identifier: MIT */
/*
 * event_engine.h - the event engine's own header: event_loop.c has the loop,
 * event_enter.c how connections come in, event_leave.c how they go, event_request.c what
 * happens to a request on one, event_busy.c what is done while a handler takes its time.
 * See ARCHITECTURE.md for the why.
 *
 * Everything here is guarded by the lock of the slow watch (slow_watch.h). Functions are
 * called with it held; only handlers run without.
 */
#ifndef EVENT_ENGINE_H
#define EVENT_ENGINE_H

#include "engine/answer.h"
#include "engine/engine.h"
#include "engine/event/connection.h"
#include "engine/event/timers.h"
#include "engine/slow_watch.h"

/* Which handlers have been slow of late: an entry of the router in the slot that its
 * address gives; two that share one push each other out, which costs a few
 * milliseconds of somebody's time. */
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
    uint64_t left; /* requests until the child ends */
    uint32_t in_flight;
    bool listening;        /* the listening socket and the queue are in epoll */
    bool handed_next;      /* of two queues with connections, the handed over ones' is next */
    bool parked_next;      /* of them and the queues, parked connections are next */
    bool retire;           /* end after what is in flight: quota, or a handler had to be stopped */
    bool told;             /* the master knows that this child retires */
    int64_t now_ns;        /* when we last looked at the clock */
    int64_t slow_until_ns; /* handlers have been slow until now: see event_is_slow() */
    struct event_slow slow[EVENT_SLOW_SLOTS];
    int64_t retry_ns;       /* see event_on_slow() */
    int64_t pause_until_ns; /* no accept() before: out of descriptors */
};

/* The engine of this process. */
extern struct event_engine event_here;

/* --- event_enter.c --- */

/* A new connection, from whichever of the two queues has one; in turn if both have,
 * so that neither is left for last while the other stays full. One and no more: the
 * second would wait here while this one's handler runs. Tried at once, so that a
 * connection for one request never is in epoll. */
void event_take_one(struct event_engine *engine, bool queued, bool handed);

/* Takes a connection that a sibling has handed over; NULL if there was none. */
struct connection *event_adopt_one(struct event_engine *engine);

/* Takes both queues into the epoll set or out of it: whether new connections may come in
 * now. */
void event_adjust_listening(struct event_engine *engine);
void event_stop_listening(struct event_engine *engine);

/* --- event_request.c --- */

/* Bytes have arrived on <connection>, or it has been closed: reads, and serves what
 * is whole. <gone>: the peer has closed the connection altogether. */
void event_on_input(struct event_engine *engine, struct connection *connection, bool gone);

/* Looks at the bytes in the buffer of <connection>; serves at most one request, so
 * that a pipelining peer waits for its turn: then the connection is READY. */
void event_advance(struct event_engine *engine, struct connection *connection, bool gone);

/* The socket takes more of an answer. */
void event_on_output(struct event_engine *engine, struct connection *connection);

/* What the handler of <connection> waits for has happened; <revents> 0: the time
 * has passed. */
void event_on_wait(struct event_engine *engine, struct connection *connection, short revents);

/* The peer of a connection whose handler waits has sent something or has gone. */
void event_on_peer(struct event_engine *engine, struct connection *connection, bool gone);

/* request_timeout is over for a handler that waits: 504. */
void event_on_timeout(struct event_engine *engine, struct connection *connection);

extern const struct request_io event_io;

/* As much is in flight as may be: no further request is to be started. */
bool event_is_full(const struct event_engine *engine);

/* --- event_leave.c --- */

/* Ends a connection on which a peer may still be sending: says that no more comes,
 * then reads until the peer closes, for a bounded time. */
void event_linger(struct event_engine *engine, struct connection *connection);

/* Gives <connection>, on which no request runs, to a sibling. Returns whether it
 * has gone. */
bool event_pass_on(struct event_engine *engine, struct connection *connection);

/* Closes an idle connection without losing a request that is on its way: on a
 * unix socket a request that was sent before stays to be read, and one sent
 * after fails at once with EPIPE, which a front end knows to repeat elsewhere. If
 * there is one, the connection stays until that is answered. On TCP, where the
 * two can cross, it is what every server does. */
void event_shed(struct event_engine *engine, struct connection *connection);

/* Gives all connections on which nothing runs to siblings, as far as they take them.
 * Returns whether none is left. */
bool event_give_away(struct event_engine *engine);

/* --- event_busy.c --- */

/* The slow watch has found the running handler slow. */
int64_t event_on_slow(void *engine, int64_t now_ns);

#endif
