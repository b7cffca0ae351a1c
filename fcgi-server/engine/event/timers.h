/* SPDX-License-Identifier: MIT */
/*
 * timers.h - a binary heap of deadlines. Timers belong to their users; the heap
 * only points to them, and allocates only when more timers are set than ever before.
 */
#ifndef TIMERS_H
#define TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    size_t place;  /* in the heap, from 1; 0: not set */
};

struct timers {
    struct timer **heap;
    size_t count;
    size_t size;
};

/* Sets <timer>, which may be set already, to <at_ns>. Returns 0, or -1 when out of
 * memory (only if it was not set). */
int timers_set(struct timers *timers, struct timer *timer, int64_t at_ns);

/* Removes <timer>; does nothing if it is not set. */
void timers_clear(struct timers *timers, struct timer *timer);

/* The earliest one, or NULL. */
struct timer *timers_first(const struct timers *timers);

void timers_free(struct timers *timers);

#endif
