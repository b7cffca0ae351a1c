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
    int fd; /* 0: no client */
    int64_t deadline_ms;
    char line[128];
    size_t line_used;
    char *answer; /* NULL while the line is read */
    size_t length;
    size_t sent;
};

struct control {
    int fd;         /* listening; 0 or -1: none */
    int reserve_fd; /* for hanging up when there is no other */
    struct socket_file file;
    int epoll_fd;
    uint64_t event_base;
    struct control_client client[CONTROL_CLIENTS_MAX];
};

/* Opens config->control (mode 0600), announced in <epoll_fd> as <event_base> plus 0
 * for the listening socket, 1 ... for clients. Does nothing when none is wanted.
 * Returns 0, or -1 with <error>. */
int control_open(struct control *control, const struct config *config, int epoll_fd,
                 uint64_t event_base, char *error, size_t error_size);

/* Something happened on number <index>. */
void control_event(struct control *control, uint32_t index);

/* When the slowest client has had its time (0: there is none); drops those. */
int64_t control_deadline_ms(const struct control *control);
void control_expire(struct control *control, int64_t now_ms);

/* Closes all and removes the socket. */
void control_close(struct control *control);

/* The client: asks the server with the control socket <path> and prints what it
 * says. Returns an exit status. */
int control_ask(const char *path, const char *query);

#endif
