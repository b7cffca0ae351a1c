/* SPDX-License-Identifier: MIT */
/*
 * status.h - /status and /ping, handlers like any other, and the text that they
 * send. The control socket of the master sends it, too.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stddef.h>

struct board;
struct config;
struct fh_handler;

enum status_format {
    STATUS_TEXT = 0,
    STATUS_JSON = 1,
    STATUS_OPENMETRICS = 2,
};

/* The handler of a route to "builtin:status" or "builtin:ping" (the name
 * without its prefix); NULL if there is none. */
const struct fh_handler *status_builtin(const char *name);

/* Sets what the built-in handlers report. Called once in each child before
 * serving, and in the master. */
void status_setup(const struct config *config, struct board *board, int listen_fd);

/* Formats the status of everything given to status_setup(). Returns a text for
 * free(), its length in <length>; NULL without memory. */
char *status_text(enum status_format format, bool full, size_t *length);

/* The same for a query string: "json", "openmetrics", "full", joined by '&'. */
char *status_query_text(const char *query, size_t *length);

#endif
