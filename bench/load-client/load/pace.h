/* SPDX-License-Identifier: MIT */
/*
 * pace.h - when requests are meant to start in an open loop. Request number i
 * of the whole run belongs at start + i / rate, whatever became of the ones
 * before it. With several threads, thread k of j owns the numbers k, k + j,
 * k + 2j ..., so that the sends of all threads together are evenly spaced.
 */
#ifndef PACE_H
#define PACE_H

#include "load/clock.h"

#include <stdint.h>

struct pace {
    uint64_t start_ns;    /* of the run */
    double interval_ns;   /* between two requests of the whole run */
    uint64_t next_number; /* of the next request of this thread */
    uint64_t step;        /* threads in the run */
    uint64_t end_number;  /* numbers from here on are not sent */
};

/* The time that the next request is meant to start; NEVER_NS after the last. */
static inline uint64_t
pace_next_ns(const struct pace *p)
{
    if (p->next_number >= p->end_number)
        return NEVER_NS;
    return p->start_ns + (uint64_t)((double)p->next_number * p->interval_ns);
}

static inline void
pace_advance(struct pace *p)
{
    p->next_number += p->step;
}

/* The time that the request <n> behind the next one was meant to start. */
static inline uint64_t
pace_due_ns(const struct pace *p, uint64_t n)
{
    return p->start_ns + (uint64_t)((double)(p->next_number + n * p->step) * p->interval_ns);
}

/* How many requests of this thread were due at <now_ns> and are not taken yet. */
static inline uint64_t
pace_overdue(const struct pace *p, uint64_t now)
{
    uint64_t next = pace_next_ns(p);
    if (next > now)
        return 0;
    double due = (double)(now - p->start_ns) / p->interval_ns;
    uint64_t end = due + 1 < (double)p->end_number ? (uint64_t)due + 1 : p->end_number;
    return end <= p->next_number ? 0 : (end - p->next_number + p->step - 1) / p->step;
}

#endif
