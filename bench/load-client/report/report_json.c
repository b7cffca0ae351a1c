/* SPDX-License-Identifier: MIT */
/*
 * report_json.c - the result for programs. Units are in the names; figures
 * that cannot be known from so few requests are null. The histograms are whole
 * (pairs of slot and count), so that results can be merged exactly.
 */
#include "report/json.h"
#include "report/report.h"

#include <string.h>

#define SCHEMA 1

/* {"a":1,"b":2} from parallel arrays. */
static void
object(struct bytes *out, const char *const *names, const struct counter *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes_print(out, "%s\"%s\":%llu", i ? "," : "{", names[i], counter_get(&values[i]));
    bytes_print(out, "}");
}

/* <r> is not NULL for the response times, which have lower bounds. */
static void
span(struct bytes *out, const char *name, const struct histogram *h, const struct result *r)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"p50", .5},  {"p75", .75}, {"p90", .9},
                     {"p95", .95}, {"p99", .99}, {"p999", .999}};
    bytes_print(out, "\"%s_us\":{\"count\":%llu,\"min\":%.3f,\"mean\":%.3f,\"stdev\":%.3f", name,
                histogram_count(h), (double)histogram_min(h) / 1e3, histogram_mean(h) / 1e3,
                histogram_stdev(h) / 1e3);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        struct figures_quantile q =
            r ? figures_response(r, quantiles[i].q) : figures_quantile(h, quantiles[i].q);
        if (q.known)
            bytes_print(out, ",\"%s\":%.3f", quantiles[i].name, q.us);
        else
            bytes_print(out, ",\"%s\":null", quantiles[i].name);
    }
    bytes_print(out, ",\"max\":%.3f}", (double)histogram_max(h) / 1e3);
}

static void
histograms(struct bytes *out, const struct tally *t)
{
    bytes_print(out, "\"histograms\":{\"sub_bits\":%d,\"unit\":\"ns\"", HISTOGRAM_SUB_BITS);
    for (int i = 0; i < SPANS; i++) {
        const struct histogram *h = &t->span[i];
        bytes_print(out, ",\"%s\":{\"sum\":%llu,\"min\":%llu,\"max\":%llu,\"slots\":[",
                    tally_span_names[i], counter_get(&h->sum), histogram_min(h), histogram_max(h));
        const char *comma = "";
        for (size_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
            if (counter_get(&h->slot[slot]) == 0)
                continue;
            bytes_print(out, "%s%zu,%llu", comma, slot, counter_get(&h->slot[slot]));
            comma = ",";
        }
        bytes_print(out, "]}");
    }
    bytes_print(out, "}");
}

static void
verdict(struct bytes *out, const struct verdict *v)
{
    bytes_print(out, "\"verdict\":\"%s\",\n\"reasons\":[", verdict_names[v->grade]);
    const char *comma = "";
    for (int notes = 0; notes < 2; notes++) {
        for (size_t i = 0; i < v->count; i++) {
            if ((v->reason[i].grade == VERDICT_VALID) != notes)
                continue;
            bytes_print(out, "%s", comma);
            json_quote(out, v->reason[i].text);
            comma = ",";
        }
        bytes_print(out, notes ? "]" : "],\n\"notes\":[");
        comma = "";
    }
}

static void
examples(struct bytes *out, const struct result *r)
{
    const char *comma = "";
    bytes_print(out, "\"examples\":{");
    for (int i = 0; i < FAILURES; i++) {
        if (*r->example[i].text == '\0')
            continue;
        bytes_print(out, "%s\"%s\":", comma, tally_failure_names[i]);
        json_quote(out, r->example[i].text);
        comma = ",";
    }
    bytes_print(out, "}");
}

static void
what(struct bytes *out, const struct report *r)
{
    const struct options *o = r->options;
    const struct result *result = r->result;
    bytes_print(
        out, "{\"schema\":%d,\n\"client\":\"load-client " CLIENT_VERSION "\",\n\"url\":", SCHEMA);
    json_quote(out, r->url);
    bytes_print(out,
                ",\n\"mode\":\"%s\",\n\"rate_per_s\":%.10g,\n\"connections\":%llu,\n"
                "\"threads\":%llu,\n\"keep_alive\":%s,\n\"warmup_s\":%.3f,\n"
                "\"started_at_unix_s\":%.6f,\n\"server\":",
                result->plan.rate_per_s > 0 ? "open" : "closed", result->plan.rate_per_s,
                (unsigned long long)o->connections, (unsigned long long)o->threads,
                o->keep_alive ? "true" : "false", (double)o->warmup_ns / 1e9, result->started_at_s);
    json_quote(out, strcmp(result->server, "-") ? result->server : "");
    bytes_print(out, ",\n\"document_length\":%llu,\n\"interrupted\":%s,\n",
                (unsigned long long)result->document_length,
                result->interrupted || result->part_interrupted ? "true" : "false");
}

static void
objectives(struct bytes *out, const struct report *r)
{
    bytes_print(out, "\"slo\":[");
    for (size_t i = 0; i < r->slo->count; i++) {
        struct slo_outcome o = slo_check(&r->slo->term[i], r->result);
        char value[32] = "n/a";
        if (o.known)
            slo_value(value, sizeof(value), &r->slo->term[i], o.value);
        bytes_print(out, "%s{\"term\":", i ? "," : "");
        json_quote(out, r->slo->term[i].text);
        bytes_print(out, ",\"value\":\"%s\",\"held\":%s}", value, o.held ? "true" : "false");
    }
    bytes_print(out, "],\n");
    if (r->search == NULL)
        return;
    bytes_print(out, "\"find_max\":{\"rate_per_s\":%.3f,\"needs_s\":%.3f,\"steps\":[",
                r->search->rate_per_s, r->search->needs_s);
    for (size_t i = 0; i < r->search->count; i++)
        bytes_print(out,
                    "%s{\"rate_per_s\":%.3f,\"started_per_s\":%.3f,\"p99_us\":%.3f,"
                    "\"failed\":%llu,\"held\":%s}",
                    i ? "," : "", r->search->step[i].rate_per_s, r->search->step[i].achieved_per_s,
                    (double)r->search->step[i].p99_ns / 1e3,
                    (unsigned long long)r->search->step[i].failed,
                    r->search->step[i].held ? "true" : "false");
    bytes_print(out, "]},\n");
}

void
report_json(struct bytes *out, const struct report *r)
{
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    const struct tally *t = &r->result->tally;
    struct figures f;
    figures_of(&f, r->result);
    what(out, r);
    bytes_print(out,
                "\"elapsed_s\":%.9f,\n\"requests\":{\"started\":%llu,\"ok\":%llu,"
                "\"failed\":%llu,\"in_flight\":%llu},\n\"failures\":",
                f.elapsed_s, f.started, f.ok, f.failed, f.in_flight);
    object(out, tally_failure_names, t->failed, FAILURES);
    bytes_print(out, ",\n\"status\":");
    object(out, classes, t->status, 6);
    bytes_print(out, ",\n\"events\":");
    object(out, tally_event_names, t->event, EVENTS);
    bytes_print(out, ",\n");
    examples(out, r->result);
    bytes_print(out,
                ",\n\"ok_per_s\":%.3f,\n\"started_per_s\":%.3f,\n\"bytes\":{\"received\":%llu,"
                "\"body\":%llu,\"sent\":%llu},\n",
                f.ok_per_s, f.started_per_s, counter_get(&t->received_bytes),
                counter_get(&t->body_bytes), counter_get(&t->sent_bytes));
    for (int i = 0; i < SPANS; i++) {
        bool response = i == SPAN_RESPONSE;
        span(out, tally_span_names[i], response ? &r->result->response : &t->span[i],
             response ? r->result : NULL);
        bytes_print(out, ",\n");
    }
    bytes_print(out, "\"client_pauses_s\":");
    for (int i = 0; i < PAUSES; i++)
        bytes_print(out, "%s\"%s\":%.9f", i ? "," : "{", tally_pause_names[i],
                    (double)counter_get(&t->paused_ns[i]) / 1e9);
    bytes_print(out, "},\n");
    bytes_print(out, "\"response_lower_bounds\":%llu,\n",
                (unsigned long long)r->result->bounds.count);
    bytes_print(out,
                "\"connections_opened\":%llu,\n\"connections_open_peak\":%llu,\n"
                "\"connections_busy_mean\":%.3f,\n"
                "\"client_cpu_s\":%.6f,\n\"client_cpu_us_per_request\":%.3f,\n"
                "\"client_busiest_thread\":%.4f,\n\"client_waited_for_cpu\":%.4f,\n"
                "\"listen_drops\":%llu,\n",
                f.opened, (unsigned long long)r->result->peak_open,
                figures_ratio((double)counter_get(&t->busy_ns) / 1e9, f.elapsed_s),
                r->result->cpu_s, f.cpu_us_per_request, r->result->busiest_thread,
                r->result->waited_for_cpu, (unsigned long long)r->result->listen_drops);
    objectives(out, r);
    verdict(out, r->verdict);
    bytes_print(out, ",\n");
    histograms(out, t);
    bytes_print(out, "}\n");
}
