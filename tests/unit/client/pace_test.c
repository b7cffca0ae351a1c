/* SPDX-License-Identifier: MIT */
/* When the requests of an open loop are due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "load/pace.h"

static void
threads_share_the_schedule_evenly_and_without_drift(void **state)
{
    (void)state;
    const double rate = 30000; /* an interval of 33333.3 ns */
    for (uint64_t threads = 1; threads <= 3; threads++) {
        struct pace pace[3];
        for (uint64_t k = 0; k < threads; k++)
            pace[k] = (struct pace){1000, 1e9 / rate, k, threads, UINT64_MAX / 2};
        for (uint64_t number = 0; number < 300000; number++) {
            struct pace *p = &pace[number % threads];
            double exact = 1000 + (double)number * 1e9 / rate;
            assert_true(fabs((double)pace_next_ns(p) - exact) <= 1);
            pace_advance(p);
        }
    }
}

static void
the_schedule_ends_and_says_what_is_overdue(void **state)
{
    (void)state;
    struct pace p = {.start_ns = 500,
                     .interval_ns = 100,
                     .step = 2,
                     .next_number = 1,
                     .end_number = 6}; /* numbers 1, 3, 5: at 600, 800, 1000 */
    assert_int_equal(pace_overdue(&p, 599), 0);
    assert_int_equal(pace_overdue(&p, 600), 1);
    assert_int_equal(pace_overdue(&p, 999), 2);
    assert_int_equal(pace_overdue(&p, 5000), 3);
    for (int i = 0; i < 3; i++)
        pace_advance(&p);
    assert_int_equal(pace_next_ns(&p), NEVER_NS);
    assert_int_equal(pace_overdue(&p, 5000), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_the_schedule_evenly_and_without_drift),
        cmocka_unit_test(the_schedule_ends_and_says_what_is_overdue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
