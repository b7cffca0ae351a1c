/* SPDX-License-Identifier: MIT */
/*
 * standby.h - a program that passed its check may still hang or end once it has taken
 * the place of the master. A copy of the former master waits until the new one has started.
 * If that does not happen within check_timeout, the copy kills it and takes its place, with
 * the same socket, under its own pid. Former children finish their requests.
 */
#ifndef STANDBY_H
#define STANDBY_H

#include "master/succession.h"

struct master;

/* Starts the copy, just before succession_exec(). Returns 0, or -1 with errno. */
int standby_start(struct standby *standby, struct master *master);

/* Ends the copy, because the program has started or could not be run. Returns when the copy
 * has ended. */
void standby_release(struct standby *standby);

#endif
