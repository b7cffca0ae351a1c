/* SPDX-License-Identifier: MIT */
/*
 * log_target.h - where a log goes. One table in log_target.c has every kind: standard output,
 * standard error and other inherited descriptors, syslog, pipes, sockets, files.
 *
 * Neither opening nor writing waits for a peer. What a target does not take now is kept while
 * there is room; beyond that, lines are counted as lost.
 */
#ifndef LOG_TARGET_H
#define LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the longest line, its end included. */
#define LOG_TARGET_LINE_MAX (8192 + 256)

struct log_target {
    const char *name; /* NULL: this log is off */
    int fd;           /* above 2; -1: not open */
    bool socket;
    bool datagram;    /* one message for each line */
    bool syslog;      /* lines begin with the head of syslog */
    bool keeps_lines; /* keeps whole lines, not only the rest of a line */
    bool broken;      /* the peer has gone: open it again later */
    int reason;       /* errno of the last loss */
    uint64_t lost;    /* lines; whoever reports the number resets it */
    char *rest;       /* bytes still to be written */
    size_t rest_used;
    size_t rest_size;
};

#define LOG_TARGET_NONE                                                                            \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Opens <name> in place of what <target> has open: a path, "stdout", "stderr" or "syslog";
 * NULL closes it. /dev/stdout, /dev/fd/N and the like mean the inherited descriptor, which is
 * never opened anew. <room>: bytes of whole lines that may be kept (0: only the rest of a
 * line that was begun). Returns 0, or -1 with a message in <error> and errno; then what was open
 * stays open, and <target> has the new name. */
int log_target_open(struct log_target *target, const char *name, size_t room, char *error,
                    size_t error_size);

/* Opens the same again, for log rotation, or because the peer has gone. Returns as
 * log_target_open(). An inherited descriptor stays open. */
int log_target_reopen(struct log_target *target, char *error, size_t error_size);

/* Whether opening failed with <reason> because the peer is absent, and may come later. */
bool log_target_may_come(int reason);

/* Takes over <fd>, which another process opened for this target. */
void log_target_take(struct log_target *target, int fd);

/* Writes <line>, which ends with a line end. Returns true if it was written or kept; else it is
 * counted in <lost>. */
bool log_target_put(struct log_target *target, const char *line, size_t length);

/* Writes what is kept, as much as the target takes now. Returns true when nothing is left. */
bool log_target_flush(struct log_target *target);

/* The inherited descriptor that <name> means and that must stay open; -1 for any other name. */
int log_target_descriptor(const char *name);

#endif
