/* SPDX-License-Identifier: MIT */
/*
 * control.h - the control socket: the master tells the status even when every
 * child is busy. Protocol: the client sends one line, the query of /status ("json",
 * "openmetrics", "full", "" or several with '&'), and reads until end of file.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "master/socket_file.h"

#include <stddef.h>
#include <stdint.h>

struct config;

enum { CONTROL_CLIENTS_MAX = 8 };

struct control_client {
    int fd; /* 0: this place is free */
    int64_t deadline_ms;
    char line[128];
    size_t line_used;
    char *answer; /* NULL while the query is read */
    size_t length;
    size_t sent;
};

struct control {
    int fd;         /* listening; 0 or -1: none */
    int reserve_fd; /* to accept and close a client when no other descriptor is left */
    struct socket_file file;
    int epoll_fd;
    uint64_t event_base;
    struct control_client client[CONTROL_CLIENTS_MAX];
};

/* Opens config->control (mode 0600), announced in <epoll_fd> as <event_base> plus 0
 * for the listening socket, 1 ... for clients. Does nothing without one.
 * Returns 0, or -1 with <error>. */
int control_open(struct control *control, const struct config *config, int epoll_fd,
                 uint64_t event_base, char *error, size_t error_size);

/* Something happened on number <index>. */
void control_event(struct control *control, uint32_t index);

/* Drops clients that took too long. Returns the next deadline; 0: there is no client. */
int64_t control_deadline_ms(const struct control *control);
void control_expire(struct control *control, int64_t now_ms);

/* Closes all and removes the socket. */
void control_close(struct control *control);

/* The client: asks the server with the control socket <path> and prints the
 * answer. Returns an exit status. */
int control_ask(const char *path, const char *query);

#endif
