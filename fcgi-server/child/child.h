/* SPDX-License-Identifier: MIT */
/*
 * child.h - the life of a child: a chain of steps after the fork, then its
 * engine until an order to end.
 *
 * Signals of a child, read from a descriptor between requests:
 *     QUIT  drain: pass kept connections to other children, then end
 *     TERM  close: the whole server stops; a second TERM ends the child at once
 *     USR2  end at once
 *     USR1  open the access log again
 * INT, TTIN and TTOU are the master's; without a master INT means TERM. When the
 * master dies, a child closes within the stop timeout (PR_SET_PDEATHSIG).
 */
#ifndef CHILD_H
#define CHILD_H

#include <stddef.h>
#include <sys/types.h>

struct config;
struct heritage;

/* Runs the child until its end. Returns the exit status for _exit(2): 0, 1 when it could not
 * continue (the reason is logged), or the status of the engine. */
int child_live(const struct heritage *heritage);

/* Does what a child does before it serves, in a process made for the check: privileges,
 * then all handlers. The process ends when <parent> ends. Returns 0, or -1 with a reason. */
int child_probe(const struct config *config, pid_t parent, char *error, size_t error_size);

#endif
