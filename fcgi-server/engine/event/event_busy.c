/* SPDX-License-Identifier: MIT */
/*
 * event_busy.c - what is done for a child that sits in a handler: the slow watch
 * gives its other connections to siblings, and ends the child that outstays
 * request_timeout.
 */
#include "config/config.h"
#include "engine/event/event_engine.h"
#include "engine/time_limit.h"

#include <sys/socket.h>
#include <unistd.h>

/* Until the next try to give connections away, after the queue was full. */
#define RETRY_NS     INT64_C(5000000)
#define RETRY_MAX_NS INT64_C(40000000)

/* Connections given away at once: bounds how long a handler that returns has
 * to wait for the lock, to about a quarter of a millisecond. */
#define GIVEN_AT_ONCE 64

struct event_engine *event_here;

/* --- time limits ------------------------------------------------------------------------- */

/* The handler cannot be stopped, but its client can be answered, and the child be
 * replaced. Requests that wait in this child end with it. */
static void
end_child(struct event_engine *engine, struct exchange *running)
{
    struct connection *waiting = engine->connections.list[CONNECTION_WAITING].first;
    time_limit_give_up(engine->context->slot, &running->request, running->connection->fd);
    for (; waiting != NULL; waiting = waiting->next)
        answer_briefly(&waiting->exchange->request, waiting->fd, 503);
    _exit(CHILD_EXIT_TIMEOUT);
}

/* --- other connections --------------------------------------------------------------------- */

/* Those of one state. Returns how many more may go this time. */
static int
give_away(struct event_engine *engine, enum connection_state state, int left)
{
    struct connection *connection = engine->connections.list[state].first;
    while (connection != NULL && left > 0) {
        struct connection *next = connection->next;
        bool alone = engine->context->handover_fd[1] == -1;
        if (alone && connection->served && !connection->last)
            event_shed(engine, connection);
        else if (!alone && !event_pass_on(engine, connection))
            return 0; /* the queue is full */
        connection = next;
        left--;
    }
    return left;
}

bool
event_give_away(struct event_engine *engine)
{
    static const enum connection_state given[] = {CONNECTION_READY, CONNECTION_READING,
                                                  CONNECTION_PARKED, CONNECTION_IDLE};
    int left = GIVEN_AT_ONCE;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        left = give_away(engine, given[i], left);
    return left > 0;
}

int64_t
event_on_slow(void *owner, int64_t now_ns)
{
    struct event_engine *engine = owner;
    const struct request *running = time_limit_running();
    if (running == NULL)
        return INT64_MAX;
    bool all = event_give_away(engine);
    int64_t next_ns = time_limit_keep(engine->config, &engine->watch, now_ns);
    if (next_ns == TIME_LIMIT_OVER)
        end_child(engine, running->owner);
    if (all) {
        engine->retry_ns = 0;
        return next_ns; /* and no other can come while the handler runs */
    }
    /* The queue is full, so nobody is idle: the fuller, the longer until the next try. */
    engine->retry_ns = engine->retry_ns == 0 ? RETRY_NS : engine->retry_ns * 2;
    engine->retry_ns = engine->retry_ns < RETRY_MAX_NS ? engine->retry_ns : RETRY_MAX_NS;
    return next_ns < now_ns + engine->retry_ns ? next_ns : now_ns + engine->retry_ns;
}
