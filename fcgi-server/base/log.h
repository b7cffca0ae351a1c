/* SPDX-License-Identifier: MIT */
/*
 * log.h - one line per event, to the target of --log. The master writes; a child sends its
 * lines to the master as messages, so that reopening and a full disk concern one process
 * only, and a handler cannot fake a line of the server. Nothing here
 * blocks: a line that cannot be written is dropped and counted, and the next line that can be
 * written is preceded by the count. All functions keep errno.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Opens <target> as log_target.h has it. Lines above <level> are dropped. Until the first
 * call lines go to standard error. Returns 0, or -1 with a message in <error> and errno; the
 * former target stays in use; without one, lines are lost and counted until the target can be
 * opened. */
int log_open(const char *target, enum log_level level, char *error, size_t error_size);

/* Opens the same target again, for log rotation. Returns as log_open(). */
int log_reopen(char *error, size_t error_size);

/* Writes what is kept for a slow target, as much as it takes now. Returns true when nothing
 * is left. */
bool log_flush(void);

/* Lines that this process and its children have lost. */
uint64_t log_lost(void);

/* From now on lines leave as messages through the socket <fd>. Called in a child, once. */
void log_become_child(int fd);

/* Logs the messages that have arrived at the master's end <fd> of the socket of child <pid>.
 * Returns 0, or -1 at their end. */
int log_read_child(int fd, int pid);

/* Logs one line that a handler in child <pid> printed, with time and pid if <decorate>.
 * Control characters become \xHH. */
void log_printed(int pid, const char *line, size_t length, bool decorate);

#endif
