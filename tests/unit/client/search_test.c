/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/search.c */
/* Where --find-max looks next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/search.h"

/* Runs the search against a server that holds exactly up to <limit>. */
static double
search_for(double limit, double capacity, size_t *steps)
{
    struct search s = {0};
    double rate;
    while ((rate = search_next(&s, capacity)) > 0) {
        assert_true(s.count < SEARCH_STEPS);
        s.step[s.count].rate_per_s = rate;
        s.step[s.count++].held = rate <= limit;
    }
    *steps = s.count;
    return search_best(&s);
}

static void
the_search_comes_within_three_percent(void **state)
{
    (void)state;
    for (double limit = 25; limit < 200000; limit *= 1.7) {
        size_t steps;
        double found = search_for(limit, 100000, &steps);
        assert_true(found <= limit && found >= limit / 1.031);
    }
    size_t steps;
    assert_true(search_for(0, 100000, &steps) == 0);
    assert_true(steps < SEARCH_STEPS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_comes_within_three_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
