/* SPDX-License-Identifier: MIT */
/*
 * event_busy.c - what is done for a child that sits in a handler: the watch thread
 * gives its other connections to siblings, and keeps request_timeout.
 */
#include "config.h"
#include "event.h"
#include "log.h"
#include "lua_host.h"
#include "router.h"
#include "scoreboard.h"
#include "service.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Default action "ignore": one that comes late does no harm. */
#define INTERRUPT SIGURG

/* How long an interrupted handler may take to return. */
#define GRACE_NS INT64_C(500000000)

/* Until the next try to give connections away, after the queue was full. */
#define RETRY_NS     INT64_C(5000000)
#define RETRY_MAX_NS INT64_C(40000000)

/* Connections given away at once: bounds how long a handler that returns has
 * to wait for the lock, to about a quarter of a millisecond. */
#define GIVEN_AT_ONCE 64

struct event_engine *event_here;

/* --- the signal ------------------------------------------------------------------------ */

/* In the serving thread. It may come when the handler it was meant for has just
 * returned: only a request that was marked is interrupted. */
static void
on_interrupt(int number)
{
    (void)number;
    struct exchange *exchange = event_here == NULL ? NULL : event_here->running;
    if (exchange == NULL) {
        return;
    }
    if (exchange->request.timed_out) {
        lua_host_interrupt();
    } else if (exchange->told_slow) {
        lua_host_log_slow();
    }
}

/* Without SA_RESTART, so that a C handler that blocks in a system call returns
 * from it, and can ask fh_gone(). */
void
event_prepare_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigset_t set;

    sigemptyset(&action.sa_mask);
    sigaction(INTERRUPT, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, INTERRUPT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* --- time limits ------------------------------------------------------------------------- */

static void
answer_briefly(struct exchange *exchange, int status)
{
    static struct answer answer;  /* the engine's own may be in use */
    struct request refusal = {0}; /* nothing of the handler's request is touched */

    if (exchange->request.head_sent) {
        return;
    }
    request_init(&refusal, &event_io, exchange);
    refusal.id = exchange->request.id;
    request_refuse(&refusal, status);
    answer_build(&answer, &refusal, true);
    answer_send(&answer, exchange->connection->fd);
}

/* The handler cannot be stopped, but its client can be answered, and the child be
 * replaced. Requests that wait in this child end with it. */
static void
end_child(struct event_engine *engine, struct exchange *running)
{
    struct connection *waiting = engine->connections.list[CONNECTION_WAITING].first;

    log_error("%s: did not return within request_timeout: answered 504, this child ends",
              running->request.entry->file);
    board_count(&engine->context->slot->timed_out);
    answer_briefly(running, 504);
    for (; waiting != NULL; waiting = waiting->next) {
        answer_briefly(waiting->exchange, 503);
    }
    _exit(CHILD_EXIT_TIMEOUT);
}

static void
interrupt(struct event_engine *engine)
{
    pthread_kill(engine->watch.serving, INTERRUPT);
}

/* Does what is due for the running request. Returns when the next thing is. */
static int64_t
keep_time(struct event_engine *engine, struct exchange *running, int64_t now_ns)
{
    const struct config *config = engine->config;
    int64_t slow_at_ns = running->start_ns + (int64_t)config->slow_ms * 1000000;
    int64_t limit_at_ns = running->start_ns + (int64_t)config->request_timeout_ms * 1000000;
    int64_t next_ns = INT64_MAX;

    if (config->slow_ms > 0 && !running->told_slow) {
        if (now_ns >= slow_at_ns) {
            running->told_slow = true;
            interrupt(engine);
        } else {
            next_ns = slow_at_ns;
        }
    }
    if (config->request_timeout_ms == 0) {
        return next_ns;
    }
    if (now_ns < limit_at_ns) {
        return next_ns < limit_at_ns ? next_ns : limit_at_ns;
    }
    if (!running->request.timed_out) {
        running->request.timed_out = true;
        running->stopped_ns = now_ns;
        interrupt(engine);
    } else if (now_ns - running->stopped_ns >= GRACE_NS) {
        end_child(engine, running);
    }
    return running->stopped_ns + GRACE_NS;
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
        if (alone && connection->served && !connection->last) {
            event_shed(engine, connection);
        } else if (!alone && !event_pass_on(engine, connection)) {
            return 0; /* the queue is full */
        }
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

    for (size_t index = 0; index < sizeof given / sizeof *given; index++) {
        left = give_away(engine, given[index], left);
    }
    return left > 0;
}

int64_t
event_on_slow(void *owner, int64_t now_ns)
{
    struct event_engine *engine = owner;
    struct exchange *running = engine->running;

    if (running == NULL) {
        return INT64_MAX;
    }
    bool all = event_give_away(engine);
    int64_t next_ns = keep_time(engine, running, now_ns);
    if (all) {
        engine->retry_ns = 0;
        return next_ns; /* and no other can come while the handler runs */
    }
    /* The queue is full, so nobody is idle: the fuller, the longer until the next try. */
    engine->retry_ns = engine->retry_ns == 0 ? RETRY_NS : engine->retry_ns * 2;
    engine->retry_ns = engine->retry_ns < RETRY_MAX_NS ? engine->retry_ns : RETRY_MAX_NS;
    return next_ns < now_ns + engine->retry_ns ? next_ns : now_ns + engine->retry_ns;
}
