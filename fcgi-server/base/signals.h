/* SPDX-License-Identifier: MIT */
/*
 * signals.h - a signal is an event like any other: the event loop reads it from a
 * descriptor. Signals that the starter of this process had blocked or ignored are reset
 * first.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets ignored signals to their default, except SIGPIPE and SIGXFSZ (ignored), and blocks
 * exactly the signals that the server understands. For the start of a process; children
 * inherit it. */
void signals_reset(void);

/* For a process that runs foreign code, after it opened its descriptors: if that code unblocks
 * one of those signals, it is blocked again and still read from the descriptor. Timers that
 * the code leaves behind (ALRM, VTALRM, PROF) do not end the process. */
void signals_guard(void);

/* Lets TERM, INT and QUIT end the process while code runs that may hang (the configuration, the
 * start of handlers) and nothing needs cleaning up yet. */
void signals_let_end(bool let);

/* Restores the defaults that a program expects. Call it before execve(2). */
void signals_restore(void);

/* A non-blocking, close-on-exec descriptor that is readable when one of the
 * <count> signals is pending. Returns it, or -1 with errno. */
int signals_open(const int *numbers, size_t count);

/* The next pending signal of <fd>; 0 if there is none (or it cannot be read). */
int signals_read(int fd);

/* "TERM"; "?" for one that the server does not know. */
const char *signals_name(int number);

#endif
