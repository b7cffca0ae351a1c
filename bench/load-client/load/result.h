/* SPDX-License-Identifier: MIT */
/*
 * result.h - what a run came to: all that reports and verdicts are made from.
 */
#ifndef RESULT_H
#define RESULT_H

#include "load/plan.h"
#include "load/tally.h"

/* The first failure of a kind, in words. */
struct example {
    char text[240]; /* empty: there was none */
};

struct result {
    struct plan plan;
    double elapsed_s;      /* of the measured part */
    double cpu_s;          /* of the whole process in the measured part */
    double busiest_thread; /* CPU time over wall time of the busiest load thread, 0 to 1 */
    double waited_for_cpu; /* most of a thread's time that it was ready and did not run, 0 to 1 */
    uint64_t peak_open;    /* most connections open together */
    uint64_t listen_drops; /* of this machine's listen queues during the run */
    double started_at_s;   /* Unix time of the start */
    int interrupted;       /* signal number; 0: not */
    bool part_interrupted; /* merged: some run was */
    int series_error;      /* errno of the series file; 0: all is written */
    bool gave_up;
    bool accounting_closes;
    char server[64];          /* Server header of the first answer */
    uint64_t document_length; /* body length of the reference answer */
    uint64_t connections;     /* that were asked for */
    struct example example[FAILURES];
    struct tally tally;
    /* By result_complete(): */
    struct histogram cut;           /* ages of requests that were cut off */
    struct histogram response;      /* as SPAN_RESPONSE, with those that were cut off */
    struct histogram_bounds bounds; /* the values of <response> that are lower bounds */
    struct histogram_bounds stuck;  /* those in flight at the end that outlasted every answer */
};

/* Makes the members at the end of <r> from its tally, when all has been
 * counted. Requests in flight at the end, or due and not sent, count in
 * <response> as longer than their age; so do failed ones, when any was answered. */
void result_complete(struct result *r);

/* Are there enough answers for <quantile> of the response times to mean something? */
bool result_knows(const struct result *r, double quantile);

/* Share of the connections' time, 0 to 1, for which a closed loop waited on
 * requests that outlasted every answer. Meanwhile it sent nothing there, and
 * what the percentiles leave out cannot be known. 0 in an open loop. */
double result_stuck(const struct result *r);

#define RESULT_STUCK 0.01 /* of the time: from here on no percentile is called held */

#endif
