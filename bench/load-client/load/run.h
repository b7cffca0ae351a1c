/* SPDX-License-Identifier: MIT */
/*
 * run.h - one measured run: the threads that make load, the thread that
 * watches over them, and the result.
 */
#ifndef RUN_H
#define RUN_H

#include "load/options.h"
#include "load/tally.h"
#include "load/target.h"

#include <stdatomic.h>

/* What one run does; find_max varies it, everything else is in the options. */
struct plan {
    uint64_t requests;    /* 0: no limit */
    uint64_t duration_ns; /* of the measured part; 0: no limit */
    double rate_per_s;    /* 0: closed loop */
    bool quiet;
};

/* What the threads of a run share. Written before they start, but for the
 * atomics. */
struct run {
    const struct options *options;
    struct target *target;
    struct plan plan;
    uint64_t start_ns;
    uint64_t measure_ns;      /* end of the warm-up: requests count from here */
    uint64_t stop_ns;         /* NEVER_NS without a duration */
    _Atomic uint64_t tickets; /* closed loop: measured requests handed out */
    _Atomic bool connected;   /* some connection was established once */
    _Atomic bool gave_up;     /* the server cannot be reached */
    _Atomic bool stop;        /* interrupted, or a thread gave up */
};

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

/* Runs <plan> and fills <result> (large: allocate it), which must be zeroed.
 * 0, or -1 with a reason in <message> when the run could not start. */
int run(struct result *result, const struct options *o, struct target *target,
        const struct plan *plan, char *message, size_t size);

/* Blocks the signals that end a run, for this thread and those it starts. */
void run_block_signals(void);

#endif
