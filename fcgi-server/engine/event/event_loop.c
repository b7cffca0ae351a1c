/* SPDX-License-Identifier: MIT */
/*
 * event_loop.c - the loop of the event engine: many connections in one epoll set,
 * level-triggered; one request at a time. See ARCHITECTURE.md for why no request
 * waits for an idle connection, or behind another child's work.
 */
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "engine/event/event_engine.h"
#include "engine/steps.h"
#include "engine/time_limit.h"
#include "handler/side_effects.h"
#include "status/board.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS INT64_C(1000000)

/* Events taken at once. The next wait returns the others. */
#define EVENTS_MAX 64

/* Events are handled for this long before the next epoll_wait(): the remaining ones may have
 * changed, and new ones may have to be shared. */
#define SLICE_NS (1 * MS)

/* Time that a peer has to close a connection that we have ended. */
#define LINGER_MS 2000

/* How long an ending child waits for the request of a connection that was just accepted: it
 * is on its way. */
#define FRESH_NS (500 * MS)

#define RETRY_MS 5 /* until the next attempt after the queue was full */

/* --- events -------------------------------------------------------------------------------- */

static void
park(struct event_engine *engine, struct connection *connection)
{
    if (!event_pass_on(engine, connection)) {
        connection_poll(&engine->connections, connection, 0);
        connection_move(&engine->connections, connection, CONNECTION_PARKED, engine->now_ns);
    }
}

static bool
may_unpark(const struct event_engine *engine)
{
    return engine->connections.list[CONNECTION_PARKED].count > 0 && !event_is_full(engine);
}

/* The connection that was parked longest takes the free place at once. Back in epoll it would
 * lose the place to new connections, again and again. */
static void
unpark_one(struct event_engine *engine)
{
    if (!may_unpark(engine) || !engine->parked_next)
        return;
    struct connection *connection = engine->connections.list[CONNECTION_PARKED].first;
    bool gone = steps_peer_gone(connection->fd, connection->hang_events);
    bool begun = connection->exchange != NULL;
    engine->parked_next = false;
    connection_poll(&engine->connections, connection, EPOLLIN);
    connection_move(&engine->connections, connection, begun ? CONNECTION_READY : CONNECTION_IDLE,
                    engine->now_ns);
    if (begun)
        event_advance(engine, connection, gone);
    else
        event_on_input(engine, connection, gone);
}

static void
drain_closing(struct event_engine *engine, struct connection *connection)
{
    char waste[16384];
    ssize_t got = recv(connection->fd, waste, sizeof waste, MSG_DONTWAIT);
    if (got == 0 || (got == -1 && errno != EAGAIN && errno != EINTR))
        connection_close(&engine->connections, connection, false);
}

static void
on_connection(struct event_engine *engine, struct connection *connection, uint32_t events)
{
    bool gone = (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    switch (connection->state) {
    case CONNECTION_IDLE:
    case CONNECTION_READING:
        if (event_is_full(engine) && !gone)
            park(engine, connection);
        else
            event_on_input(engine, connection, gone);
        break;
    case CONNECTION_READY:
    case CONNECTION_PARKED:
        if (gone)
            event_on_input(engine, connection, gone);
        break;
    case CONNECTION_WAITING:
        event_on_peer(engine, connection, gone);
        break;
    case CONNECTION_SENDING:
        event_on_output(engine, connection);
        break;
    case CONNECTION_CLOSING:
        drain_closing(engine, connection);
        break;
    default:
        break;
    }
}

static void
on_event(struct event_engine *engine, const struct epoll_event *event)
{
    struct connection *connection = connections_find(&engine->connections, event->data.u64);
    if (connection == NULL)
        return;
    if (event_kind_of(event->data.u64) == EVENT_CONNECTION)
        on_connection(engine, connection, event->events);
    else if (connection->state == CONNECTION_WAITING)
        event_on_wait(engine, connection, (short)event->events);
}

static bool
is_ending(const struct event_engine *engine)
{
    return engine->order != CHILD_SERVE || engine->left == 0 || engine->retire;
}

static bool
slice_is_over(const struct event_engine *engine, int64_t begun_ns)
{
    return engine->now_ns - begun_ns > SLICE_NS;
}

/* Connections with bytes in their buffers: each gets one turn. */
static void
serve_ready(struct event_engine *engine)
{
    int64_t begun_ns = engine->now_ns;
    uint32_t turns = engine->connections.list[CONNECTION_READY].count;
    while (turns-- > 0 && !slice_is_over(engine, begun_ns)) {
        struct connection *connection = engine->connections.list[CONNECTION_READY].first;
        if (connection == NULL) /* the slow watch gave them away */
            return;
        if (event_is_full(engine)) {
            park(engine, connection);
            continue;
        }
        event_advance(engine, connection,
                      steps_peer_gone(connection->fd, connection->hang_events) == 1);
    }
}

/* New connections first. One that woke only this child would stay in its queue while a handler
 * runs here; once taken, the slow watch can give it to a sibling. */
static void
on_events(struct event_engine *engine, const struct epoll_event *events, int count)
{
    bool queued = false;
    bool handed = false;
    for (int i = 0; i < count; i++) {
        switch (event_kind_of(events[i].data.u64)) {
        case EVENT_ORDER:
            engine->order = engine->context->order();
            break;
        case EVENT_LISTEN:
            queued = true;
            break;
        case EVENT_HANDOVER:
            handed = true;
            break;
        default:
            break;
        }
    }
    /* Queues and parked connections get a free place in turn: now it is the turn of the
     * queues. */
    engine->parked_next |= !event_is_full(engine);
    event_take_one(engine, queued, handed);
    /* A time slice of its own: otherwise handlers that run longer than a slice would give every
     * turn to new connections, and none to those already here. */
    int64_t begun_ns = engine->now_ns;
    for (int i = 0; i < count && !slice_is_over(engine, begun_ns); i++)
        on_event(engine, &events[i]);
}

/* --- time ---------------------------------------------------------------------------------- */

/* What happens to a connection that has been in a state for too long. */
static void
on_idle_too_long(struct event_engine *engine, struct connection *connection)
{
    event_shed(engine, connection);
}

static void
on_stuck(struct event_engine *engine, struct connection *connection)
{
    board_count(&engine->context->slot->dropped);
    connection_close(&engine->connections, connection, false);
}

static void
on_lingered(struct event_engine *engine, struct connection *connection)
{
    connection_close(&engine->connections, connection, false);
}

struct limit {
    enum connection_state state;
    uint64_t timeout_ms;
    void (*over)(struct event_engine *engine, struct connection *connection);
};

#define LIMITS 5

static void
limits_of(const struct config *config, struct limit limits[LIMITS])
{
    struct limit table[LIMITS] = {
        {CONNECTION_IDLE, config->keep_timeout_ms, on_idle_too_long},
        {CONNECTION_READING, config->read_timeout_ms, on_stuck},
        {CONNECTION_PARKED, config->keep_timeout_ms, on_stuck},
        {CONNECTION_SENDING, config->read_timeout_ms, on_stuck},
        {CONNECTION_CLOSING, LINGER_MS, on_lingered},
    };
    memcpy(limits, table, sizeof table);
}

static struct exchange *
exchange_of(struct timer *timer)
{
    return (struct exchange *)((char *)timer - offsetof(struct exchange, timer));
}

static void
on_timers(struct event_engine *engine)
{
    struct timer *timer;
    int64_t begun_ns = engine->now_ns;
    while ((timer = timers_first(&engine->timers)) != NULL && timer->at_ns <= engine->now_ns &&
           !slice_is_over(engine, begun_ns)) {
        struct exchange *exchange = exchange_of(timer);
        int64_t limit_ns = (int64_t)engine->config->request_timeout_ms * MS;
        if (limit_ns > 0 && engine->now_ns - exchange->request.start_ns >= limit_ns)
            event_on_timeout(engine, exchange->connection);
        else
            event_on_wait(engine, exchange->connection, 0);
    }
}

static void
on_limits(struct event_engine *engine)
{
    struct limit limits[LIMITS];
    limits_of(engine->config, limits);
    for (int i = 0; i < LIMITS; i++) {
        int64_t before_ns = engine->now_ns - (int64_t)limits[i].timeout_ms * MS;
        struct connection *connection = engine->connections.list[limits[i].state].first;
        while (connection != NULL && connection->since_ns <= before_ns) {
            struct connection *next = connection->next;
            limits[i].over(engine, connection);
            connection = next;
        }
    }
}

/* Milliseconds until something is due, rounded up; -1: never. */
static int
wait_ms(const struct event_engine *engine)
{
    struct limit limits[LIMITS];
    const struct timer *timer = timers_first(&engine->timers);
    int64_t due_ns = timer == NULL ? INT64_MAX : timer->at_ns;
    if ((engine->connections.list[CONNECTION_READY].count > 0 && !event_is_full(engine)) ||
        may_unpark(engine))
        return 0;
    limits_of(engine->config, limits);
    for (int i = 0; i < LIMITS; i++) {
        const struct connection *first = engine->connections.list[limits[i].state].first;
        int64_t limit_ns = (int64_t)limits[i].timeout_ms * MS;
        if (first != NULL && first->since_ns + limit_ns < due_ns)
            due_ns = first->since_ns + limit_ns;
    }
    if (!engine->listening && engine->pause_until_ns != 0 && engine->pause_until_ns < due_ns)
        due_ns = engine->pause_until_ns;
    if (due_ns == INT64_MAX)
        return -1;
    int64_t left_ns = due_ns - engine->now_ns;
    return left_ns <= 0 ? 0
                        : (int)((left_ns < INT64_C(3600000) * MS ? left_ns + MS - 1
                                                                 : INT64_C(3600000) * MS) /
                                MS);
}

/* --- the end ------------------------------------------------------------------------------- */

/* Gives away or closes idle connections. Returns whether the child can end. */
static bool
drain(struct event_engine *engine)
{
    static const enum connection_state given[] = {CONNECTION_IDLE, CONNECTION_READING,
                                                  CONNECTION_READY, CONNECTION_PARKED};
    bool closing = engine->order == CHILD_CLOSE;
    event_stop_listening(engine);
    if (engine->order == CHILD_SERVE && !engine->told) {
        engine->context->retiring(); /* by its own decision */
        engine->told = true;
    }
    board_state(engine->context->slot, BOARD_DRAINING);
    while (closing && engine->context->handover_fd[0] != -1 && event_adopt_one(engine) != NULL) {
    }
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct connection *connection = engine->connections.list[given[i]].first;
        while (connection != NULL) {
            struct connection *next = connection->next;
            bool passed = !closing && event_pass_on(engine, connection);
            bool alone = closing || engine->context->handover_fd[1] == -1;
            bool fresh = !connection->served && engine->now_ns - connection->since_ns < FRESH_NS;
            if (!passed && alone && !connection->last && !fresh)
                event_shed(engine, connection);
            connection = next;
        }
    }
    return engine->connections.count == 0;
}

/* --- the loop ------------------------------------------------------------------------------ */

static void
tell_board(struct event_engine *engine)
{
    struct board_slot *slot = engine->context->slot;
    const struct connection_list *list = engine->connections.list;
    uint32_t idle = list[CONNECTION_IDLE].count;
    board_gauge(&slot->connections_idle, idle);
    board_gauge(&slot->connections_active, engine->connections.count - idle);
    if (is_ending(engine))
        return; /* DRAINING stays */
    board_state(slot, engine->in_flight > 0                ? BOARD_WAITING
                      : list[CONNECTION_READING].count > 0 ? BOARD_READING
                                                           : BOARD_IDLE);
}

/* Room for some thousands of connections between children; the default is fewer than 300.
 * Without the privilege: as much as the system allows. */
static void
widen_queue(int fd)
{
    int size = 4 << 20;
    if (fd != -1 && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) == -1)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static int
prepare(struct engine_context *context)
{
    struct event_engine *engine = &event_here;
    struct connections *connections = &engine->connections;
    engine->context = context;
    engine->config = context->config;
    engine->limits = steps_limits(context->config);
    engine->left = steps_quota(context->config);
    connections->max = context->config->connections_max;
    connections->limits = &engine->limits;
    connections->io = &event_io;
    connections->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (connections->epoll_fd == -1 ||
        connections_poll_other(&engine->connections, context->order_fd, EVENT_ORDER, EPOLLIN) ==
            -1) {
        log_error("epoll: %s", strerror(errno));
        return -1;
    }
    widen_queue(context->handover_fd[1]);
    time_limit_prepare();
    slow_watch_init(&engine->watch, event_on_slow, engine);
    return 0;
}

static int
serve(void)
{
    struct event_engine *engine = &event_here;
    struct epoll_event events[EVENTS_MAX];
    engine->order = engine->context->order();
    while (engine->order != CHILD_STOP) {
        engine->now_ns = clock_ns();
        int timeout_ms = wait_ms(engine);
        if (is_ending(engine)) {
            if (drain(engine))
                break;
            timeout_ms = timeout_ms < 0 || timeout_ms > RETRY_MS ? RETRY_MS : timeout_ms;
        } else {
            event_adjust_listening(engine);
        }
        tell_board(engine);
        timeout_ms = side_effects_undo(engine->now_ns, timeout_ms);
        int count = epoll_wait(engine->connections.epoll_fd, events, EVENTS_MAX, timeout_ms);
        if (count == -1 && errno != EINTR) { /* a handler has closed a descriptor of the server */
            log_error("epoll: %s; this child ends", strerror(errno));
            return 1;
        }
        engine->now_ns = clock_ns();
        on_events(engine, events, count);
        serve_ready(engine);
        on_timers(engine);
        on_limits(engine);
        unpark_one(engine);
    }
    return 0;
}

const struct engine engine_event = {.prepare = prepare, .serve = serve};
