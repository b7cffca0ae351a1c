/* SPDX-License-Identifier: MIT */
/*
 * child.h - the life of a child: one chain of steps after the fork, then its
 * engine until it is told to end.
 *
 * Signals of a child, read from a descriptor between requests:
 *     QUIT  drain: pass kept connections to the siblings and end
 *     TERM  close: the whole server stops; a second TERM ends at once
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

/* Lives and ends. Returns the exit status for _exit(2): 0, 1 when it could not
 * go on (the reason is logged), or what the engine says. */
int child_live(const struct heritage *heritage);

/* Does what a child does before it serves, in a process made for that: privileges,
 * then all handlers. Ends with its <parent>. Returns 0, or -1 with a reason. */
int child_probe(const struct config *config, pid_t parent, char *error, size_t error_size);

#endif
