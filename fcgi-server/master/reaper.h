/* SPDX-License-Identifier: MIT */
/*
 * reaper.h - reaps the processes that have ended, logs how, and lets their
 * successors start.
 */
#ifndef REAPER_H
#define REAPER_H

struct master;

/* Reaps all that have ended: reports and frees children, and passes the end of a check on
 * to reload.h. */
void reaper_run(struct master *master);

#endif
