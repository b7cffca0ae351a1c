/* SPDX-License-Identifier: MIT */
/*
 * event_request.c - a request on a connection of the event engine, from its first
 * byte to the last one of its answer.
 */
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "engine/event/event_engine.h"
#include "engine/queue_deadline.h"
#include "engine/steps.h"
#include "handler/router.h"
#include "request/dispatch.h"
#include "request/response.h"
#include "status/board.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS INT64_C(1000000)

struct event_engine event_here;

bool
event_is_full(const struct event_engine *engine)
{
    return engine->in_flight >= engine->config->requests_max;
}

/* The peer has gone before its request was run. */
static void
drop_aborted(struct event_engine *engine, struct connection *connection)
{
    board_count(&engine->context->slot->aborted);
    board_count(&engine->context->slot->skipped);
    connection_close(&engine->connections, connection, false);
}

/* --- the answer ----------------------------------------------------------------------- */

/* The answer has been sent, or its peer has gone. */
static void
after_answer(struct event_engine *engine, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    bool keep = exchange->request.keep && !exchange->request.broken && !connection->last;
    connection->served = true;
    if (!keep) {
        connection_close(&engine->connections, connection, false);
        return;
    }
    request_reset(&exchange->request);
    intake_reset(&exchange->intake);
    if (intake_is_empty(&exchange->intake)) {
        connection_release(&engine->connections, connection);
        connection_move(&engine->connections, connection, CONNECTION_IDLE, engine->now_ns);
    } else {
        connection_move(&engine->connections, connection, CONNECTION_READY, engine->now_ns);
    }
    if (connection_poll(&engine->connections, connection, EPOLLIN) == -1) {
        connection_close(&engine->connections, connection, false);
        return;
    }
    /* Without siblings no other child can serve the next request on it. */
    if (engine->now_ns < engine->slow_until_ns && engine->context->handover_fd[1] == -1 &&
        connection->state == CONNECTION_IDLE)
        event_shed(engine, connection);
}

/* Stores what the socket did not take. Returns -1 when out of memory. */
static int
keep_rest(struct event_engine *engine, struct exchange *exchange)
{
    exchange->rest_length = engine->answer.left;
    exchange->rest_at = 0;
    exchange->rest = malloc(exchange->rest_length);
    if (exchange->rest == NULL)
        return -1;
    answer_rest(&engine->answer, exchange->rest);
    return connection_poll(&engine->connections, exchange->connection, EPOLLOUT);
}

static void
send_answer(struct event_engine *engine, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    int sent = -1;
    if (!exchange->request.broken) {
        answer_build(&engine->answer, &exchange->request, true);
        sent = answer_send(&engine->answer, connection->fd);
    }
    if (sent == 1 && keep_rest(engine, exchange) == 0) {
        connection_move(&engine->connections, connection, CONNECTION_SENDING, engine->now_ns);
        return;
    }
    if (sent != 0) {
        exchange->request.broken = true;
        board_count(&engine->context->slot->aborted);
    }
    after_answer(engine, connection);
}

void
event_on_output(struct event_engine *engine, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    ssize_t sent = send(connection->fd, exchange->rest + exchange->rest_at, exchange->rest_length,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent == -1) {
        board_count(&engine->context->slot->aborted);
        connection_close(&engine->connections, connection, false);
        return;
    }
    exchange->rest_at += (size_t)sent;
    exchange->rest_length -= (size_t)sent;
    if (exchange->rest_length > 0) { /* the time limit counts from the last progress */
        connection_move(&engine->connections, connection, CONNECTION_SENDING, engine->now_ns);
        return;
    }
    free(exchange->rest);
    exchange->rest = NULL;
    after_answer(engine, connection);
}

/* Refuses a request of which more bytes may come. */
static void
refuse(struct event_engine *engine, struct connection *connection, int status)
{
    struct request *request = &connection->exchange->request;
    request->id = connection->exchange->intake.id;
    response_refuse(request, status);
    steps_begin(engine->context, request, engine->now_ns);
    steps_end(engine->context, request, engine->now_ns);
    answer_build(&engine->answer, request, true);
    answer_send(&engine->answer,
                connection->fd); /* a short text: it fits, unless the peer does not read */
    event_linger(engine, connection);
}

/* --- running --------------------------------------------------------------------------- */

/* Ends the request for counters and logs: from here on, bytes are only sent. */
static void
finish(struct event_engine *engine, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    engine->in_flight--;
    timers_clear(&engine->timers, &exchange->timer);
    steps_end(engine->context, &exchange->request, engine->now_ns);
    send_answer(engine, connection);
}

static int64_t
deadline_of(const struct event_engine *engine, const struct exchange *exchange)
{
    int64_t limit_ms = (int64_t)engine->config->request_timeout_ms;
    return limit_ms == 0 ? INT64_MAX : exchange->request.start_ns + limit_ms * MS;
}

/* Sets up what fh_wait() asked for. */
static int
begin_wait(struct event_engine *engine, struct connection *connection)
{
    struct exchange *exchange = connection->exchange;
    const struct request_wait *wait = &exchange->request.wait;
    int64_t until_ns = engine->now_ns + (int64_t)wait->timeout_ms * MS;
    int64_t deadline_ns = deadline_of(engine, exchange);
    if (timers_set(&engine->timers, &exchange->timer,
                   until_ns < deadline_ns ? until_ns : deadline_ns) == -1)
        return -1;
    if (wait->fd != -1) {
        /* poll() and epoll share the values of these flags. */
        struct epoll_event event = {.events = (uint32_t)(unsigned short)wait->events,
                                    .data.u64 = event_tag(EVENT_WAIT, connection)};
        if (epoll_ctl(engine->connections.epoll_fd, EPOLL_CTL_ADD, wait->fd, &event) == -1)
            return -1;
        exchange->waits_for = wait->fd;
    }
    return connection_poll(&engine->connections, connection, EPOLLIN);
}

static void
end_wait(struct event_engine *engine, struct exchange *exchange)
{
    timers_clear(&engine->timers, &exchange->timer);
    if (exchange->waits_for != -1) {
        epoll_ctl(engine->connections.epoll_fd, EPOLL_CTL_DEL, exchange->waits_for, NULL);
        exchange->waits_for = -1;
    }
}

/* See dispatch_cancel(). */
static void
cancel(struct event_engine *engine, struct connection *connection, int status)
{
    end_wait(engine, connection->exchange);
    dispatch_cancel(&connection->exchange->request, status);
    finish(engine, connection);
}

/* How long a handler that was slow is expected to be slow again. */
#define SLOW_FOR_NS (1000 * MS)

static struct event_slow *
slow_slot(struct event_engine *engine, const struct router_entry *entry)
{
    return &engine->slow[(uintptr_t)entry / sizeof *entry % EVENT_SLOW_SLOTS];
}

static void
remember_slow(struct event_engine *engine, const struct router_entry *entry)
{
    *slow_slot(engine, entry) = (struct event_slow){entry, engine->now_ns + SLOW_FOR_NS};
    engine->slow_until_ns = engine->now_ns + SLOW_FOR_NS;
}

/* Prepares for a handler that is expected to be slow: does at once what the slow watch would
 * do some milliseconds later. Returns whether the watch is still needed. */
static bool
needs_watch(struct event_engine *engine, const struct router_entry *entry)
{
    const struct event_slow *slow = slow_slot(engine, entry);
    if (slow->entry != entry || slow->until_ns < engine->now_ns)
        return true;
    return !event_give_away(engine) || engine->config->request_timeout_ms > 0 ||
           engine->config->slow_ms > 0;
}

/* See steps_call(). */
static void
call(struct event_engine *engine, struct connection *connection, const short *revents)
{
    struct exchange *exchange = connection->exchange;
    struct request *request = &exchange->request;
    int64_t begun_ns = engine->now_ns;
    connection_move(&engine->connections, connection, CONNECTION_RUNNING, begun_ns);
    board_state(engine->context->slot, BOARD_RUNNING);
    bool needed = needs_watch(engine, request->entry);
    enum fh_result result = steps_call(&engine->watch, begun_ns, needed, request, revents);

    engine->now_ns = clock_ns();
    if (engine->now_ns - begun_ns > SLOW_WATCH_NS)
        remember_slow(engine, request->entry);
    if (request->timed_out) {
        board_count(&engine->context->slot->timed_out);
        engine->retire =
            true; /* a handler stopped at an arbitrary point may leave anything behind */
    }
    if (result != FH_WAIT) {
        finish(engine, connection);
        return;
    }
    connection_move(&engine->connections, connection, CONNECTION_WAITING, engine->now_ns);
    if (begin_wait(engine, connection) == -1) {
        log_error("%s: fh_wait() failed: its descriptor is closed, or another request waits for it",
                  request->entry->file);
        cancel(engine, connection, 500);
    }
}

void
event_on_wait(struct event_engine *engine, struct connection *connection, short revents)
{
    end_wait(engine, connection->exchange);
    call(engine, connection, &revents);
}

void
event_on_timeout(struct event_engine *engine, struct connection *connection)
{
    board_count(&engine->context->slot->timed_out);
    cancel(engine, connection, 504);
}

void
event_on_peer(struct event_engine *engine, struct connection *connection, bool gone)
{
    char bytes[RECORD_HEADER_SIZE + 255];
    uint16_t id = connection->exchange->request.id;
    ssize_t length = recv(connection->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    size_t abort = length <= 0 ? 0 : intake_abort(id, bytes, (size_t)length);
    if (gone) {
        board_count(&engine->context->slot->aborted);
        cancel(engine, connection, 0);
    } else if (abort > 0 && abort <= (size_t)length) {
        recv(connection->fd, bytes, abort, MSG_DONTWAIT);
        board_count(&engine->context->slot->aborted);
        connection->exchange->request.status = 0;
        cancel(engine, connection, 0);
    } else { /* the next request, or the end of input on a unix socket: handled later */
        connection_poll(&engine->connections, connection, 0);
    }
}

/* Runs a complete request, unless there is a reason not to. */
static void
start(struct event_engine *engine, struct connection *connection, bool gone)
{
    struct exchange *exchange = connection->exchange;
    struct request *request = &exchange->request;
    if (gone) {
        drop_aborted(engine, connection);
        return;
    }
    int refused = steps_take(request, &exchange->intake);
    if (refused == 0)
        refused = queue_deadline_check(engine->config, request);
    engine->left -= engine->left > 0;
    engine->in_flight++;
    if (refused == 0)
        dispatch_route(request, engine->context->router);
    steps_begin(engine->context, request, engine->now_ns);
    if (refused != 0) {
        response_refuse(request, refused);
        finish(engine, connection);
    } else {
        call(engine, connection, NULL);
    }
}

/* --- input ----------------------------------------------------------------------------- */

/* Sends the reply to a management record. A peer that does not take it is dropped. */
static bool
send_reply(struct event_engine *engine, struct connection *connection)
{
    const struct intake *intake = &connection->exchange->intake;
    ssize_t sent =
        send(connection->fd, intake->reply, intake->reply_length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != intake->reply_length) {
        connection_close(&engine->connections, connection, false);
        return false;
    }
    if (intake->closing) {
        event_linger(engine, connection);
        return false;
    }
    return true;
}

/* No complete request has arrived yet. */
static void
await_more(struct event_engine *engine, struct connection *connection)
{
    struct connections *connections = &engine->connections;
    bool begun = connection->state == CONNECTION_READING;
    if (intake_is_empty(&connection->exchange->intake)) {
        connection_release(connections, connection);
        connection_move(connections, connection, CONNECTION_IDLE, engine->now_ns);
    } else if (!begun || !intake_in_params(&connection->exchange->intake)) {
        /* Parameters must be complete within read_timeout of their first byte; a body only has to
         * keep arriving. */
        connection_move(connections, connection, CONNECTION_READING, engine->now_ns);
    }
    if (connection_poll(connections, connection, EPOLLIN) == -1)
        connection_close(connections, connection, false);
}

void
event_advance(struct event_engine *engine, struct connection *connection, bool gone)
{
    struct intake *intake = &connection->exchange->intake;
    for (;;) {
        switch (intake_next(intake)) {
        case INTAKE_MORE:
            await_more(engine, connection);
            return;
        case INTAKE_REQUEST:
            start(engine, connection, gone);
            return;
        case INTAKE_ABORTED:
            board_count(&engine->context->slot->aborted);
            board_count(&engine->context->slot->skipped);
            if (!send_reply(engine, connection))
                return;
            break;
        case INTAKE_REPLY:
            if (!send_reply(engine, connection))
                return;
            break;
        case INTAKE_REFUSED:
            refuse(engine, connection, intake->refused);
            return;
        case INTAKE_BROKEN:
            board_count(&engine->context->slot->dropped);
            connection_close(&engine->connections, connection, false);
            return;
        }
    }
}

void
event_on_input(struct event_engine *engine, struct connection *connection, bool gone)
{
    struct exchange *exchange = connection_exchange(&engine->connections, connection);
    char *room;
    size_t size = exchange == NULL ? 0 : intake_room(&exchange->intake, &room);
    ssize_t got = size == 0 ? 0 : recv(connection->fd, room, size, MSG_DONTWAIT);
    if (got > 0) {
        intake_filled(&exchange->intake, (size_t)got);
        event_advance(engine, connection, gone);
    } else if (got == -1 && (errno == EAGAIN || errno == EINTR)) {
        await_more(engine, connection);
    } else if (exchange != NULL && !intake_is_empty(&exchange->intake)) {
        drop_aborted(engine, connection);
    } else {
        connection_close(&engine->connections, connection, false);
    }
}

/* --- what a request needs of its engine -------------------------------------------------- */

/* Sends <out> while the handler is running; waits for the peer for a bounded time. The lock
 * covers the building of the answer: from then on the watch must not write a 504 into it. */
static int
io_flush(struct request *request)
{
    struct exchange *exchange = request->owner;
    struct event_engine *engine = &event_here;
    int fd = exchange->connection->fd;
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int sent;
    pthread_mutex_lock(&engine->watch.lock);
    answer_build(&engine->answer, request, false);
    pthread_mutex_unlock(&engine->watch.lock);
    while ((sent = answer_send(&engine->answer, fd)) == 1) {
        int ready = poll(&writable, 1, (int)engine->config->read_timeout_ms);
        if (ready == 0 || (ready == -1 && errno != EINTR))
            return -1;
    }
    return sent;
}

static int
io_gone(struct request *request)
{
    const struct exchange *exchange = request->owner;
    const struct connection *connection = exchange->connection;
    return request->timed_out || steps_peer_gone(connection->fd, connection->hang_events);
}

const struct request_io event_io = {.flush = io_flush, .gone = io_gone};
