/* SPDX-License-Identifier: MIT */
/*
 * run.h - one measured run: starts the threads that make load, watches over
 * them, and collects the result.
 */
#ifndef RUN_H
#define RUN_H

#include "load/result.h"

/* Runs <plan> and fills <result> (large: allocate it), which must be zeroed.
 * 0, or -1 with a reason in <message> when the run could not start. */
int run(struct result *result, const struct options *o, struct target *target,
        const struct plan *plan, char *message, size_t size);

/* Blocks the signals that end a run, for this thread and those it starts. */
void run_block_signals(void);

#endif
