/* SPDX-License-Identifier: MIT */
/*
 * standby.h - a program that passed its check may still hang, or end, once it has taken
 * the master's place. A copy of the former master stands by until the new one has
 * begun; if it does not within check_timeout, the copy ends it and takes its place,
 * with the same socket, under its own pid. Former children finish what they have.
 */
#ifndef STANDBY_H
#define STANDBY_H

#include "master/succession.h"

struct master;

/* Starts the copy, just before succession_exec(). Returns 0, or -1 with errno. */
int standby_start(struct standby *standby, struct master *master);

/* The program begins, or could not be run: there is nothing more to stand by for.
 * Returns when the copy has ended. */
void standby_release(struct standby *standby);

#endif
