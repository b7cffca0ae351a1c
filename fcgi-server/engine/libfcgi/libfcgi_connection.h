/* SPDX-License-Identifier: MIT */
/*
 * libfcgi_connection.h - the one connection that a child of this engine has: waits for its
 * bytes, for orders and for other connections, and ends it without losing what was sent.
 */
#ifndef LIBFCGI_CONNECTION_H
#define LIBFCGI_CONNECTION_H

#include "request/intake.h"

#include <stdbool.h>

struct engine_context;

struct libfcgi_connection {
    struct engine_context *context;
    int fd; /* -1: none */
    short hang_events;
    bool served; /* it has had an answer */
    struct intake intake;
};

/* Reads once. Returns 0 when the connection must be dropped. */
int libfcgi_connection_read(struct libfcgi_connection *connection);

/* Whether the peer takes more within a second. */
bool libfcgi_connection_wait_writable(const struct libfcgi_connection *connection);

void libfcgi_connection_drop(struct libfcgi_connection *connection);

/* Closes so that a peer that is still sending gets its answer: closing with unread bytes would
 * reset the connection. */
void libfcgi_connection_drop_slowly(struct libfcgi_connection *connection);

#endif
