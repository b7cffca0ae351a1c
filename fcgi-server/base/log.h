/* SPDX-License-Identifier: MIT */
/*
 * log.h - one line per event, to a file, standard error or syslog. The master
 * writes; children send their lines to the master through their standard error,
 * so that reopening and a full disk concern one process only. Nothing here
 * blocks: a line that cannot be written now is dropped and counted, and the
 * number is told with the next one that can. All functions keep errno.
 */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>

enum log_level {
    LOG_LEVEL_ERROR = 0,
    LOG_LEVEL_WARN = 1,
    LOG_LEVEL_NOTICE = 2,
    LOG_LEVEL_INFO = 3,
    LOG_LEVEL_DEBUG = 4,
};

/* One line of text without a line end; control characters become '?'. A line over
 * 8 KiB is cut and marked. */
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

#define log_error(...)  log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)   log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)  log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Opens <target>: a path, "stderr" or "syslog". Lines above <level> are dropped.
 * Until the first call lines go to standard error. Returns 0, or -1 with errno
 * and the former target still in force. */
int log_open(const char *target, enum log_level level);

/* Opens the same target again, for log rotation. Returns as log_open(). */
int log_reopen(void);

/* From now on lines leave through standard error in the form that the master's
 * log_relay() understands. Called in a child, once. */
void log_become_child(void);

/* Writes one line that child <pid> printed: its own log lines as they are, other
 * output decorated with time and pid if <decorate>. */
void log_relay(int pid, const char *line, size_t length, int decorate);

#endif
