/* SPDX-License-Identifier: MIT */
#include "master/control.h"
#include "base/clock.h"
#include "config/config.h"
#include "status/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_TIME_MS 2000 /* time for a client to ask and to read */
#define ASK_TIME_MS    5000

static void
announce(struct control *control, int fd, uint32_t index, uint32_t events, int operation)
{
    struct epoll_event event = {.events = events, .data.u64 = control->event_base + index};
    epoll_ctl(control->epoll_fd, operation, fd, &event);
}

int
control_open(struct control *control, const struct config *config, int epoll_fd,
             uint64_t event_base, char *error, size_t error_size)
{
    char reason[400];
    *control = (struct control){.fd = -1, .epoll_fd = epoll_fd, .event_base = event_base};
    if (config->control == NULL)
        return 0;
    int fd = socket_file_bind(&control->file, config->control, 0600, reason, sizeof reason);
    if (fd == -1 || listen(fd, CONTROL_CLIENTS_MAX) == -1) {
        snprintf(error, error_size, "control socket %s", fd == -1 ? reason : strerror(errno));
        if (fd != -1)
            close(fd);
        return -1;
    }
    control->fd = fd;
    control->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    announce(control, fd, 0, EPOLLIN, EPOLL_CTL_ADD);
    return 0;
}

static void
drop(struct control_client *client)
{
    if (client->fd > 0)
        close(client->fd);
    free(client->answer);
    *client = (struct control_client){0};
}

/* Out of descriptors: the reserved one is used to accept and close the waiting client, which
 * would otherwise keep the loop busy. */
static void
turn_away(struct control *control)
{
    close(control->reserve_fd);
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd != -1)
        close(fd);
    control->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
accept_client(struct control *control)
{
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd == -1) {
        if (errno == EMFILE || errno == ENFILE)
            turn_away(control);
        return;
    }
    for (uint32_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        struct control_client *client = &control->client[i];
        if (client->fd > 0)
            continue;
        *client = (struct control_client){.fd = fd, .deadline_ms = clock_ms() + CLIENT_TIME_MS};
        announce(control, fd, i + 1, EPOLLIN, EPOLL_CTL_ADD);
        return;
    }
    close(fd); /* the number may be used again */
}

static void
compose(struct control_client *client)
{
    client->line[client->line_used] = '\0';
    client->answer = status_query_text(client->line, &client->length);
}

/* Returns 1 when the whole line has arrived, 0 if not yet, -1 if the client has gone. */
static int
read_line(struct control_client *client)
{
    size_t room = sizeof client->line - 1 - client->line_used;
    ssize_t length = read(client->fd, client->line + client->line_used, room);
    if (length == -1)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    client->line_used += (size_t)length;
    char *end = memchr(client->line, '\n', client->line_used);
    if (end != NULL)
        client->line_used = (size_t)(end - client->line);
    return end != NULL || length == 0 || client->line_used == sizeof client->line - 1;
}

static void
serve(struct control *control, uint32_t index)
{
    struct control_client *client = &control->client[index - 1];
    if (client->fd <= 0)
        return;
    if (client->answer == NULL) {
        int whole = read_line(client);
        if (whole == 1)
            compose(client);
        if (whole == -1 || (whole == 1 && client->answer == NULL))
            drop(client);
        if (whole != 1 || client->answer == NULL)
            return;
        announce(control, client->fd, index, EPOLLOUT, EPOLL_CTL_MOD);
    }
    ssize_t sent = send(client->fd, client->answer + client->sent, client->length - client->sent,
                        MSG_NOSIGNAL);
    if (sent == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent > 0)
        client->sent += (size_t)sent;
    if (sent <= 0 || client->sent == client->length)
        drop(client);
}

void
control_event(struct control *control, uint32_t index)
{
    if (index == 0)
        accept_client(control);
    else
        serve(control, index);
}

int64_t
control_deadline_ms(const struct control *control)
{
    int64_t first_ms = 0;
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
        int64_t deadline_ms = control->client[i].deadline_ms;
        if (deadline_ms != 0 && (first_ms == 0 || deadline_ms < first_ms))
            first_ms = deadline_ms;
    }
    return first_ms;
}

void
control_expire(struct control *control, int64_t now_ms)
{
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (control->client[i].fd > 0 && now_ms >= control->client[i].deadline_ms)
            drop(&control->client[i]);
}

void
control_close(struct control *control)
{
    for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
        drop(&control->client[i]);
    if (control->fd <= 0)
        return;
    close(control->fd);
    close(control->reserve_fd);
    control->fd = -1;
    socket_file_remove(&control->file);
}

/* --- the client ------------------------------------------------------------------------ */

static int
complain(const char *path)
{
    fprintf(stderr, "fcgi-server: error: %s: %s; is the server running with --control=%s?\n", path,
            strerror(errno), path);
    return 111;
}

int
control_ask(const char *path, const char *query)
{
    struct sockaddr_un address;
    char buffer[16384];
    char line[130];
    char error[400];
    bool something = false;
    if (socket_file_address(&address, path, error, sizeof error) == -1) {
        fprintf(stderr, "fcgi-server: error: %s\n", error);
        return 100;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 || connect(fd, (struct sockaddr *)&address, sizeof address) == -1)
        return complain(path);
    int size = snprintf(line, sizeof line, "%.120s\n", query);
    if (send(fd, line, (size_t)size, MSG_NOSIGNAL) != size)
        return complain(path);
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int result = poll(&ready, 1, ASK_TIME_MS);
        if (result == -1 && errno == EINTR)
            continue;
        errno = result == 0 ? ETIMEDOUT : errno;
        ssize_t length = result == 1 ? read(fd, buffer, sizeof buffer) : -1;
        if (length == -1 && result == 1 && errno == EINTR)
            continue;
        if (length == -1)
            return complain(path);
        if (length == 0)
            break;
        something = true;
        fwrite(buffer, 1, (size_t)length, stdout);
    }
    close(fd);
    errno = ECONNRESET;
    return something && fflush(stdout) == 0 ? 0 : complain(path);
}
