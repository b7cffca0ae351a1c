/* SPDX-License-Identifier: MIT */
#include "engine/libfcgi/libfcgi_connection.h"
#include "base/clock.h"
#include "config/config.h"
#include "engine/engine.h"
#include "handler/side_effects.h"
#include "status/board.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long an ending child waits for the request of a connection that was just accepted to
 * begin. */
#define FRESH_MS 500

/* How long we wait for a peer to notice that we end its connection while it is still
 * sending; libfcgi itself allows 2 s. */
#define LINGER_MS 1000

/* How long a connection may stay silent before its first byte. */
#define SILENT_MS 2000

void
libfcgi_connection_drop(struct libfcgi_connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
    intake_fini(&connection->intake);
}

void
libfcgi_connection_drop_slowly(struct libfcgi_connection *connection)
{
    char waste[4096];
    struct pollfd poll_fd = {.fd = connection->fd, .events = POLLIN};
    int64_t end_ns = clock_ns() + LINGER_MS * INT64_C(1000000);
    shutdown(connection->fd, SHUT_WR);
    for (;;) {
        int64_t left_ms = (end_ns - clock_ns()) / 1000000;
        if (left_ms <= 0 || poll(&poll_fd, 1, (int)left_ms) <= 0 ||
            recv(connection->fd, waste, sizeof waste, MSG_DONTWAIT) <= 0)
            break;
    }
    libfcgi_connection_drop(connection);
}

/* Gives up an idle kept connection for one that waits to be accepted. Bytes that were sent
 * before are still read (see event_shed()). Returns whether there is nothing to read. */
static bool
give_up(struct libfcgi_connection *connection)
{
    char byte;
    if (connection->hang_events == 0)
        shutdown(connection->fd, SHUT_RD);
    return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* Waits for bytes. Returns 1; 0 if none arrived before the time was up, the child had to end
 * or others had to wait; -1 on failure. */
static int
wait_readable(struct libfcgi_connection *connection)
{
    const struct config *config = connection->context->config;
    bool idle = intake_is_empty(&connection->intake);
    /* A connection that has sent nothing yet holds the child for as long as the library allows
     * on unix sockets. */
    uint64_t idle_ms = connection->served ? config->keep_timeout_ms : SILENT_MS;
    uint64_t timeout_ms = idle ? idle_ms : config->read_timeout_ms;
    int64_t end_ns = clock_ns() + (int64_t)timeout_ms * 1000000;

    board_state(connection->context->slot, idle ? BOARD_IDLE : BOARD_READING);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = connection->fd, .events = POLLIN},
            {.fd = connection->context->order_fd, .events = POLLIN},
            {.fd = idle && connection->served ? connection->context->listen_fd : -1,
             .events = POLLIN},
        };
        int64_t now_ns = clock_ns();
        int64_t left_ms = (end_ns - now_ns) / 1000000;
        int wait_ms = left_ms < 0 ? 0 : (int)left_ms + 1;
        int ready = poll(fds, 3, side_effects_undo(now_ns, wait_ms));
        if (ready == -1 && errno != EINTR)
            return -1;
        if (ready > 0 && fds[0].revents != 0)
            return 1;
        enum child_order order = connection->context->order();
        if (order == CHILD_STOP || left_ms <= 0)
            return 0;
        if (order != CHILD_SERVE && idle && connection->served)
            return give_up(connection) ? 0 : 1;
        /* The request of a new connection is on its way: closing would lose it. */
        if (order != CHILD_SERVE && idle && left_ms > FRESH_MS)
            end_ns = clock_ns() + FRESH_MS * INT64_C(1000000);
        if (ready > 0 && fds[2].revents != 0)
            return give_up(connection) ? 0 : 1;
    }
}

int
libfcgi_connection_read(struct libfcgi_connection *connection)
{
    char *room;
    size_t size = intake_room(&connection->intake, &room);
    if (size == 0)
        return 0;
    int ready = wait_readable(connection);
    if (ready != 1) {
        if (!intake_is_empty(&connection->intake))
            board_count(&connection->context->slot->dropped);
        return 0;
    }
    ssize_t got = recv(connection->fd, room, size, 0);
    if (got > 0) {
        intake_filled(&connection->intake, (size_t)got);
    } else if (!intake_is_empty(&connection->intake)) {
        board_count(&connection->context->slot->aborted);
        board_count(&connection->context->slot->skipped);
    }
    return got > 0;
}

bool
libfcgi_connection_wait_writable(const struct libfcgi_connection *connection)
{
    struct pollfd poll_fd = {.fd = connection->fd, .events = POLLOUT};
    return poll(&poll_fd, 1, LINGER_MS) == 1;
}
