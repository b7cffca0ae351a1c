/* SPDX-License-Identifier: MIT */
/*
 * access_log.h - one line per request, made from a format, and the log of slow
 * requests. Children write straight to the files (O_APPEND, one write a line).
 *
 * Format, after php-fpm's: %m method, %r path, %q query with its '?', %R remote
 * address, %u remote user, %s status, %o body bytes, %l content length, %d
 * duration in microseconds, %t local time, %T time of the start (ISO 8601), %p pid, %n pool,
 * %h handler, %{NAME}e FastCGI parameter, %% a percent sign. Values are escaped: quotes,
 * backslashes and control characters become \xHH.
 */
#ifndef ACCESS_LOG_H
#define ACCESS_LOG_H

#include <stddef.h>
#include <stdint.h>

struct config;

/* What the engine knows of an answered request. <param> looks up a FastCGI
 * parameter of <request>; NULL results and a NULL <param> print as "-". */
struct access_entry {
    int status;
    uint64_t body_bytes;
    int64_t duration_ns;
    const char *handler;
    const char *(*param)(void *request, const char *name);
    void *request;
};

/* Opens what <config> asks for and compiles the format. Returns 0, or -1 with a
 * message in <error>. */
int access_log_open(const struct config *config, char *error, size_t error_size);

/* 1 if access_log_write() would write: lets an engine skip the work. */
int access_log_wanted(void);

/* Stores the descriptors that must stay open in a child in <fds>; returns how many
 * (at most 2, never more than <room>). */
size_t access_log_descriptors(int *fds, size_t room);

/* Writes one line. Never blocks for long, never fails: a full disk loses lines. */
void access_log_write(const struct access_entry *entry);

/* Writes one block of text to the slow log (or the log when there is none):
 * <what> is the request ("GET /path"), <handler> its handler, <trace> a Lua
 * traceback or NULL. */
void slow_log_write(const char *what, const char *handler, uint64_t elapsed_ms, const char *trace);

/* Opens the files again. Returns 0, or -1: then the child should be replaced. */
int access_log_reopen(void);

#endif
