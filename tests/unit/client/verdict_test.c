/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/verdict.c bench/load-client/load/tally.c bench/load-client/load/histogram.c bench/load-client/load/result.c */
/* Each objection appears when it must. */
#include "made_up.h"

#include <string.h>

#include "report/verdict.h"

static struct verdict verdict;

static bool
says(const char *needle)
{
    for (size_t i = 0; i < verdict.count; i++)
        if (strstr(verdict.reason[i].text, needle) != NULL)
            return true;
    return false;
}

static enum grade
judge(bool fcgi)
{
    const struct circumstances c = {&options, fcgi, true, 28000};
    verdict_judge(&verdict, result, &c);
    return verdict.grade;
}

static void
the_accounting_is_checked(void **state)
{
    (void)state;
    succeed(10, 1);
    assert_true(tally_closes(&result->tally));
    counter_add(&result->tally.started, 1);
    assert_false(tally_closes(&result->tally));
    counter_add(&result->tally.in_flight, 1);
    assert_true(tally_closes(&result->tally));
    result->accounting_closes = false;
    assert_int_equal(judge(false), VERDICT_INVALID);
}

static void
a_quiet_closed_loop_is_valid_and_labelled(void **state)
{
    (void)state;
    succeed(5000, 2);
    assert_int_equal(judge(false), VERDICT_VALID);
    assert_true(says("queueing is hidden"));
}

static void
a_busy_client_is_suspect_then_invalid(void **state)
{
    (void)state;
    succeed(5000, 2);
    result->busiest_thread = 0.8;
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    result->busiest_thread = 0.95;
    assert_int_equal(judge(false), VERDICT_INVALID);
    assert_true(says("95 % of a core"));
}

static void
waiting_for_a_processor_is_told(void **state)
{
    (void)state;
    succeed(5000, 2);
    result->waited_for_cpu = 0.15;
    assert_int_equal(judge(false), VERDICT_VALID);
    assert_true(says("15 % of the time for a processor"));
    result->waited_for_cpu = 0.4;
    assert_int_equal(judge(false), VERDICT_SUSPECT);
}

static void
littles_law_shows_idle_connections(void **state)
{
    (void)state;
    succeed(5000, 2);
    counter_set(&result->tally.busy_ns, 8 * 2 * NS_PER_S); /* 8 of 10 busy */
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("Little's law"));
}

static void
an_open_loop_that_falls_behind_is_invalid(void **state)
{
    (void)state;
    succeed(5000, 2);
    result->plan.rate_per_s = 5000; /* 2500/s were sent */
    assert_int_equal(judge(false), VERDICT_INVALID);
    assert_true(says("beyond the server"));
    assert_false(says("queueing is hidden"));
    result->plan.rate_per_s = 2500;
    assert_int_equal(judge(false), VERDICT_VALID);
}

static void
lateness_is_compared_with_the_tail(void **state)
{
    (void)state;
    succeed(5000, 2);
    result->plan.rate_per_s = 2500;
    for (int i = 0; i < 5000; i++)
        histogram_record(&result->tally.span[SPAN_LAG], 500 * NS_PER_US);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("lateness"));
}

static void
exhaustion_is_named_with_its_remedy(void **state)
{
    (void)state;
    succeed(5000, 2);
    tally_event(&result->tally, EVENT_NO_PORTS);
    tally_event(&result->tally, EVENT_NO_DESCRIPTORS);
    assert_int_equal(judge(false), VERDICT_INVALID);
    assert_true(says("ip_local_port_range"));
    assert_true(says("ulimit -n"));
}

static void
starved_fastcgi_connections_are_named(void **state)
{
    (void)state;
    succeed(5000, 2);
    counter_add(&result->tally.event[EVENT_NEVER_SERVED], 4);
    assert_int_equal(judge(true), VERDICT_INVALID);
    assert_true(says("outnumber the server's children"));
}

static void
nothing_succeeded_is_invalid(void **state)
{
    (void)state;
    fail_some(FAIL_TIMEOUT, 10);
    result->elapsed_s = 1;
    assert_int_equal(judge(false), VERDICT_INVALID);
}

static void
the_client_s_own_pauses_are_told(void **state)
{
    (void)state;
    succeed(5000, 2); /* 10 connections: 20 s of their time */
    counter_set(&result->tally.event[EVENT_OPENED], 1000);
    counter_set(&result->tally.paused_ns[PAUSE_CLOSING], 1100 * NS_PER_MS);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("6 % of the connections' time") && says("1.1 ms each"));
    counter_set(&result->tally.event[EVENT_OPENED], 5000); /* 0.2 ms each: a server closes so */
    assert_int_equal(judge(false), VERDICT_VALID);
    counter_set(&result->tally.paused_ns[PAUSE_BACKOFF], 1100 * NS_PER_MS);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("after failed connects"));
}

static void
one_unsent_request_is_no_reason_to_doubt(void **state)
{
    (void)state;
    succeed(4287, 2);
    result->plan.rate_per_s = 2144;
    tally_event(&result->tally, EVENT_UNSENT);
    assert_int_equal(judge(false), VERDICT_VALID);
    assert_true(says("1 request due at the end"));
    counter_set(&result->tally.event[EVENT_UNSENT], 50);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("50 requests due at the end"));
}

static void
a_page_that_varies_is_told_with_its_remedy(void **state)
{
    (void)state;
    options.expect_length = -1;
    succeed(1, 1);
    fail_some(FAIL_LENGTH, 1599);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
    assert_true(says("1599 of 1600 answers differ") && says("give -l"));
    options.expect_length = 5; /* the user knows */
    judge(false);
    assert_false(says("give -l"));
}

static void
reasons_without_a_place_are_counted(void **state)
{
    (void)state;
    struct verdict v = {0};
    for (int i = 0; i < 70; i++)
        verdict_object(&v, i == 69 ? VERDICT_INVALID : VERDICT_VALID, "reason %d", i);
    assert_int_equal(v.count, 64);
    assert_string_equal(v.reason[63].text, "7 more reasons");
    assert_int_equal(v.grade, VERDICT_INVALID);
}

static void
requests_that_were_never_answered_are_told(void **state)
{
    (void)state;
    succeed(5000, 2); /* of at most 2 ms, on 10 connections */
    counter_add(&result->tally.started, 1);
    counter_add(&result->tally.in_flight, 1);
    histogram_record(&result->tally.span[SPAN_IN_FLIGHT], 30 * NS_PER_MS);
    result_complete(result);
    assert_int_equal(judge(false), VERDICT_VALID);
    assert_true(says("had waited up to 0.030 s"));
    histogram_record(&result->tally.span[SPAN_IN_FLIGHT], NS_PER_S);
    result_complete(result);
    assert_int_equal(judge(false), VERDICT_INVALID);
    assert_true(says("5 % of the connections' time"));
    result->plan.rate_per_s = 2500; /* the open loop went on sending */
    assert_int_equal(judge(false), VERDICT_VALID);
    histogram_record_many(&result->tally.span[SPAN_IN_FLIGHT], NS_PER_S, 100);
    result_complete(result);
    assert_int_equal(judge(false), VERDICT_SUSPECT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_accounting_is_checked),
        TEST(a_quiet_closed_loop_is_valid_and_labelled),
        TEST(a_busy_client_is_suspect_then_invalid),
        TEST(waiting_for_a_processor_is_told),
        TEST(littles_law_shows_idle_connections),
        TEST(an_open_loop_that_falls_behind_is_invalid),
        TEST(lateness_is_compared_with_the_tail),
        TEST(exhaustion_is_named_with_its_remedy),
        TEST(starved_fastcgi_connections_are_named),
        TEST(the_client_s_own_pauses_are_told),
        TEST(one_unsent_request_is_no_reason_to_doubt),
        TEST(a_page_that_varies_is_told_with_its_remedy),
        TEST(reasons_without_a_place_are_counted),
        TEST(requests_that_were_never_answered_are_told),
        TEST(nothing_succeeded_is_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
