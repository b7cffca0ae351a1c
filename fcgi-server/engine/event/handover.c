/* SPDX-License-Identifier: MIT */
#include "engine/event/handover.h"
#include "base/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The most bytes of a request that are handed over. A connection with more stays: it is a
 * large upload, or has several pipelined requests. */
#define BYTES_MAX 16384

/* The part of struct intake that is sent: all but the buffer and the reply. */
#define MOVED_FROM offsetof(struct intake, next)
#define MOVED_SIZE (offsetof(struct intake, reply) - MOVED_FROM)

/* A message: this struct, then the bytes in the buffer. Both ends are the same program. */
struct letter {
    int64_t since_ns; /* CLOCK_MONOTONIC is the same in all processes */
    short hang_events;
    bool served;
    bool last;
    bool begun;   /* a request has begun to arrive */
    bool spooled; /* the second descriptor is its body so far */
    uint8_t state;
    char intake[MOVED_SIZE];
};

union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(2 * sizeof(int))];
};

int
handover_send(int queue_fd, const struct connection *connection)
{
    const struct exchange *exchange = connection->exchange;
    struct letter letter = {
        .since_ns = connection->since_ns,
        .hang_events = connection->hang_events,
        .served = connection->served,
        .last = connection->last,
        .state = (uint8_t)connection->state,
    };
    struct iovec part[2] = {{&letter, sizeof letter}, {NULL, 0}};
    int fds[2] = {connection->fd, -1};
    union control control = {.room = {0}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2, .msg_control = control.room};
    if (exchange != NULL) {
        const struct intake *intake = &exchange->intake;
        if (intake->end > BYTES_MAX) {
            errno = EMSGSIZE;
            return -1;
        }
        letter.begun = true;
        memcpy(letter.intake, (const char *)intake + MOVED_FROM, MOVED_SIZE);
        part[1] = (struct iovec){intake->buffer, intake->end};
        letter.spooled = intake->spool_fd != -1;
        fds[1] = intake->spool_fd;
    }
    size_t size = (letter.spooled ? 2 : 1) * sizeof(int);
    message.msg_controllen = CMSG_SPACE(size);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), fds, size);
    return sendmsg(queue_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == -1 ? -1 : 0;
}

/* Restores the intake of the sender. The bytes of the message are already in its buffer. */
static void
restore_intake(struct intake *intake, const struct letter *letter, int spool_fd)
{
    memcpy((char *)intake + MOVED_FROM, letter->intake, MOVED_SIZE);
    intake->spool_fd = letter->spooled ? spool_fd : -1;
}

/* Puts the connection into the state in which it was sent. */
static struct connection *
settle(struct connections *connections, struct connection *connection, const struct letter *letter,
       int spool_fd)
{
    enum connection_state state = CONNECTION_IDLE;
    connection->hang_events = letter->hang_events;
    connection->served = letter->served;
    connection->last = letter->last;
    if (letter->begun) {
        state = letter->state == CONNECTION_READING ? CONNECTION_READING : CONNECTION_READY;
        restore_intake(&connection->exchange->intake, letter, spool_fd);
    } else {
        connection_release(connections, connection);
    }
    connection_move(connections, connection, state, letter->since_ns);
    return connection;
}

struct connection *
handover_receive(int queue_fd, struct connections *connections, int64_t now_ns)
{
    struct letter letter;
    char *room;
    int fds[2] = {-1, -1};
    union control control;
    /* Reads into an exchange of the pool: most messages carry a request. */
    struct connection *connection = connections_add(connections, -1, 0, now_ns);
    struct exchange *exchange =
        connection == NULL ? NULL : connection_exchange(connections, connection);

    if (exchange == NULL || intake_room(&exchange->intake, &room) < BYTES_MAX) {
        errno = ENOMEM;
        goto failed;
    }
    struct iovec part[2] = {{&letter, sizeof letter}, {room, BYTES_MAX}};
    struct msghdr message = {.msg_iov = part,
                             .msg_iovlen = 2,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    ssize_t length = recvmsg(queue_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < (ssize_t)sizeof letter) {
        errno = length == -1 ? errno : EPROTO;
        goto failed;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS) {
        errno = EMFILE; /* the kernel drops descriptors for which there is no room */
        goto failed;
    }
    memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    connection->fd = descriptors_lift(fds[0]);
    if (letter.spooled &&
        fds[1] == -1) { /* only one descriptor fitted: the body of the request is lost */
        errno = EMFILE;
        goto failed;
    }
    return settle(connections, connection, &letter, fds[1]);

failed:
    if (connection != NULL) {
        int reason = errno;
        connection_close(connections, connection, false);
        errno = reason;
    }
    return NULL;
}
