/* SPDX-License-Identifier: MIT */
/*
 * backoff.h - what follows from a connect: after failures a growing pause, and
 * in the end the run gives up; after a success nobody waits longer.
 */
#ifndef BACKOFF_H
#define BACKOFF_H

#include "load/slots.h"

/* The slot's connect failed for good: it waits 5 ms, then twice as long each
 * time, up to 1 s. Ends the run when the server cannot be reached: no connect
 * has ever succeeded in one try of each slot, or none for 10 s. */
void backoff_failed(struct worker *w, struct connection *c);

/* The slot's connect succeeded. */
void backoff_succeeded(struct worker *w, struct connection *c);

#endif
