/* SPDX-License-Identifier: MIT */
/* search.c - see search.h */
#include "report/search.h"

#define FIRST_SHARE 0.5 /* of the closed loop's rate */
#define GROWTH      1.25
#define NARROW      1.03 /* upper over lower bound at which the search ends */
#define LEAST_SHARE 2e-4 /* of the closed loop's rate: below it, nothing holds */

double
search_next(const struct search *s, double capacity)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < s->count; i++) {
        double rate = s->step[i].rate_per_s;
        if (s->step[i].held && rate > low)
            low = rate;
        if (!s->step[i].held && (high == 0 || rate < high))
            high = rate;
    }
    if (s->count == 0)
        return capacity * FIRST_SHARE;
    if (s->count == SEARCH_STEPS)
        return 0;
    if (high == 0)
        return low * GROWTH;
    if (high <= low) /* noise: a lower rate failed after a higher one had held */
        low = 0;
    if (low > 0)
        return high / low <= NARROW ? 0 : (low + high) / 2;
    return high < capacity * LEAST_SHARE ? 0 : high / 2;
}

double
search_best(const struct search *s)
{
    double high = 0, low = 0;
    for (size_t i = 0; i < s->count; i++)
        if (!s->step[i].held && (high == 0 || s->step[i].rate_per_s < high))
            high = s->step[i].rate_per_s;
    for (size_t i = 0; i < s->count; i++) {
        double rate = s->step[i].rate_per_s;
        if (s->step[i].held && rate > low && (high == 0 || rate < high))
            low = rate;
    }
    return low;
}
