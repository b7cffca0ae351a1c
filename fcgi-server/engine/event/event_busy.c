/* SPDX-License-Identifier: MIT */
/*
 * event_busy.c - what the slow watch does while a handler runs long: it gives the other
 * connections of the child to siblings, and ends a child that exceeds request_timeout.
 */
#include "config/config.h"
#include "engine/event/event_engine.h"
#include "engine/time_limit.h"

#include <sys/socket.h>
#include <unistd.h>

/* Time until the next attempt to give connections away, after the queue was full. */
#define RETRY_NS     INT64_C(5000000)
#define RETRY_MAX_NS INT64_C(40000000)

/* The handler cannot be stopped, but its client gets an answer and the child is replaced.
 * Requests that wait in this child are lost with it. */
static void
end_child(struct event_engine *engine, struct exchange *running)
{
    struct connection *waiting = engine->connections.list[CONNECTION_WAITING].first;
    time_limit_give_up(engine->context->slot, &running->request, running->connection->fd);
    for (; waiting != NULL; waiting = waiting->next)
        answer_briefly(&waiting->exchange->request, waiting->fd, 503);
    _exit(CHILD_EXIT_TIMEOUT);
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
        return next_ns; /* no other connection can come while the handler runs */
    }
    /* The queue is full, so no child is idle: each attempt waits longer than the one before. */
    engine->retry_ns = engine->retry_ns == 0 ? RETRY_NS : engine->retry_ns * 2;
    engine->retry_ns = engine->retry_ns < RETRY_MAX_NS ? engine->retry_ns : RETRY_MAX_NS;
    return next_ns < now_ns + engine->retry_ns ? next_ns : now_ns + engine->retry_ns;
}
