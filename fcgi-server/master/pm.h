/* SPDX-License-Identifier: MIT */
/*
 * pm.h - how many children there should be. Pure decisions on numbers; the rules
 * are php-fpm's (pm = static, dynamic, ondemand), with two differences: an idle
 * child is one that would take work, kept connections or not; and work that waits
 * is noticed at once, not at the next second.
 */
#ifndef PM_H
#define PM_H

#include <stdbool.h>
#include <stdint.h>

enum { PM_TICK_MS = 1000 };

struct pm_limits {
    uint32_t kind; /* enum config_pm */
    uint32_t max_children;
    uint32_t start_servers; /* 0: midway between the spares */
    uint32_t min_spare;
    uint32_t max_spare;
    uint32_t spawn_rate; /* most children started at once */
    int64_t idle_timeout_ms;
};

/* What the pool looks like now: children of the present configuration that were
 * not told to end. */
struct pm_view {
    uint32_t total;    /* starting ones included */
    uint32_t starting; /* not yet ready */
    uint32_t idle;
    bool demand;             /* work waits and no child has taken it */
    bool tick;               /* a second has passed since the last view with it */
    int64_t longest_idle_ms; /* of the child that has been idle the longest */
};

/* Kept between two decisions; all zero at first. */
struct pm_memory {
    uint32_t rate;   /* dynamic: how many the next shortage may start: 1, 2, 4, ... */
    bool complained; /* the limit was reported in this episode */
};

struct pm_plan {
    uint32_t start;  /* how many to start now */
    uint32_t retire; /* how many of the longest idle to retire now */
    bool at_limit;   /* max_children was reached; true once per episode
                      */
};

/* The number of children at the start. */
uint32_t pm_initial(const struct pm_limits *limits);

/* Decides what to do now. */
struct pm_plan pm_decide(const struct pm_limits *limits, const struct pm_view *view,
                         struct pm_memory *memory);

#endif
