/* SPDX-License-Identifier: MIT */
/*
 * slo.h - objectives that a result must hold: terms joined by commas, each
 * NAME<LIMIT or NAME>LIMIT (also <= and >=), all of which must be true.
 *
 *   p50 p99 p99.9 p999 ... min mean max   response time: 20ms, 1.5s, 800us
 *   failed                                share (0.1%) or number of requests
 *   rate                                  successful requests per second
 *
 * A percentile that so few requests cannot support is not held. Pure.
 */
#ifndef SLO_H
#define SLO_H

#include "load/result.h"

struct slo_term {
    char text[32]; /* as written */
    enum { SLO_QUANTILE, SLO_MIN, SLO_MEAN, SLO_MAX, SLO_FAILED, SLO_FAILED_SHARE, SLO_RATE } what;
    double quantile; /* 0 to 1, SLO_QUANTILE only */
    bool below;      /* the value must be less than the limit, else greater */
    bool or_equal;   /* <= or >= */
    double limit;    /* nanoseconds, a share of one, a number, or a rate */
};

struct slo {
    struct slo_term term[8];
    size_t count;
};

/* What became of a term. */
struct slo_outcome {
    bool known; /* enough requests to say, and none that hides others */
    bool held;
    double value; /* in the unit of the limit */
};

/* 0, or -1 with the part that is not understood in <message>. */
int slo_parse(struct slo *slo, const char *text, char *message, size_t size);

struct slo_outcome slo_check(const struct slo_term *term, const struct result *r);

/* Do all terms hold? True for no terms. */
bool slo_holds(const struct slo *slo, const struct result *r);

/* The answers that <slo> needs before all its percentiles mean something; 0: any number. */
double slo_answers_needed(const struct slo *slo);

/* Does a term speak of failed requests? Then their number is judged by it alone. */
bool slo_allows_failures(const struct slo *slo);

/* <value> of <term> for people: "12.3 ms", "0.05 %". */
void slo_value(char *text, size_t size, const struct slo_term *term, double value);

#endif
