/* SPDX-License-Identifier: MIT */
/*
 * access_log.h - writes one line per request, made from a format.
 *
 * Format, after php-fpm's: %m method, %r path, %q query with its '?', %R remote
 * address, %u remote user, %s status, %o body bytes, %l content length, %d
 * duration in microseconds, %t local time, %T time of the start (ISO 8601), %p pid, %n pool,
 * %h handler, %{NAME}e FastCGI parameter, %% a percent sign. Values are escaped: quotes,
 * backslashes and control characters become \xHH.
 */
#ifndef ACCESS_LOG_H
#define ACCESS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

/* An answered request, as the engine describes it. <param> looks up a FastCGI
 * parameter of <request>; NULL results and a NULL <param> print as "-". */
struct access_entry {
    int status;
    uint64_t body_bytes;
    int64_t duration_ns;
    const char *handler;
    const char *(*param)(void *request, const char *name);
    void *request;
};

/* Compiles the format; child_logs.h has the target. Returns 0, or -1 with a message in
 * <error>. */
int access_log_open(const struct config *config, char *error, size_t error_size);

/* Whether there is an access log: lets an engine skip the work. */
bool access_log_wanted(void);

/* Writes one line. Never blocks. A line that cannot be written is counted as lost. */
void access_log_write(const struct access_entry *entry);

#endif
