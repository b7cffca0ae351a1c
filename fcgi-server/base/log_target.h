/* SPDX-License-Identifier: MIT */
/*
 * log_target.h - where a log goes. One table in log_target.c has every kind: standard output
 * and error and other inherited descriptors, syslog, pipes, sockets, files.
 *
 * Nothing here waits for a peer: not opening, not writing. What a target does not take now
 * is kept as far as there is room, and counted as lost beyond.
 */
#ifndef LOG_TARGET_H
#define LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the longest line, its end included. */
#define LOG_TARGET_LINE_MAX (8192 + 256)

struct log_target {
    const char *name; /* NULL: there is no such log */
    int fd;           /* above 2; -1: not open */
    bool socket;
    bool datagram;    /* one message for each line */
    bool syslog;      /* lines begin with what syslog wants */
    bool keeps_lines; /* whole lines may wait, not only the end of one */
    bool broken;      /* the peer has gone: worth opening again */
    int reason;       /* errno of the last loss */
    uint64_t lost;    /* lines; whoever tells it sets it to 0 */
    char *rest;       /* what waits to be written */
    size_t rest_used;
    size_t rest_size;
};

#define LOG_TARGET_NONE                                                                            \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Opens <name> in place of what <target> has open: a path, "stdout", "stderr" or "syslog";
 * NULL closes it. /dev/stdout, /dev/fd/N and the like mean the inherited descriptor, which is
 * never opened anew. <room>: bytes of whole lines that may wait (0: only the end of one
 * that was begun). Returns 0, or -1 with a message in <error> and errno; then what was open
 * stays, and <target> knows its name. */
int log_target_open(struct log_target *target, const char *name, size_t room, char *error,
                    size_t error_size);

/* Opens the same again, for log rotation, or because the peer has gone. Returns as
 * log_target_open(). An inherited descriptor stays what it was. */
int log_target_reopen(struct log_target *target, char *error, size_t error_size);

/* Whether opening failed, with <reason>, for want of a peer: it may come. */
bool log_target_may_come(int reason);

/* Takes over <fd>, which another process opened for this target. */
void log_target_take(struct log_target *target, int fd);

/* Writes <line>, which ends with a line end. Returns whether it went or waits; else it is
 * counted in <lost>. */
bool log_target_put(struct log_target *target, const char *line, size_t length);

/* Writes what waits, as far as it goes now. Returns whether nothing is left. */
bool log_target_flush(struct log_target *target);

/* The inherited descriptor that <name> means, or -1: it must stay open. */
int log_target_descriptor(const char *name);

#endif
