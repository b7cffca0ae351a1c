/* SPDX-License-Identifier: MIT */
/*
 * report.h - a result in words and numbers. Each layout is one function that
 * appends to <out>; none computes what another could compute differently: all
 * figures come from struct figures.
 */
#ifndef REPORT_H
#define REPORT_H

#include "protocol/bytes.h"
#include "report/find_max.h"
#include "report/verdict.h"

#define CLIENT_VERSION "1.0"

struct report {
    const struct options *options;
    const struct result *result;
    const struct verdict *verdict;
    const struct target *target; /* NULL for merged results */
    const char *url;
    const struct slo *slo;       /* no terms: none was asked for */
    const struct search *search; /* NULL: none was asked for */
};

/* Numbers that several layouts print. No member is ever nan or infinite. */
struct figures {
    uint64_t started, ok, failed, in_flight;
    uint64_t done; /* ok + failed */
    double elapsed_s;
    double ok_per_s;
    double done_per_s;
    double started_per_s;
    double cpu_us_per_request;
    uint64_t opened;
};

/* <a> / <b>, or 0 when <b> is 0. */
double ratio(double a, double b);

void report_figures(struct figures *f, const struct result *r);

/* A quantile in microseconds, for layouts that print n/a when <known> is 0. */
struct quantile {
    double us;
    bool known;
};
struct quantile report_quantile(const struct histogram *h, double q);

void report_text(struct bytes *out, const struct report *r);
void report_json(struct bytes *out, const struct report *r);
void report_csv(struct bytes *out, const struct report *r);
void report_ab(struct bytes *out, const struct report *r);
void report_siege(struct bytes *out, const struct report *r);
void report_hgrm(struct bytes *out, const struct histogram *h);

/* The layout that the options ask for. */
void report_write(struct bytes *out, const struct report *r);

#endif
