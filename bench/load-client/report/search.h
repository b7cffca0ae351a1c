/* SPDX-License-Identifier: MIT */
/*
 * search.h - where to look next for the highest rate that holds. Pure.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEARCH_STEPS = 24 };

struct search {
    double rate_per_s; /* the highest that held and was confirmed; 0: none */
    double needs_s;    /* so long each step would have to take for its percentiles to mean
                          something; the search ended there. 0: it did not */
    size_t count;
    struct {
        double rate_per_s;
        bool held;
        double achieved_per_s;
        uint64_t p99_ns;
        uint64_t failed;
    } step[SEARCH_STEPS];
};

/* The next rate to try after <s>; <capacity> is what the closed loop reached.
 * Returns 0 when the search is over. */
double search_next(const struct search *s, double capacity);

/* The highest rate that held below every one that did not; 0 when none did. */
double search_best(const struct search *s);

#endif
