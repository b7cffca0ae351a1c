/* SPDX-License-Identifier: MIT */
/*
 * report_ab.c - the layout of ApacheBench 2.3 (httpd 2.4), line for line, for
 * the scripts that read it. The numbers are ours: no request is left out,
 * percentiles come from the histogram, wrong statuses count as failed too
 * (ab calls those complete and good), and "Exceptions" are answers that break
 * the protocol or differ from the first one.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

static void
times_row(struct bytes *out, const char *name, const struct histogram *h)
{
    bytes_print(out, "%-12s %5.0f %4.0f %5.1f %6.0f %7.0f\n", name, (double)histogram_min(h) / 1e6,
                histogram_mean(h) / 1e6, histogram_stdev(h) / 1e6,
                (double)histogram_quantile(h, 0.5) / 1e6, (double)histogram_max(h) / 1e6);
}

static void
failures(struct bytes *out, const struct tally *t, uint64_t failed)
{
    bytes_print(out, "Failed requests:        %llu\n", (unsigned long long)failed);
    if (failed == 0)
        return;
    unsigned long long connect = counter_get(&t->failed[FAIL_CONNECT]);
    unsigned long long receive = counter_get(&t->failed[FAIL_RECEIVE]) +
                                 counter_get(&t->failed[FAIL_TIMEOUT]) +
                                 counter_get(&t->failed[FAIL_SEND]);
    unsigned long long length = counter_get(&t->failed[FAIL_LENGTH]);
    bytes_print(out, "   (Connect: %llu, Receive: %llu, Length: %llu, Exceptions: %llu)\n", connect,
                receive, length, (unsigned long long)failed - connect - receive - length);
}

static void
target_lines(struct bytes *out, const struct report *r)
{
    const struct target *t = r->target;
    const char *server = r->result->server;
    bytes_print(out, "\n\nServer Software:        %s\n", strcmp(server, "-") ? server : "");
    if (t == NULL)
        return;
    const char *port = *t->url.port ? t->url.port : "0";
    bytes_print(out, "Server Hostname:        %s\nServer Port:            %s\n\n", t->url.host,
                port);
    bytes_print(out, "Document Path:          %s\n", t->request[0].path);
    if (r->options->variable)
        bytes_print(out, "Document Length:        Variable\n\n");
    else
        bytes_print(out, "Document Length:        %llu bytes\n\n",
                    (unsigned long long)r->result->document_length);
}

static void
rates(struct bytes *out, const struct report *r, const struct figures *f)
{
    const struct tally *t = &r->result->tally;
    double received = (double)counter_get(&t->received_bytes);
    double sent = (double)counter_get(&t->sent_bytes);
    double per_request_ms = figures_ratio(f->elapsed_s * 1000, (double)f->done);
    bool has_body = r->target && r->target->body_length > 0;
    bytes_print(out, "Total transferred:      %.0f bytes\n", received);
    if (has_body)
        bytes_print(out, "Total body sent:        %.0f\n", sent);
    bytes_print(out, "HTML transferred:       %llu bytes\n", counter_get(&t->body_bytes));
    bytes_print(out, "Requests per second:    %.2f [#/sec] (mean)\n", f->done_per_s);
    bytes_print(out, "Time per request:       %.3f [ms] (mean)\n",
                per_request_ms * (double)r->options->connections);
    bytes_print(out, "Time per request:       %.3f [ms] (mean, across all concurrent requests)\n",
                per_request_ms);
    bytes_print(out, "Transfer rate:          %.2f [Kbytes/sec] received\n",
                figures_ratio(received / 1024, f->elapsed_s));
    if (has_body) {
        bytes_print(out, "                        %.2f kb/s sent\n",
                    figures_ratio(sent / 1024, f->elapsed_s));
        bytes_print(out, "                        %.2f kb/s total\n",
                    figures_ratio((sent + received) / 1024, f->elapsed_s));
    }
}

static void
percentages(struct bytes *out, const struct histogram *h)
{
    static const int percent[] = {50, 66, 75, 80, 90, 95, 98, 99};
    bytes_print(out, "\nPercentage of the requests served within a certain time (ms)\n");
    for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++)
        bytes_print(out, "  %d%%  %5.0f\n", percent[i],
                    (double)histogram_quantile(h, percent[i] / 100.0) / 1e6);
    bytes_print(out, " 100%%  %5.0f (longest request)\n", (double)histogram_max(h) / 1e6);
}

void
report_ab(struct bytes *out, const struct report *r)
{
    const struct tally *t = &r->result->tally;
    const struct histogram *total = &r->result->response;
    struct figures f;
    figures_of(&f, r->result);
    bytes_print(out, "This is load-client, Version " CLIENT_VERSION
                     " (report in the layout of ApacheBench 2.3)\n");
    target_lines(out, r);
    bytes_print(out,
                "Concurrency Level:      %llu\nTime taken for tests:   %.3f seconds\n"
                "Complete requests:      %llu\n",
                (unsigned long long)r->options->connections, f.elapsed_s, f.done);
    failures(out, t, f.failed);
    uint64_t answers = 0;
    for (int i = 0; i < 6; i++)
        answers += counter_get(&t->status[i]);
    uint64_t others = answers - counter_get(&t->status[2]);
    if (others > 0)
        bytes_print(out, "Non-2xx responses:      %llu\n", (unsigned long long)others);
    if (r->options->keep_alive)
        bytes_print(out, "Keep-Alive requests:    %llu\n", (unsigned long long)answers);
    rates(out, r, &f);
    if (histogram_count(total) == 0)
        return;
    bytes_print(out, "\nConnection Times (ms)\n              min  mean[+/-sd] median   max\n");
    times_row(out, "Connect:", &t->span[SPAN_CONNECT]);
    times_row(out, "Processing:", &t->span[SPAN_SERVICE]);
    times_row(out, "Waiting:", &t->span[SPAN_FIRST_BYTE]);
    times_row(out, "Total:", total);
    percentages(out, total);
}
