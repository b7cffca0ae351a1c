/* SPDX-License-Identifier: MIT */
/*
 * report.h - a result in words and numbers. Each layout is one function that
 * appends to <out>; none computes what another could compute differently: all
 * figures come from struct figures.
 */
#ifndef REPORT_H
#define REPORT_H

#include "load/target.h"
#include "protocol/bytes.h"
#include "report/figures.h"
#include "report/search.h"
#include "report/slo.h"
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

void report_text(struct bytes *out, const struct report *r);
void report_json(struct bytes *out, const struct report *r);
void report_csv(struct bytes *out, const struct report *r);
void report_ab(struct bytes *out, const struct report *r);
void report_siege(struct bytes *out, const struct report *r);
void report_hgrm(struct bytes *out, const struct histogram *h);

/* The layout that the options ask for. */
void report_write(struct bytes *out, const struct report *r);

#endif
