/* SPDX-License-Identifier: MIT */
/*
 * signals.h - a signal is an event like any other: read from a descriptor, in the
 * order of the event loop. Nothing is inherited: whatever the starter had blocked
 * or ignored is undone first.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets what is ignored to its default, but SIGPIPE and SIGXFSZ (ignored), blocks the signals
 * that the server understands and no others. For the start of a process; children
 * inherit it. */
void signals_reset(void);

/* For a process that runs foreign code, once it has its descriptors: if that code lets one of
 * those signals through, it is held again and read from the descriptor all the same. Timers
 * that it leaves behind (ALRM, VTALRM, PROF) end nothing. */
void signals_guard(void);

/* While code runs that may take for ever (the configuration, the handlers' start), and
 * there is nothing yet to put in order: TERM, INT and QUIT end the process. */
void signals_let_end(bool let);

/* Before another program is run: everything as a program expects it. */
void signals_restore(void);

/* A non-blocking, close-on-exec descriptor that is readable when one of the
 * <count> signals is pending. Returns it, or -1 with errno. */
int signals_open(const int *numbers, size_t count);

/* The next pending signal of <fd>; 0 if there is none (or it cannot be read). */
int signals_read(int fd);

/* "TERM"; "?" for one that the server does not know. */
const char *signals_name(int number);

#endif
