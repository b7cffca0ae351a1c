/* SPDX-License-Identifier: MIT */
/* merge.c - see merge.h */
#include "report/merge.h"
#include "protocol/bytes.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Reads named members of <j> into parallel counters. */
static void
read_counters(struct counter *to, const char *const *names, size_t count, const struct json *j)
{
    for (size_t i = 0; i < count; i++)
        counter_add(&to[i], json_whole(json_member(j, names[i])));
}

/* 0, or -1 when the slots cannot be of our histogram. */
static int
read_histogram(struct histogram *to, const struct json *j)
{
    const struct json *slots = json_member(j, "slots");
    uint64_t count = 0;
    if (slots == NULL || slots->type != JSON_ARRAY)
        return -1;
    for (const struct json *i = slots->child; i != NULL; i = i->next->next) {
        if (i->next == NULL || json_whole(i) >= HISTOGRAM_SLOTS)
            return -1;
        counter_add(&to->slot[json_whole(i)], json_whole(i->next));
        count += json_whole(i->next);
    }
    if (count == 0)
        return 0;
    uint64_t max = json_whole(json_member(j, "max")), min = json_whole(json_member(j, "min"));
    counter_add(&to->count, count);
    counter_add(&to->sum, json_whole(json_member(j, "sum")));
    if (max > counter_get(&to->max))
        counter_set(&to->max, max);
    if (UINT64_MAX - min > counter_get(&to->min_inverse))
        counter_set(&to->min_inverse, UINT64_MAX - min);
    return 0;
}

static int
read_tally(struct tally *t, const struct json *j)
{
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    const struct json *requests = json_member(j, "requests"), *bytes = json_member(j, "bytes");
    const struct json *histograms = json_member(j, "histograms");
    counter_add(&t->started, json_whole(json_member(requests, "started")));
    counter_add(&t->ok, json_whole(json_member(requests, "ok")));
    counter_add(&t->in_flight, json_whole(json_member(requests, "in_flight")));
    read_counters(t->failed, tally_failure_names, FAILURES, json_member(j, "failures"));
    read_counters(t->event, tally_event_names, EVENTS, json_member(j, "events"));
    read_counters(t->status, classes, 6, json_member(j, "status"));
    counter_add(&t->received_bytes, json_whole(json_member(bytes, "received")));
    counter_add(&t->body_bytes, json_whole(json_member(bytes, "body")));
    counter_add(&t->sent_bytes, json_whole(json_member(bytes, "sent")));
    for (int i = 0; i < PAUSES; i++) {
        double s =
            json_number(json_member(json_member(j, "client_pauses_s"), tally_pause_names[i]));
        counter_add(&t->paused_ns[i], (uint64_t)llround(s * 1e9));
    }
    double busy_s = json_number(json_member(j, "connections_busy_mean")) *
                    json_number(json_member(j, "elapsed_s"));
    counter_add(&t->busy_ns, (uint64_t)(busy_s * 1e9));
    if (json_whole(json_member(histograms, "sub_bits")) != HISTOGRAM_SUB_BITS)
        return -1;
    for (int i = 0; i < SPANS; i++) {
        const struct json *h = json_member(histograms, tally_span_names[i]);
        bool newer = i == SPAN_IN_FLIGHT || i == SPAN_FAILED; /* not in files of version 1.0 */
        if (!(newer && h == NULL) && read_histogram(&t->span[i], h) == -1)
            return -1;
    }
    return 0;
}

static void
read_verdict(struct verdict *v, const struct json *j, const char *path)
{
    const char *grade = json_text(json_member(j, "verdict"));
    enum grade worst = VERDICT_VALID;
    for (int i = 0; i < 3; i++)
        if (strcmp(grade, verdict_names[i]) == 0)
            worst = (enum grade)i;
    const struct json *reasons = json_member(j, "reasons");
    for (const struct json *i = reasons ? reasons->child : NULL; i != NULL; i = i->next)
        verdict_object(v, worst, "%s: %s", path, json_text(i));
}

/* Hosts that did not load at the same time did not load together. */
static void
check_overlap(struct verdict *v, const struct result *r, const struct json *j, const char *path)
{
    double start = json_number(json_member(j, "started_at_unix_s"));
    double end = start + json_number(json_member(j, "elapsed_s"));
    double other_end = r->started_at_s + r->elapsed_s;
    double common =
        (end < other_end ? end : other_end) - (start > r->started_at_s ? start : r->started_at_s);
    if (r->started_at_s > 0 && common < 0.9 * r->elapsed_s)
        verdict_object(v, VERDICT_SUSPECT,
                       "%s did not run at the same time as the others: "
                       "the rates do not add up to one load",
                       path);
}

/* Files of version 1.0 do not say how long what was in flight had waited. */
static void
check_ages(struct verdict *v, const struct json *j, const char *path)
{
    uint64_t in_flight = json_whole(json_member(json_member(j, "requests"), "in_flight"));
    if (in_flight > 0 && json_member(json_member(j, "histograms"), "in_flight") == NULL)
        verdict_object(v, VERDICT_SUSPECT,
                       "%s: %llu requests were in flight at the end, and the file does not say for "
                       "how long: the percentiles leave them out",
                       path, (unsigned long long)in_flight);
}

static void
read_rest(struct result *r, struct options *o, const struct json *j)
{
    double elapsed = json_number(json_member(j, "elapsed_s"));
    double busiest = json_number(json_member(j, "client_busiest_thread"));
    const struct json *keep = json_member(j, "keep_alive");
    if (r->started_at_s == 0)
        r->started_at_s = json_number(json_member(j, "started_at_unix_s"));
    r->connections += json_whole(json_member(j, "connections"));
    r->elapsed_s = elapsed > r->elapsed_s ? elapsed : r->elapsed_s;
    r->busiest_thread = busiest > r->busiest_thread ? busiest : r->busiest_thread;
    double waited = json_number(json_member(j, "client_waited_for_cpu"));
    r->waited_for_cpu = waited > r->waited_for_cpu ? waited : r->waited_for_cpu;
    const struct json *interrupted = json_member(j, "interrupted");
    r->part_interrupted |= interrupted != NULL && interrupted->boolean;
    uint64_t warmup_ns = (uint64_t)llround(json_number(json_member(j, "warmup_s")) * 1e9);
    o->warmup_ns = warmup_ns > o->warmup_ns ? warmup_ns : o->warmup_ns;
    r->cpu_s += json_number(json_member(j, "client_cpu_s"));
    r->peak_open += json_whole(json_member(j, "connections_open_peak"));
    r->listen_drops += json_whole(json_member(j, "listen_drops"));
    r->plan.rate_per_s += json_number(json_member(j, "rate_per_s"));
    r->document_length = json_whole(json_member(j, "document_length"));
    snprintf(r->server, sizeof(r->server), "%s", json_text(json_member(j, "server")));
    o->connections += json_whole(json_member(j, "connections"));
    o->threads += json_whole(json_member(j, "threads"));
    o->keep_alive |= keep != NULL && keep->boolean;
    const char *url = json_text(json_member(j, "url"));
    if (o->url == NULL)
        o->url = bytes_duplicate(url, strlen(url));
    const struct json *examples = json_member(j, "examples");
    for (int i = 0; i < FAILURES; i++) {
        const char *text = json_text(json_member(examples, tally_failure_names[i]));
        if (*r->example[i].text == '\0')
            snprintf(r->example[i].text, sizeof(r->example[i].text), "%s", text);
    }
}

int
merge_distinct(char *const *paths, size_t count, char *message, size_t size)
{
    struct stat *seen = bytes_allocate(count, sizeof(*seen));
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (stat(paths[i], &seen[i]) == -1)
            continue; /* reading it will say why */
        for (size_t k = 0; k < i && result == 0; k++) {
            if (seen[k].st_ino != seen[i].st_ino || seen[k].st_dev != seen[i].st_dev)
                continue;
            snprintf(message, size, "%s and %s are one file: its requests would count twice",
                     paths[k], paths[i]);
            result = -1;
        }
    }
    free(seen);
    return result;
}

int
merge_file(struct result *result, struct options *options, struct verdict *verdict,
           const char *path, char *message, size_t size)
{
    struct bytes text = {0};
    if (bytes_read_file(&text, path) == -1) {
        snprintf(message, size, "%s: %s", path, strerror(errno));
        return -1;
    }
    struct json *j = json_parse(text.data);
    bytes_free(&text);
    bool good = json_whole(json_member(j, "schema")) == 1;
    if (good) {
        check_overlap(verdict, result, j, path);
        check_ages(verdict, j, path);
        good = read_tally(&result->tally, j) == 0;
        read_rest(result, options, j);
        read_verdict(verdict, j, path);
        result->accounting_closes = tally_closes(&result->tally);
        result_complete(result);
    }
    json_free(j);
    if (!good)
        snprintf(message, size, "%s: not a result of 'load-client -f json', or of another version",
                 path);
    return good ? 0 : -1;
}
