/* SPDX-License-Identifier: MIT */
/* result.c - see result.h */
#include "load/result.h"

#include <string.h>

/* Values of <h> in slots above the greatest of <limit>. */
static struct histogram_bounds
beyond(const struct histogram *h, const struct histogram *limit)
{
    struct histogram_bounds found = {0};
    size_t from = histogram_count(limit) > 0 ? histogram_slot(histogram_max(limit)) + 1 : 0;
    for (size_t slot = from; slot < HISTOGRAM_SLOTS; slot++) {
        found.count += counter_get(&h->slot[slot]);
        found.sum_ns += (double)counter_get(&h->slot[slot]) * (double)histogram_slot_low(slot);
    }
    return found;
}

void
result_complete(struct result *r)
{
    const struct histogram *span = r->tally.span;
    memset(&r->cut, 0, sizeof(r->cut));
    memset(&r->response, 0, sizeof(r->response));
    r->bounds = (struct histogram_bounds){0};
    histogram_add(&r->cut, &span[SPAN_IN_FLIGHT]);
    if (counter_get(&r->tally.ok) > 0)
        histogram_add(&r->cut, &span[SPAN_FAILED]);
    histogram_add(&r->response, &span[SPAN_RESPONSE]);
    histogram_add_cut(&r->response, &r->cut, &r->bounds);
    r->stuck = beyond(&span[SPAN_IN_FLIGHT], &span[SPAN_RESPONSE]);
}

bool
result_knows(const struct result *r, double quantile)
{
    double known = (double)(histogram_count(&r->tally.span[SPAN_RESPONSE]) + r->bounds.count);
    return known * (1 - quantile) >= HISTOGRAM_BEYOND - 1e-6;
}

double
result_stuck(const struct result *r)
{
    double time_ns = r->elapsed_s * 1e9 * (double)r->connections;
    return r->plan.rate_per_s > 0 || time_ns <= 0 ? 0 : r->stuck.sum_ns / time_ns;
}
