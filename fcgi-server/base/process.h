/* SPDX-License-Identifier: MIT */
/*
 * process.h - the only place that forks and waits.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/* Runs <run> with <argument> in a new process, which ends with its result as exit
 * status. Returns the pid, or -1 with errno. */
pid_t process_start(int (*run)(void *argument), void *argument);

/* From now on process_end_copy() knows a copy of this process that foreign code forked. Called
 * once, before code of handlers runs. Returns 0, or -1 with errno. */
int process_note_copies(void);

/* Ends this process if it is such a copy, which would take events and requests of the child.
 * Call it after each call of foreign code. */
void process_end_copy(void);

/* The next child that has ended, and its wait status in <status>; 0 if there is
 * none (now, or at all). */
pid_t process_reap(int *status);

/* Waits for <pid>. Returns its wait status, -1 if <pid> is not a child. */
int process_wait(pid_t pid);

/* "exited with status 1", "was killed by SIGSEGV (core dumped)". */
void process_describe(int status, char *text, size_t size);

/* Kibibytes of memory that only <pid> uses; -1 if unknown. */
long process_private_kib(pid_t pid);

#endif
