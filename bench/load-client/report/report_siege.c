/* SPDX-License-Identifier: MIT */
/*
 * report_siege.c - the layout of siege 4, line for line. Success is what this
 * client calls success (siege counts every status below 400), and times are
 * exact where siege's clock steps by 10 ms.
 */
#include "report/report.h"

void
report_siege(struct bytes *out, const struct report *r)
{
    const struct tally *t = &r->result->tally;
    const struct histogram *h = &r->result->response;
    struct figures f;
    figures_of(&f, r->result);
    double megabytes = (double)counter_get(&t->body_bytes) / (1 << 20);
    double time_s = histogram_mean(h) * (double)histogram_count(h) / 1e9;
    uint64_t hits = 0;
    for (int i = 0; i < 6; i++)
        hits += counter_get(&t->status[i]);
    bytes_print(out, "** load-client " CLIENT_VERSION " (report in the layout of SIEGE 4)\n");
    bytes_print(out, "** Prepared %llu concurrent users for battle.\n",
                (unsigned long long)r->options->connections);
    bytes_print(out, "Lifting the server siege...\n");
    bytes_print(out, "Transactions:\t\t%12llu hits\n", (unsigned long long)hits);
    bytes_print(out, "Availability:\t\t%12.2f %%\n",
                100 * figures_ratio((double)f.ok, (double)f.done));
    bytes_print(out, "Elapsed time:\t\t%12.2f secs\n", f.elapsed_s);
    bytes_print(out, "Data transferred:\t%12.2f MB\n", megabytes);
    bytes_print(out, "Response time:\t\t%12.2f secs\n", histogram_mean(h) / 1e9);
    bytes_print(out, "Transaction rate:\t%12.2f trans/sec\n",
                figures_ratio((double)hits, f.elapsed_s));
    bytes_print(out, "Throughput:\t\t%12.2f MB/sec\n", figures_ratio(megabytes, f.elapsed_s));
    bytes_print(out, "Concurrency:\t\t%12.2f\n", figures_ratio(time_s, f.elapsed_s));
    bytes_print(out, "Successful transactions:%12llu\n", f.ok);
    bytes_print(out, "Failed transactions:\t%12llu\n", f.failed);
    bytes_print(out, "Longest transaction:\t%12.2f\n", (double)histogram_max(h) / 1e9);
    bytes_print(out, "Shortest transaction:\t%12.2f\n \n", (double)histogram_min(h) / 1e9);
}
