/* SPDX-License-Identifier: MIT */
/*
 * child_logs.h - the logs that children write by themselves: access log and slow log. The
 * master has the permissions, so it opens and reopens them and sends the descriptors to its
 * children. Writing never blocks: a line that a target does not take is lost and counted in
 * the status; the log says when losses begin and when they end.
 */
#ifndef CHILD_LOGS_H
#define CHILD_LOGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

enum child_log {
    CHILD_LOG_ACCESS = 0,
    CHILD_LOG_SLOW = 1,
    CHILD_LOG_COUNT = 2,
};

/* Opens what <config> asks for. Returns 0, or -1 with a message in <error> and errno: a log
 * that could not be opened stays what it was. */
int child_logs_open(const struct config *config, char *error, size_t error_size);

/* Opens the same again, for log rotation. Returns as child_logs_open(). */
int child_logs_reopen(char *error, size_t error_size);

/* Sets where lost lines are counted, and what is called when the peer of a log has gone (at
 * most once a second). Called in a child, once. */
void child_logs_setup(_Atomic uint64_t *lost, void (*gone)(void));

/* The descriptors of all logs, -1 for one that is not open. */
void child_logs_descriptors(int fds[static CHILD_LOG_COUNT]);

/* Uses <fds>, which the master has opened, from now on and owns them. */
void child_logs_take(const int fds[static CHILD_LOG_COUNT]);

/* Whether this log is configured. */
bool child_logs_wanted(enum child_log which);

/* Writes a line, which ends with a line end. */
void child_logs_put(enum child_log which, const char *line, size_t length);

/* Logs how many lines were lost since the last one was written. For the end of a child. */
void child_logs_tell(void);

#endif
