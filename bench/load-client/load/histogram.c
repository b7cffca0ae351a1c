/* SPDX-License-Identifier: MIT */
/* histogram.c - see histogram.h. Pure arithmetic, no I/O. */
#include "load/histogram.h"

#include <math.h>

uint64_t
histogram_slot_low(size_t slot)
{
    if (slot < (2u << HISTOGRAM_SUB_BITS))
        return slot;
    unsigned shift = (unsigned)(slot >> HISTOGRAM_SUB_BITS) - 1;
    return (uint64_t)(slot - ((size_t)shift << HISTOGRAM_SUB_BITS)) << shift;
}

uint64_t
histogram_slot_high(size_t slot)
{
    return histogram_slot_low(slot + 1) - 1;
}

void
histogram_add(struct histogram *to, const struct histogram *from)
{
    counter_add(&to->count, counter_get(&from->count));
    counter_add(&to->sum, counter_get(&from->sum));
    if (counter_get(&from->max) > counter_get(&to->max))
        counter_set(&to->max, counter_get(&from->max));
    if (counter_get(&from->min_inverse) > counter_get(&to->min_inverse))
        counter_set(&to->min_inverse, counter_get(&from->min_inverse));
    for (size_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        uint64_t n = counter_get(&from->slot[i]);
        if (n > 0)
            counter_add(&to->slot[i], n);
    }
}

#define GOLDEN 0.6180339887498949 /* its multiples, modulo one, are spread evenly */

/* Adds <n> values to the <above> values in slots over <slot>, evenly among them:
 * value k at the share (k + offset) / n of them. */
static void
spread(struct histogram *to, size_t slot, uint64_t n, uint64_t above, double offset)
{
    uint64_t seen = 0, placed = 0;
    while (placed < n) {
        seen += counter_get(&to->slot[++slot]);
        double share = (double)seen / (double)above * (double)n;
        uint64_t due = seen == above ? n : (uint64_t)(share + 1 - offset);
        uint64_t middle = (histogram_slot_low(slot) + histogram_slot_high(slot)) / 2;
        counter_add(&to->slot[slot], due - placed);
        counter_add(&to->sum, (due - placed) * middle);
        placed = due;
    }
    counter_add(&to->count, n);
}

void
histogram_add_cut(struct histogram *to, const struct histogram *cut,
                  struct histogram_bounds *bounds)
{
    uint64_t above = 0; /* values of <to> in greater slots */
    uint64_t held = 0;  /* ages that the same values outlast */
    uint64_t max = histogram_max(cut);
    double offset = 0.5;
    size_t last = HISTOGRAM_SLOTS; /* 1 + the last slot of a whole time */
    while (last > 0 && counter_get(&to->slot[last - 1]) == 0)
        last--;
    for (size_t slot = HISTOGRAM_SLOTS; slot-- > 0;) {
        uint64_t n = counter_get(&cut->slot[slot]), high = histogram_slot_high(slot);
        uint64_t here = counter_get(&to->slot[slot]);
        if (slot + 1 >= last) {
            histogram_record_many(to, high < max ? high : max, n);
            bounds->count += n;
            bounds->sum_ns += (double)n * (double)histogram_slot_low(slot);
            above += here + n;
            continue;
        }
        held += n;
        if (held > 0 && (here > 0 || slot == 0)) {
            spread(to, slot, held, above, offset);
            above += held;
            offset += offset + GOLDEN < 1 ? GOLDEN : GOLDEN - 1;
            held = 0;
        }
        above += here;
    }
}

void
histogram_subtract(struct histogram *to, const struct histogram *now,
                   const struct histogram *before)
{
    uint64_t count = 0, max = 0, min = UINT64_MAX;
    for (size_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        uint64_t n = counter_get(&now->slot[i]) - counter_get(&before->slot[i]);
        counter_set(&to->slot[i], n);
        if (n == 0)
            continue;
        count += n;
        max = histogram_slot_high(i);
        if (min == UINT64_MAX)
            min = histogram_slot_low(i);
    }
    counter_set(&to->sum, counter_get(&now->sum) - counter_get(&before->sum));
    counter_set(&to->count, count);
    counter_set(&to->max, max);
    counter_set(&to->min_inverse, UINT64_MAX - min);
}

unsigned long long
histogram_min(const struct histogram *h)
{
    uint64_t inverse = counter_get(&h->min_inverse);
    return histogram_count(h) > 0 ? UINT64_MAX - inverse : 0;
}

double
histogram_mean(const struct histogram *h)
{
    uint64_t count = histogram_count(h);
    return count > 0 ? (double)counter_get(&h->sum) / (double)count : 0;
}

double
histogram_stdev(const struct histogram *h)
{
    double mean = histogram_mean(h), squares = 0, count = 0;
    for (size_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        double n = (double)counter_get(&h->slot[i]);
        if (n == 0)
            continue;
        double middle = ((double)histogram_slot_low(i) + (double)histogram_slot_high(i)) / 2;
        squares += n * (middle - mean) * (middle - mean);
        count += n;
    }
    return count > 0 ? sqrt(squares / count) : 0;
}

unsigned long long
histogram_quantile(const struct histogram *h, double quantile)
{
    uint64_t count = histogram_count(h), seen = 0;
    /* The small step down keeps 0.99 * 1000 at rank 990 in binary arithmetic. */
    double exact = ceil(quantile * (double)count - 1e-6);
    uint64_t rank = exact < 1 ? 1 : (uint64_t)exact;
    for (size_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        seen += counter_get(&h->slot[i]);
        if (seen >= rank) {
            uint64_t high = histogram_slot_high(i), max = histogram_max(h);
            return high < max && i < HISTOGRAM_SLOTS - 1 ? high : max;
        }
    }
    return histogram_max(h);
}

int
histogram_knows(const struct histogram *h, double quantile)
{
    return (double)histogram_count(h) * (1 - quantile) >= HISTOGRAM_BEYOND - 1e-6;
}
