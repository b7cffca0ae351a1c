/* SPDX-License-Identifier: MIT */
/* report_text.c - the result for people. */
#include "load/clock.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR "################################################"

/* Microseconds in at most 8 characters. */
static const char *
duration(char *text, size_t size, double us)
{
    if (us < 1000)
        snprintf(text, size, "%.1f us", us);
    else if (us < 1e6)
        snprintf(text, size, "%.2f ms", us / 1e3);
    else
        snprintf(text, size, "%.3f s", us / 1e6);
    return text;
}

/* <r> is not NULL for the response times, which have lower bounds. */
static void
span_row(struct bytes *out, const char *name, const struct histogram *h, const struct result *r)
{
    static const double quantiles[] = {.5, .75, .9, .95, .99, .999};
    char text[32], cell[40];
    if (histogram_count(h) == 0)
        return;
    bytes_print(out, "  %-11s", name);
    bytes_print(out, " %10s", duration(text, sizeof(text), (double)histogram_min(h) / 1e3));
    bytes_print(out, " %10s", duration(text, sizeof(text), histogram_mean(h) / 1e3));
    bytes_print(out, " %10s", duration(text, sizeof(text), histogram_stdev(h) / 1e3));
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        struct figures_quantile q =
            r ? figures_response(r, quantiles[i]) : figures_quantile(h, quantiles[i]);
        snprintf(cell, sizeof(cell), "%s%s", q.at_least ? ">" : "",
                 duration(text, sizeof(text), q.us));
        bytes_print(out, " %10s", q.known ? cell : "n/a");
    }
    snprintf(cell, sizeof(cell), "%s%s", r && r->bounds.count > 0 ? ">" : "",
             duration(text, sizeof(text), (double)histogram_max(h) / 1e3));
    bytes_print(out, " %10s\n", cell);
}

/* Counts of values up to 1, 2, 5, 10 ... as bars. */
static void
picture(struct bytes *out, const struct histogram *h)
{
    static const double steps[] = {1, 2, 5};
    uint64_t bins[40] = {0}, most = 0;
    size_t bin = 0, first = 40, last = 0;
    double limit_ns = 1000;
    for (size_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
        while (bin < 39 && (double)histogram_slot_low(slot) > limit_ns) {
            bin++;
            limit_ns = steps[bin % 3] * 1000;
            for (size_t i = 0; i < bin / 3; i++)
                limit_ns *= 10;
        }
        uint64_t n = counter_get(&h->slot[slot]);
        bins[bin] += n;
        if (n == 0)
            continue;
        first = first == 40 ? bin : first;
        last = bin;
        most = bins[bin] > most ? bins[bin] : most;
    }
    bytes_print(out, "\n  responses within\n");
    for (bin = first; bin <= last; bin++) {
        char text[32];
        double limit_us = steps[bin % 3];
        for (size_t i = 0; i < bin / 3; i++)
            limit_us *= 10;
        int width = (int)(48.0 * (double)bins[bin] / (double)most + 0.5);
        bytes_print(out, "  %10s %12llu  %.*s\n", duration(text, sizeof(text), limit_us),
                    (unsigned long long)bins[bin], width, BAR);
    }
}

static void
latencies(struct bytes *out, const struct report *r)
{
    const struct tally *t = &r->result->tally;
    if (histogram_count(&r->result->response) == 0)
        return;
    bytes_print(out, "\n  %-11s %10s %10s %10s %10s %10s %10s %10s %10s %10s %10s\n", "", "min",
                "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p99.9", "max");
    for (int i = 0; i < SPANS; i++) {
        static const char *const names[SPANS] = {[SPAN_FIRST_BYTE] = "first byte",
                                                 [SPAN_IN_FLIGHT] = "in flight",
                                                 [SPAN_LAG] = "own lag"};
        const char *name = names[i] ? names[i] : tally_span_names[i];
        if (i == SPAN_RESPONSE)
            span_row(out, name, &r->result->response, r->result);
        else
            span_row(out, name, &t->span[i], NULL);
    }
    picture(out, &r->result->response);
}

static void
failures(struct bytes *out, const struct result *r)
{
    for (int i = 0; i < FAILURES; i++) {
        uint64_t n = counter_get(&r->tally.failed[i]);
        if (n > 0)
            bytes_print(out, "    %-9s %10llu  first: %s\n", tally_failure_names[i],
                        (unsigned long long)n, r->example[i].text);
    }
}

/* Requests that an open loop had to send: the first at once, at low rates the only one. */
static double
due(const struct result *r)
{
    double limit_s = (double)r->plan.duration_ns / NS_PER_S;
    double span_s = limit_s > 0 ? fmin(r->elapsed_s, limit_s) : r->elapsed_s;
    double n = fmax(1, ceil(r->plan.rate_per_s * span_s - 1e-6));
    return r->plan.requests > 0 ? fmin(n, (double)r->plan.requests) : n;
}

static void
requests(struct bytes *out, const struct report *r, const struct figures *f)
{
    const struct tally *t = &r->result->tally;
    bytes_print(out, "  requests    %llu started = %llu ok + %llu failed + %llu in flight\n",
                f->started, f->ok, f->failed, f->in_flight);
    failures(out, r->result);
    bytes_print(out, "  rate        %.1f ok/s over %.3f s", f->ok_per_s, f->elapsed_s);
    if (r->result->plan.rate_per_s > 0)
        bytes_print(out, "; %llu of %.0f due at %.10g/s sent (%.1f %%)", f->started, due(r->result),
                    r->result->plan.rate_per_s,
                    100 * figures_ratio((double)f->started, due(r->result)));
    bytes_print(out, "\n  received    %.2f MB, %.2f MB of bodies, %.2f MB/s\n",
                (double)counter_get(&t->received_bytes) / 1e6,
                (double)counter_get(&t->body_bytes) / 1e6,
                figures_ratio((double)counter_get(&t->received_bytes) / 1e6, f->elapsed_s));
    bytes_print(out, "  connections %llu opened, at most %llu together, %.1f busy on average\n",
                f->opened, (unsigned long long)r->result->peak_open,
                figures_ratio((double)counter_get(&t->busy_ns) / 1e9, f->elapsed_s));
    bool any = false;
    for (int i = 1; i < 6; i++) {
        if (counter_get(&t->status[i]) == 0)
            continue;
        bytes_print(out, "%s %dxx %llu", any ? "" : "  statuses   ", i, counter_get(&t->status[i]));
        any = true;
    }
    if (any)
        bytes_print(out, "\n");
    bytes_print(out, "  client      %.3f s CPU (%.2f us per request), busiest thread %.0f %%\n",
                r->result->cpu_s, f->cpu_us_per_request, r->result->busiest_thread * 100);
}

static void
events(struct bytes *out, const struct tally *t)
{
    bool any = false;
    for (int i = EVENT_REUSED + 1; i < EVENTS; i++) {
        uint64_t n = counter_get(&t->event[i]);
        if (n == 0)
            continue;
        bytes_print(out, "%s %s %llu", any ? "," : "  noted      ", tally_event_names[i],
                    (unsigned long long)n);
        any = true;
    }
    if (any)
        bytes_print(out, "\n");
}

static void
objectives(struct bytes *out, const struct report *r)
{
    for (size_t i = 0; i < r->slo->count; i++) {
        const struct slo_term *term = &r->slo->term[i];
        struct slo_outcome o = slo_check(term, r->result);
        char value[40] = "n/a, too few requests";
        if (result_stuck(r->result) > RESULT_STUCK)
            snprintf(value, sizeof(value), "n/a, requests never answered");
        if (o.known)
            slo_value(value, sizeof(value), term, o.value);
        bytes_print(out, "%s%-20s %-8s %s\n", i ? "              " : "\n  objectives  ", term->text,
                    o.held    ? "held"
                    : o.known ? "missed"
                              : "unknown",
                    value);
    }
    const struct search *s = r->search;
    if (s != NULL && s->rate_per_s > 0)
        bytes_print(out, "  find-max    %.1f/s is the highest rate that held, in %zu steps\n",
                    s->rate_per_s, s->count);
    else if (s != NULL && s->needs_s > 0)
        bytes_print(out,
                    "  find-max    no rate held before there were too few answers to judge by: "
                    "give -d %.0fs or more\n",
                    ceil(s->needs_s));
    else if (s != NULL)
        bytes_print(out, "  find-max    no rate held, in %zu steps\n", s->count);
}

void
report_text(struct bytes *out, const struct report *r)
{
    const struct options *o = r->options;
    const struct verdict *v = r->verdict;
    struct figures f;
    figures_of(&f, r->result);
    bytes_print(out, "%s\n", r->url);
    bytes_print(out, "  %s loop, %llu connection%s %s, %llu thread%s\n\n",
                r->result->plan.rate_per_s > 0 ? "open" : "closed",
                (unsigned long long)o->connections, o->connections == 1 ? "" : "s",
                o->keep_alive ? "kept" : "at a time, a new one for each request",
                (unsigned long long)o->threads, o->threads > 1 ? "s" : "");
    requests(out, r, &f);
    events(out, &r->result->tally);
    latencies(out, r);
    objectives(out, r);
    bytes_print(out, "\n  verdict     %s\n", verdict_names[v->grade]);
    for (size_t i = 0; i < v->count; i++)
        bytes_print(out, "    %s%s%s\n",
                    v->reason[i].grade ? verdict_names[v->reason[i].grade] : "",
                    v->reason[i].grade ? ": " : "", v->reason[i].text);
}
