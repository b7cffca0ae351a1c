/* SPDX-License-Identifier: MIT */
/*
 * master_signals.h - what each signal makes the master do: stop, reload, reopen
 * the logs, change the number of children, reap.
 */
#ifndef MASTER_SIGNALS_H
#define MASTER_SIGNALS_H

struct master;

/* Blocks the signals that the master reacts to. Returns a signalfd for them, or -1. */
int master_signals_open(void);

/* Handles the signals that arrived since the last call. */
void master_signals_read(struct master *master);

#endif
