/* SPDX-License-Identifier: MIT */
/*
 * report_hgrm.c - percentile distribution in the text form of HdrHistogram,
 * values in milliseconds, for its plotters. As there, the steps between
 * percentiles halve each time the distance to 100 % halves.
 */
#include "report/report.h"

#include <math.h>

#define TICKS_PER_HALF 5

void
report_hgrm(struct bytes *out, const struct histogram *h)
{
    uint64_t count = histogram_count(h), seen = 0;
    double percentile = 0;
    size_t slot = 0;
    bytes_print(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
                "1/(1-Percentile)");
    while (count > 0) {
        while (slot < HISTOGRAM_SLOTS && (double)seen < percentile / 100 * (double)count)
            seen += counter_get(&h->slot[slot++]);
        while (slot < HISTOGRAM_SLOTS && seen == 0)
            seen += counter_get(&h->slot[slot++]);
        double value = (double)histogram_slot_high(slot > 0 ? slot - 1 : 0);
        if (seen == count)
            break;
        bytes_print(out, "%12.3f %2.12f %10llu %14.2f\n",
                    fmin(value, (double)histogram_max(h)) / 1e6, percentile / 100,
                    (unsigned long long)seen, 1 / (1 - percentile / 100));
        double half = pow(2, floor(log2(100 / (100 - percentile))) + 1);
        percentile += 100 / (half * TICKS_PER_HALF);
    }
    if (count > 0)
        bytes_print(out, "%12.3f %2.12f %10llu\n", (double)histogram_max(h) / 1e6, 1.0,
                    (unsigned long long)count);
    bytes_print(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", histogram_mean(h) / 1e6,
                histogram_stdev(h) / 1e6);
    bytes_print(out, "#[Max     = %12.3f, Total count    = %12llu]\n",
                (double)histogram_max(h) / 1e6, (unsigned long long)count);
    bytes_print(out, "#[Buckets = %12d, SubBuckets     = %12d]\n",
                HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS, 1 << HISTOGRAM_SUB_BITS);
}
