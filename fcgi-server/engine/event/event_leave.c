/* SPDX-License-Identifier: MIT */
/*
 * event_leave.c - gives a connection to a sibling, or closes it so that no request is
 * lost.
 */
#include "engine/event/event_engine.h"
#include "engine/event/handover.h"
#include "status/board.h"

#include <sys/epoll.h>
#include <sys/socket.h>

/* Connections given away at once: a returning handler waits at most about a quarter of a
 * millisecond for the lock. */
#define GIVEN_AT_ONCE 64

void
event_linger(struct event_engine *engine, struct connection *connection)
{
    connection_release(&engine->connections, connection);
    shutdown(connection->fd, SHUT_WR);
    connection_move(&engine->connections, connection, CONNECTION_CLOSING, engine->now_ns);
    if (connection_poll(&engine->connections, connection, EPOLLIN) == -1)
        connection_close(&engine->connections, connection, false);
}

bool
event_pass_on(struct event_engine *engine, struct connection *connection)
{
    int queue_fd = engine->context->handover_fd[1];
    if (queue_fd == -1 || handover_send(queue_fd, connection) == -1)
        return false;
    board_count(&engine->context->slot->handed);
    connection_close(&engine->connections, connection, true);
    return true;
}

void
event_shed(struct event_engine *engine, struct connection *connection)
{
    char byte;
    if (connection->hang_events == 0) /* a unix socket */
        shutdown(connection->fd, SHUT_RD);
    if (connection->exchange == NULL &&
        recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
        connection_close(&engine->connections, connection, false);
        return;
    }
    connection->last = true;
}

/* Gives away those of one state. Returns how many more may go this time. */
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
