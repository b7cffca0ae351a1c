/* SPDX-License-Identifier: MIT */
/*
 * reaper.h - waits for the processes that have ended, says how, and lets their
 * successors start.
 */
#ifndef REAPER_H
#define REAPER_H

struct master;

/* Reaps all that have ended: children are reported and buried, the check of a reload
 * is handed to it. */
void reaper_run(struct master *master);

#endif
