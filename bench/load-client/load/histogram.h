/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - log-linear histogram of times, in nanoseconds.
 *
 * A value below 2048 has a slot of its own. Above, each power of two is cut
 * into 1024 slots of equal width, so that a slot is never wider than 1/1024 of
 * its values: every figure read back is at most 0.098 % above the recorded
 * one, never below. The range ends at 2^45 ns (9.7 hours); greater values are
 * counted in the last slot, and the exact maximum is kept beside.
 *
 * One thread records; others may read meanwhile (they see each count whole,
 * perhaps a moment old). Adding histograms slot by slot is exact, which is how
 * threads and hosts are merged; percentiles are never averaged.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "load/counter.h"

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_SUB_BITS 10
#define HISTOGRAM_MAX_BITS 45
#define HISTOGRAM_SLOTS    ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* All zero is an empty histogram: calloc() makes a valid one, and pages of
 * slots that are never used cost nothing. */
struct histogram {
    struct counter count;       /* recorded values */
    struct counter sum;         /* of the values, exact */
    struct counter max;         /* exact */
    struct counter min_inverse; /* UINT64_MAX - min, so that zero means "none yet" */
    struct counter slot[HISTOGRAM_SLOTS];
};

/* The slot of <value_ns>: 0 .. HISTOGRAM_SLOTS - 1. */
static inline size_t
histogram_slot(uint64_t value_ns)
{
    if (value_ns < (UINT64_C(1) << HISTOGRAM_SUB_BITS))
        return value_ns;
    if (value_ns >> HISTOGRAM_MAX_BITS)
        return HISTOGRAM_SLOTS - 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value_ns) - HISTOGRAM_SUB_BITS;
    return ((size_t)shift << HISTOGRAM_SUB_BITS) + (value_ns >> shift);
}

/* The least and the greatest value that share slot <slot>. */
uint64_t histogram_slot_low(size_t slot);
uint64_t histogram_slot_high(size_t slot);

/* Records one value <n> times; 0 times records nothing. */
static inline void
histogram_record_many(struct histogram *h, uint64_t value_ns, uint64_t n)
{
    if (n == 0)
        return;
    counter_add(&h->count, n);
    counter_add(&h->sum, value_ns * n);
    if (value_ns > counter_get(&h->max))
        counter_set(&h->max, value_ns);
    if (UINT64_MAX - value_ns > counter_get(&h->min_inverse))
        counter_set(&h->min_inverse, UINT64_MAX - value_ns);
    counter_add(&h->slot[histogram_slot(value_ns)], n);
}

/* Records one value. */
static inline void
histogram_record(struct histogram *h, uint64_t value_ns)
{
    histogram_record_many(h, value_ns, 1);
}

/* Adds all of <from> to <to>; exact. */
void histogram_add(struct histogram *to, const struct histogram *from);

/* Values that are known as lower bounds only, and their sum. */
struct histogram_bounds {
    uint64_t count;
    double sum_ns;
};

/* Adds to <to>, which holds whole times, the times of requests that were cut
 * off: of each, only the age in <cut> is known, so it took longer. It counts
 * as one of the greater values, which ones being spread evenly over all of
 * them; where there is none, its age stands in and is counted in <bounds>. The
 * percentiles are those of the Kaplan-Meier estimate, by the redistribution to
 * the right of Efron (1967): an age neither lowers a percentile nor is left
 * out of one. */
void histogram_add_cut(struct histogram *to, const struct histogram *cut,
                       struct histogram_bounds *bounds);

/* Puts into <to> what <now> holds more than <before>, an earlier copy of the
 * same histogram. Minimum and maximum come from the slots, within a slot's
 * width. <to> may be either argument. */
void histogram_subtract(struct histogram *to, const struct histogram *now,
                        const struct histogram *before);

unsigned long long histogram_min(const struct histogram *h); /* 0 when empty */

static inline unsigned long long
histogram_max(const struct histogram *h) /* 0 when empty */
{
    return counter_get(&h->max);
}

static inline unsigned long long
histogram_count(const struct histogram *h)
{
    return counter_get(&h->count);
}

/* Arithmetic mean in nanoseconds, exact; 0 when empty. */
double histogram_mean(const struct histogram *h);

/* Standard deviation of the population, from the slots' middles; 0 when empty. */
double histogram_stdev(const struct histogram *h);

/* The value at or below which <quantile> (0 to 1) of all values lie, by the
 * nearest-rank definition: the slot that holds value number ceil(q * count),
 * its upper end, at most the exact maximum. 0 when empty. */
unsigned long long histogram_quantile(const struct histogram *h, double quantile);

#define HISTOGRAM_BEYOND 10 /* values that must lie above a quantile */

/* Are there enough values for <quantile> to mean something? Ten values must
 * lie above it (1,000 values for p99): with fewer, one straggler moves it. */
int histogram_knows(const struct histogram *h, double quantile);

#endif
