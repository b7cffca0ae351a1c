/* SPDX-License-Identifier: MIT */
/* live.c - see live.h */
#include "load/live.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"
#define BAR_WIDTH  40

int
live_init(struct live *l, const struct shared *run, const struct worker *workers, size_t count,
          char *message, size_t size)
{
    *l = (struct live){.run = run, .worker = workers, .workers = count};
    const char *path = run->options->series;
    if (path != NULL && (l->series = fopen(path, "ae")) == NULL) {
        snprintf(message, size, "--series: %s: %s", path, strerror(errno));
        return -1;
    }
    l->lines = !run->plan.quiet;
    l->terminal = isatty(STDERR_FILENO);
    if (l->lines || l->series) {
        l->before = bytes_allocate(1, sizeof(*l->before));
        l->now = bytes_allocate(1, sizeof(*l->now));
        l->scratch = bytes_allocate(1, sizeof(*l->scratch));
    }
    return 0;
}

/* Sums the threads' tallies as they stand. */
static void
snapshot(struct live *l)
{
    struct tally *old = l->before;
    l->before = l->now;
    l->now = old;
    memset(l->now, 0, sizeof(*l->now));
    for (size_t i = 0; i < l->workers; i++)
        tally_add(l->now, l->worker[i].tally);
}

static uint64_t
since(const struct counter *now, const struct counter *before)
{
    return counter_get(now) - counter_get(before);
}

/* How much of the run is over, 0 to 1; by count or by time, what is further. */
static double
progress(const struct live *l, uint64_t now)
{
    const struct shared *run = l->run;
    double part = 0;
    if (run->plan.duration_ns && now > run->start_ns)
        part = (double)(now - run->start_ns) / (double)(run->stop_ns - run->start_ns);
    if (run->plan.requests) {
        double done = (double)(counter_get(&l->now->ok) + tally_failed(l->now));
        double by_count = done / (double)run->plan.requests;
        part = by_count > part ? by_count : part;
    }
    return part > 1 ? 1 : part;
}

static void
print_bar(double part, double seconds)
{
    int filled = (int)(part * BAR_WIDTH);
    double left = part > 0 ? seconds * (1 - part) / part : 0;
    fprintf(stderr, "[%.*s%*s] %3.0f %%, %.0f s left", filled,
            "########################################", BAR_WIDTH - filled, "", part * 100, left);
    fflush(stderr);
}

static void
print_line(struct live *l, uint64_t now, double seconds, uint64_t ok, uint64_t failed)
{
    const struct histogram *h = &l->scratch->span[SPAN_RESPONSE];
    double at = (double)(now - l->run->start_ns) / 1e9;
    if (l->terminal)
        fputs(ERASE_LINE, stderr); /* the bar of a second ago */
    if (l->last_ns == l->run->start_ns)
        fprintf(stderr, "%7s %10s %9s %7s %9s %9s %9s\n", "s", "ok/s", "failed", "open", "p50_ms",
                "p99_ms", "max_ms");
    fprintf(stderr, "%7.1f %10.0f %9llu %7llu", at, (double)ok / seconds,
            (unsigned long long)failed, counter_get(&l->now->open));
    if (histogram_count(h) > 0)
        fprintf(stderr, " %9.3f %9.3f %9.3f", (double)histogram_quantile(h, 0.5) / 1e6,
                (double)histogram_quantile(h, 0.99) / 1e6, (double)histogram_max(h) / 1e6);
    else
        fprintf(stderr, " %9s %9s %9s  %llu wait", "-", "-", "-", counter_get(&l->now->busy));
    fprintf(stderr, "%s\n", now < l->run->measure_ns ? "  warm-up" : "");
    if (l->terminal)
        print_bar(progress(l, now), at);
}

/* <name> in microseconds; null for an interval without an answer. */
static void
write_time(FILE *file, const char *name, const struct histogram *h, uint64_t ns)
{
    if (histogram_count(h) > 0)
        fprintf(file, ",\"%s\":%.3f", name, (double)ns / 1e3);
    else
        fprintf(file, ",\"%s\":null", name);
}

static void
write_series(struct live *l, uint64_t now, double seconds, uint64_t ok, uint64_t failed)
{
    const struct histogram *h = &l->scratch->span[SPAN_RESPONSE];
    fprintf(l->series,
            "{\"unix_s\":%.3f,\"elapsed_s\":%.3f,\"interval_s\":%.3f,\"warmup\":%s,\"ok\":%llu,"
            "\"failed\":%llu,\"ok_per_s\":%.1f,\"open\":%llu,\"in_flight\":%llu,"
            "\"received_bytes\":%llu",
            (double)clock_ns(CLOCK_REALTIME) / 1e9, (double)(now - l->run->start_ns) / 1e9, seconds,
            now < l->run->measure_ns ? "true" : "false", (unsigned long long)ok,
            (unsigned long long)failed, (double)ok / seconds, counter_get(&l->now->open),
            counter_get(&l->now->busy),
            (unsigned long long)since(&l->now->received_bytes, &l->before->received_bytes));
    write_time(l->series, "p50_us", h, histogram_quantile(h, 0.5));
    write_time(l->series, "p99_us", h, histogram_quantile(h, 0.99));
    write_time(l->series, "max_us", h, histogram_max(h));
    fprintf(l->series, ",\"slots\":[");
    const char *comma = "";
    for (size_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        if (counter_get(&h->slot[i]) == 0)
            continue;
        fprintf(l->series, "%s%zu,%llu", comma, i, counter_get(&h->slot[i]));
        comma = ",";
    }
    fprintf(l->series, "]}\n");
    if (fflush(l->series) != 0 && l->series_error == 0)
        l->series_error = errno;
}

void
live_tick(struct live *l)
{
    uint64_t now = clock_now_ns();
    if (l->now == NULL || now <= l->last_ns)
        return;
    snapshot(l);
    histogram_subtract(&l->scratch->span[SPAN_RESPONSE], &l->now->span[SPAN_RESPONSE],
                       &l->before->span[SPAN_RESPONSE]);
    double seconds = (double)(now - l->last_ns) / 1e9;
    uint64_t ok = since(&l->now->ok, &l->before->ok);
    uint64_t failed = tally_failed(l->now) - tally_failed(l->before);
    if (l->lines)
        print_line(l, now, seconds, ok, failed);
    if (l->series != NULL && l->series_error == 0)
        write_series(l, now, seconds, ok, failed);
    l->last_ns = now;
}

void
live_end(struct live *l)
{
    if (l->series != NULL) {
        live_tick(l);
        if (fclose(l->series) != 0 && l->series_error == 0)
            l->series_error = errno;
    }
    if (l->lines && l->terminal && l->last_ns > l->run->start_ns)
        fputs(ERASE_LINE, stderr);
    free(l->before);
    free(l->now);
    free(l->scratch);
}
