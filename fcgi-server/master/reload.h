/* SPDX-License-Identifier: MIT */
/*
 * reload.h - HUP and USR2: checks the new configuration, handlers and (USR2) binary
 * in a process of their own, then switches to them; see succession.h. A failed check
 * leaves everything as it was and says why. One at a time: a signal that comes
 * meanwhile is remembered.
 */
#ifndef RELOAD_H
#define RELOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct master;

/* Starts the check. */
void reload_begin(struct master *master, bool upgrade);

/* The check has printed something. */
void reload_output(struct master *master);

/* <pid>, which does not belong to the pool, has ended. If it was a check that passed, the
 * program is replaced and this does not return. */
void reload_ended(struct master *master, pid_t pid, int status);

/* Begins a reload that had to wait, if it can begin now. */
void reload_retry(struct master *master);

/* Kills a check that has run for too long. Returns its deadline; 0: none runs. */
int64_t reload_ladder(struct master *master, int64_t now_ms);

/* Kills a running check, because the server stops. */
void reload_abandon(struct master *master);

#endif
