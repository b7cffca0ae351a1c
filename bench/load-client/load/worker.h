/* SPDX-License-Identifier: MIT */
/*
 * worker.h - one thread of load: its loop, and which slot sends what when.
 */
#ifndef WORKER_H
#define WORKER_H

#include "load/slots.h"

/* Prepares a worker with <connections> slots, of which <before> stand before it
 * in the whole run. 0, or -1 with errno. */
int worker_init(struct worker *w, struct shared *run, unsigned number, size_t connections,
                size_t before, int done_fd);

/* The thread: makes load until the run ends. <argument> is the worker. */
void *worker_main(void *argument);

void worker_free(struct worker *w);

#endif
