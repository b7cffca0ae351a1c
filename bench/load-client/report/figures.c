/* SPDX-License-Identifier: MIT */
/* figures.c - see figures.h */
#include "report/figures.h"

double
figures_ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

void
figures_of(struct figures *f, const struct result *r)
{
    const struct tally *t = &r->tally;
    *f = (struct figures){
        .started = counter_get(&t->started),
        .ok = counter_get(&t->ok),
        .failed = tally_failed(t),
        .in_flight = counter_get(&t->in_flight),
        .elapsed_s = r->elapsed_s,
        .opened = counter_get(&t->event[EVENT_OPENED]),
    };
    f->done = f->ok + f->failed;
    f->ok_per_s = figures_ratio((double)f->ok, f->elapsed_s);
    f->done_per_s = figures_ratio((double)f->done, f->elapsed_s);
    f->started_per_s = figures_ratio((double)f->started, f->elapsed_s);
    f->cpu_us_per_request = figures_ratio(r->cpu_s * 1e6, (double)f->done);
}

struct figures_quantile
figures_quantile(const struct histogram *h, double q)
{
    return (struct figures_quantile){(double)histogram_quantile(h, q) / 1e3, histogram_knows(h, q),
                                     false};
}

struct figures_quantile
figures_response(const struct result *r, double q)
{
    unsigned long long value = histogram_quantile(&r->response, q);
    bool at_least = r->bounds.count > 0 && value > histogram_max(&r->tally.span[SPAN_RESPONSE]);
    return (struct figures_quantile){(double)value / 1e3, result_knows(r, q), at_least};
}
