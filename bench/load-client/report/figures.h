/* SPDX-License-Identifier: MIT */
/*
 * figures.h - the numbers that several layouts print, each computed in one
 * place. None is ever nan or infinite. Pure.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "load/result.h"

struct figures {
    unsigned long long started, ok, failed, in_flight;
    unsigned long long done; /* ok + failed */
    double elapsed_s;
    double ok_per_s;
    double done_per_s;
    double started_per_s;
    double cpu_us_per_request;
    unsigned long long opened;
};

/* A quantile in microseconds. */
struct figures_quantile {
    double us;
    bool known;    /* enough values; else layouts print n/a */
    bool at_least; /* a lower bound: so long had a request waited without an answer */
};

/* A quantile of the response times, with what was cut off. */
struct figures_quantile figures_response(const struct result *r, double q);

/* <a> / <b>, or 0 when <b> is 0. */
double figures_ratio(double a, double b);

void figures_of(struct figures *f, const struct result *r);

struct figures_quantile figures_quantile(const struct histogram *h, double q);

#endif
