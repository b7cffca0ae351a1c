/* SPDX-License-Identifier: MIT */
/* report_csv.c - one line of names and one of figures (RFC 4180). */
#include "report/report.h"

static void
quantile(struct bytes *names, struct bytes *values, const char *name, struct figures_quantile q)
{
    bytes_print(names, ",%s_us", name);
    if (q.known)
        bytes_print(values, ",%.3f", q.us);
    else
        bytes_print(values, ",");
}

/* A field that holds any text: in quotes, and a quote within is doubled. */
static void
text(struct bytes *out, const char *s)
{
    bytes_add(out, "\"", 1);
    for (; *s != '\0'; s++)
        bytes_add(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    bytes_add(out, "\"", 1);
}

void
report_csv(struct bytes *out, const struct report *r)
{
    const struct tally *t = &r->result->tally;
    const struct histogram *h = &r->result->response;
    struct bytes names = {0}, values = {0};
    struct figures f;
    figures_of(&f, r->result);
    bytes_print(&names, "url,mode,connections,keep_alive,elapsed_s,started,ok,failed,in_flight");
    text(&values, r->url);
    bytes_print(&values, ",%s,%llu,%d,%.6f,%llu,%llu,%llu,%llu",
                r->result->plan.rate_per_s > 0 ? "open" : "closed",
                (unsigned long long)r->options->connections, r->options->keep_alive, f.elapsed_s,
                f.started, f.ok, f.failed, f.in_flight);
    for (int i = 0; i < FAILURES; i++) {
        bytes_print(&names, ",failed_%s", tally_failure_names[i]);
        bytes_print(&values, ",%llu", counter_get(&t->failed[i]));
    }
    bytes_print(&names, ",ok_per_s,received_bytes,min_us,mean_us,stdev_us");
    bytes_print(&values, ",%.3f,%llu,%.3f,%.3f,%.3f", f.ok_per_s, counter_get(&t->received_bytes),
                (double)histogram_min(h) / 1e3, histogram_mean(h) / 1e3, histogram_stdev(h) / 1e3);
    quantile(&names, &values, "p50", figures_response(r->result, 0.5));
    quantile(&names, &values, "p90", figures_response(r->result, 0.9));
    quantile(&names, &values, "p99", figures_response(r->result, 0.99));
    quantile(&names, &values, "p999", figures_response(r->result, 0.999));
    bytes_print(&names, ",max_us,connections_opened,client_cpu_s,verdict");
    bytes_print(&values, ",%.3f,%llu,%.6f,%s", (double)histogram_max(h) / 1e3, f.opened,
                r->result->cpu_s, verdict_names[r->verdict->grade]);
    bytes_print(out, "%s\r\n%s\r\n", names.data, values.data);
    bytes_free(&names);
    bytes_free(&values);
}
