/* SPDX-License-Identifier: MIT */
/* report.c - see report.h: the figures, and which layout prints them. */
#include "report/report.h"

double
ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

void
report_figures(struct figures *f, const struct result *r)
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
    f->ok_per_s = ratio((double)f->ok, f->elapsed_s);
    f->done_per_s = ratio((double)f->done, f->elapsed_s);
    f->started_per_s = ratio((double)f->started, f->elapsed_s);
    f->cpu_us_per_request = ratio(r->cpu_s * 1e6, (double)f->done);
}

struct quantile
report_quantile(const struct histogram *h, double q)
{
    return (struct quantile){(double)histogram_quantile(h, q) / 1e3, histogram_knows(h, q)};
}

void
report_write(struct bytes *out, const struct report *r)
{
    static void (*const layouts[])(struct bytes *, const struct report *) = {
        [FORMAT_TEXT] = report_text, [FORMAT_JSON] = report_json,   [FORMAT_CSV] = report_csv,
        [FORMAT_AB] = report_ab,     [FORMAT_SIEGE] = report_siege,
    };
    layouts[r->options->format](out, r);
}
