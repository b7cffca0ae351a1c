/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/slo.c bench/load-client/report/figures.c bench/load-client/load/options.c bench/load-client/load/tally.c bench/load-client/load/histogram.c bench/load-client/load/result.c bench/load-client/protocol/bytes.c */
/* Objectives hold, are missed, or cannot be known. */
#include "made_up.h"

#include <string.h>

#include "report/slo.h"

static struct slo_outcome
outcome(const char *text)
{
    struct slo slo;
    char message[200];
    assert_int_equal(slo_parse(&slo, text, message, sizeof(message)), 0);
    assert_int_equal(slo.count, 1);
    return slo_check(&slo.term[0], result);
}

static void
objectives_hold_or_not(void **state)
{
    (void)state;
    succeed(5000, 2); /* response evenly from 1 to 2 ms, 2500/s */
    fail_some(FAIL_BODY, 5);
    assert_true(outcome("p50<1.51ms").held);
    assert_false(outcome("p50<1.49ms").held);
    assert_true(outcome("p99>1.9ms").held);
    assert_false(outcome("p9999<1s").known); /* 5,000 are too few */
    assert_false(outcome("p9999<1s").held);
    assert_true(outcome("max<=2ms").held);
    assert_true(outcome("mean<1600us").held);
    assert_true(outcome("failed<=5").held);
    assert_false(outcome("failed<5").held);
    assert_true(outcome("failed<0.1%").held);
    assert_false(outcome("failed<0.09%").held);
    assert_true(outcome("rate>2.4k").held);
    assert_false(outcome("rate>2501").held);
}

static void
a_lower_bound_holds_no_limit(void **state)
{
    (void)state;
    succeed(5000, 2);
    result->plan.rate_per_s = 2500;
    histogram_record_many(&result->tally.span[SPAN_IN_FLIGHT], 10 * NS_PER_MS, 100);
    result_complete(result);
    assert_true(outcome("p50<20ms").held);
    assert_false(outcome("p99<20ms").known); /* 10 ms and more */
    assert_false(outcome("max<20ms").held);
    assert_true(outcome("p99<9ms").known); /* missed for certain */
    assert_false(outcome("p99<9ms").held);
    result->plan.rate_per_s = 0; /* a closed loop sent nothing meanwhile: 5 % of the time */
    assert_false(outcome("p50<20ms").held);
    assert_true(outcome("failed<1").held);
}

static void
objectives_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"p99",        "p99<",     "p99<20", "p0<1ms",
                                        "p100.5<1ms", "p200<1ms", "x<1ms",  "failed<1ms",
                                        "rate>-1",    "p99=1ms",  ",",      "max<1ms,,"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slo slo;
        char message[200];
        assert_int_equal(slo_parse(&slo, texts[i], message, sizeof(message)), -1);
        assert_non_null(strstr(message, "objective"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objectives_hold_or_not),
        TEST(a_lower_bound_holds_no_limit),
        TEST(objectives_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
