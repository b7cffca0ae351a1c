/* SPDX-License-Identifier: MIT */
/* result.c - see result.h */
#include "load/result.h"

#include <string.h>

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
    return r->plan.rate_per_s > 0 || time_ns <= 0 ? 0 : r->bounds.sum_ns / time_ns;
}
