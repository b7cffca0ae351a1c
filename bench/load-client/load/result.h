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
    bool gave_up;
    bool accounting_closes;
    char server[64];          /* Server header of the first answer */
    uint64_t document_length; /* body length of the reference answer */
    struct example example[FAILURES];
    struct tally tally;
};

#endif
