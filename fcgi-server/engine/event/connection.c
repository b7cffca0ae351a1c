/* SPDX-License-Identifier: MIT */
#include "engine/event/connection.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Unused exchanges kept in the pool, about 25 KiB each. */
#define POOL_MAX 64

/* --- lists --------------------------------------------------------------------------- */

static void
take_out(struct connection_list *list, struct connection *connection)
{
    if (connection->previous == NULL)
        list->first = connection->next;
    else
        connection->previous->next = connection->next;
    if (connection->next == NULL)
        list->last = connection->previous;
    else
        connection->next->previous = connection->previous;
    list->count--;
}

/* Inserts in order of <since_ns>, which is almost always at the end. */
static void
put_in(struct connection_list *list, struct connection *connection)
{
    struct connection *before = list->last;
    while (before != NULL && before->since_ns > connection->since_ns)
        before = before->previous;
    connection->previous = before;
    connection->next = before == NULL ? list->first : before->next;
    if (connection->next == NULL)
        list->last = connection;
    else
        connection->next->previous = connection;
    if (before == NULL)
        list->first = connection;
    else
        before->next = connection;
    list->count++;
}

void
connection_move(struct connections *connections, struct connection *connection,
                enum connection_state state, int64_t since_ns)
{
    take_out(&connections->list[connection->state], connection);
    connection->state = state;
    connection->since_ns = since_ns;
    put_in(&connections->list[state], connection);
}

/* --- the table ------------------------------------------------------------------------ */

struct connection *
connections_find(const struct connections *connections, uint64_t tag)
{
    uint32_t index = tag & 0xfffffff;
    if (index >= connections->size)
        return NULL;
    struct connection *connection = connections->table[index];
    return connection->fd != -1 && connection->generation == tag >> 32 ? connection : NULL;
}

/* Makes room; the table doubles, so this is rare. */
static struct connection *
new_place(struct connections *connections)
{
    if ((connections->size & (connections->size - 1)) == 0) {
        size_t size = connections->size == 0 ? 1 : (size_t)connections->size * 2;
        struct connection **table = realloc(connections->table, size * sizeof(struct connection *));
        if (table == NULL)
            return NULL;
        connections->table = table;
    }
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection != NULL) {
        connection->index = connections->size;
        connections->table[connections->size++] = connection;
    }
    return connection;
}

struct connection *
connections_add(struct connections *connections, int fd, short hang_events, int64_t now_ns)
{
    struct connection *connection = connections->free;
    if (connection != NULL)
        connections->free = connection->next;
    else if ((connection = new_place(connections)) == NULL)
        return NULL;
    *connection = (struct connection){
        .fd = fd,
        .index = connection->index,
        .generation = connection->generation + 1,
        .hang_events = hang_events,
        .state = CONNECTION_IDLE,
        .since_ns = now_ns,
    };
    put_in(&connections->list[CONNECTION_IDLE], connection);
    connections->count++;
    return connection;
}

void
connection_close(struct connections *connections, struct connection *connection, bool shared)
{
    connection_release(connections, connection);
    take_out(&connections->list[connection->state], connection);
    if (shared && connection->registered)
        epoll_ctl(connections->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    close(connection->fd);
    connection->fd = -1;
    connection->next = connections->free;
    connections->free = connection;
    connections->count--;
}

int
connection_poll(struct connections *connections, struct connection *connection, uint32_t events)
{
    struct epoll_event event = {.events = events | (uint32_t)connection->hang_events,
                                .data.u64 = event_tag(EVENT_CONNECTION, connection)};
    if (connection->registered && connection->interest == events)
        return 0;
    if (epoll_ctl(connections->epoll_fd, connection->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
                  connection->fd, &event) == -1)
        return -1;
    connection->registered = true;
    connection->interest = events;
    return 0;
}

int
connections_poll_other(struct connections *connections, int fd, enum event_kind kind,
                       uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = event_tag(kind, NULL)};
    return epoll_ctl(connections->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* --- exchanges ------------------------------------------------------------------------ */

struct exchange *
connection_exchange(struct connections *connections, struct connection *connection)
{
    struct exchange *exchange = connections->pool;
    if (connection->exchange != NULL)
        return connection->exchange;
    if (exchange != NULL) {
        connections->pool = exchange->next;
        connections->pooled--;
    } else {
        exchange = calloc(1, sizeof *exchange);
        if (exchange == NULL)
            return NULL;
        request_init(&exchange->request, connections->io, exchange);
        intake_init(&exchange->intake, connections->limits);
        exchange->waits_for = -1;
    }
    exchange->connection = connection;
    connection->exchange = exchange;
    return exchange;
}

void
connection_release(struct connections *connections, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    if (exchange == NULL)
        return;
    connection->exchange = NULL;
    exchange->connection = NULL;
    free(exchange->rest);
    exchange->rest = NULL;
    if (connections->pooled == POOL_MAX) {
        request_fini(&exchange->request);
        intake_fini(&exchange->intake);
        free(exchange);
        return;
    }
    request_reset(&exchange->request);
    intake_drop(&exchange->intake);
    exchange->next = connections->pool;
    connections->pool = exchange;
    connections->pooled++;
}
