/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what one run does, and what its threads share while it lasts.
 */
#ifndef PLAN_H
#define PLAN_H

#include "load/options.h"
#include "load/target.h"

#include <stdatomic.h>

/* What one run does; a search varies it, everything else is in the options. */
struct plan {
    uint64_t requests;    /* 0: no limit */
    uint64_t duration_ns; /* of the measured part; 0: no limit */
    double rate_per_s;    /* 0: closed loop */
    bool quiet;
};

/* What the threads of a run share. Written before they start, but for the
 * atomics. */
struct shared {
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

#endif
