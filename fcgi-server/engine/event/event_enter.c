/* SPDX-License-Identifier: MIT */
/*
 * event_enter.c - how a connection comes into a child of the event engine: from the listen
 * queue, or from the queue of connections that siblings have handed over.
 */
#include "config/config.h"
#include "engine/event/event_engine.h"
#include "engine/event/handover.h"
#include "engine/steps.h"
#include "status/board.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PAUSE_NS INT64_C(100000000) /* no accept() for this long without free descriptors */

/* EPOLLEXCLUSIVE: a new connection wakes one waiting child, not all. A busy child does not
 * wait, so an idle child is woken if there is one. */
static void
listen_again(struct event_engine *engine)
{
    if (engine->listening || engine->order != CHILD_SERVE || engine->retire)
        return;
    connections_poll_other(&engine->connections, engine->context->listen_fd, EVENT_LISTEN,
                           EPOLLIN | EPOLLEXCLUSIVE);
    if (engine->context->handover_fd[0] != -1) {
        connections_poll_other(&engine->connections, engine->context->handover_fd[0],
                               EVENT_HANDOVER, EPOLLIN | EPOLLEXCLUSIVE);
    }
    engine->listening = true;
}

void
event_stop_listening(struct event_engine *engine)
{
    int epoll_fd = engine->connections.epoll_fd;
    if (engine->listening) {
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, engine->context->listen_fd, NULL);
        if (engine->context->handover_fd[0] != -1)
            epoll_ctl(epoll_fd, EPOLL_CTL_DEL, engine->context->handover_fd[0], NULL);
        engine->listening = false;
    }
}

/* The connection that has been idle longest, if it may be closed for one that waits. One
 * that was never served may not: its first request is on its way. */
static struct connection *
find_dispensable(const struct event_engine *engine)
{
    struct connection *connection = engine->connections.list[CONNECTION_IDLE].first;
    while (connection != NULL && (!connection->served || connection->last))
        connection = connection->next;
    return connection;
}

/* Makes room for one more connection, by closing an idle one if necessary. Returns whether
 * there is room. */
static bool
make_room(struct event_engine *engine)
{
    if (engine->connections.count == engine->connections.max) {
        struct connection *dispensable = find_dispensable(engine);
        if (dispensable != NULL)
            event_shed(engine, dispensable);
    }
    return engine->connections.count < engine->connections.max;
}

/* Acts on errno. Without descriptors or memory the connection waits until there are some, or
 * another child takes it. */
static void
pause_accepting(struct event_engine *engine)
{
    struct connection *dispensable = find_dispensable(engine);
    if (steps_lost(errno)) {
        engine->retire = true;
        return;
    }
    steps_tell_full(engine->now_ns);
    if (dispensable != NULL)
        event_shed(engine, dispensable);
    event_stop_listening(engine);
    engine->pause_until_ns = engine->now_ns + PAUSE_NS;
}

static struct connection *
accept_one(struct event_engine *engine)
{
    short hang_events;
    if (!make_room(engine))
        return NULL;
    int fd = steps_accept(engine->context, &hang_events);
    if (fd == -1) {
        if (errno != EAGAIN)
            pause_accepting(engine);
        return NULL;
    }
    struct connection *connection =
        connections_add(&engine->connections, fd, hang_events, engine->now_ns);
    if (connection == NULL)
        close(fd);
    return connection;
}

struct connection *
event_adopt_one(struct event_engine *engine)
{
    struct connection *connection =
        handover_receive(engine->context->handover_fd[0], &engine->connections, engine->now_ns);
    if (connection == NULL) {
        if (errno != EAGAIN)
            pause_accepting(engine);
        return NULL;
    }
    board_count(&engine->context->slot->adopted);
    if (connection_poll(&engine->connections, connection, EPOLLIN) == -1) {
        connection_close(&engine->connections, connection, true);
        return NULL;
    }
    return connection;
}

void
event_take_one(struct event_engine *engine, bool queued, bool handed)
{
    struct connection *taken = NULL;
    if (handed && (!queued || engine->handed_next)) {
        taken = event_adopt_one(engine);
        engine->handed_next = false;
    }
    if (taken == NULL && queued) {
        taken = accept_one(engine);
        engine->handed_next = true;
    }
    if (taken != NULL && taken->state == CONNECTION_IDLE)
        event_on_input(engine, taken, steps_peer_gone(taken->fd, taken->hang_events));
}

void
event_adjust_listening(struct event_engine *engine)
{
    bool room =
        engine->connections.count < engine->connections.max || find_dispensable(engine) != NULL;
    if (engine->pause_until_ns != 0 && engine->now_ns >= engine->pause_until_ns)
        engine->pause_until_ns = 0;
    if (!room || event_is_full(engine) || engine->pause_until_ns != 0)
        event_stop_listening(engine);
    else
        listen_again(engine);
}
