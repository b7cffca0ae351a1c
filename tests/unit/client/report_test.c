/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/report.c bench/load-client/report/figures.c bench/load-client/report/report_text.c */
/* links: bench/load-client/report/report_json.c bench/load-client/report/report_csv.c */
/* links: bench/load-client/report/report_ab.c bench/load-client/report/report_siege.c */
/* links: bench/load-client/report/report_hgrm.c bench/load-client/report/slo.c bench/load-client/report/verdict.c */
/* links: bench/load-client/load/options.c bench/load-client/load/tally.c bench/load-client/load/histogram.c */
/* links: bench/load-client/report/json.c bench/load-client/report/merge.c bench/load-client/protocol/bytes.c */
/* Reports, verdicts and objectives on results that are made up: no report holds nan or inf, JSON
 * is JSON and merges back without loss, each objection appears when it must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By path: the server has headers of the same names. */
#include "load/clock.h"
#include "report/json.h"
#include "report/merge.h"
#include "report/report.h"

static struct options options;
static struct result *result;
static struct verdict verdict;
static struct slo no_slo;

static int
fresh(void **state)
{
    (void)state;
    options = (struct options){.connections = 10, .threads = 1, .keep_alive = true};
    verdict = (struct verdict){0};
    result = calloc(1, sizeof(*result));
    result->accounting_closes = true;
    return result == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    free(result);
    return 0;
}

/* A plain result: <ok> answers of 1 to 2 ms in <seconds>. */
static void
succeed(uint64_t ok, double seconds)
{
    struct tally *t = &result->tally;
    for (uint64_t i = 0; i < ok; i++) {
        histogram_record(&t->span[SPAN_RESPONSE], NS_PER_MS + i * NS_PER_MS / ok);
        histogram_record(&t->span[SPAN_SERVICE], NS_PER_MS);
    }
    counter_add(&t->started, ok);
    counter_add(&t->ok, ok);
    counter_add(&t->status[2], ok);
    counter_add(&t->busy_ns, (uint64_t)(seconds * 1e9) * options.connections);
    result->elapsed_s = seconds;
    result->peak_open = options.connections;
}

static void
fail_some(enum failure kind, uint64_t n)
{
    counter_add(&result->tally.started, n);
    counter_add(&result->tally.failed[kind], n);
}

static struct report
new_report(void)
{
    return (struct report){&options, result, &verdict, NULL, "http://a/\"b\"", &no_slo, NULL};
}

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
no_layout_holds_nan_or_inf(void **state)
{
    for (int outcome = 0; outcome < 3; outcome++) {
        if (outcome == 1)
            fail_some(FAIL_CONNECT, 5);
        if (outcome == 2)
            succeed(50, 0.5);
        for (int layout = FORMAT_TEXT; layout <= FORMAT_SIEGE; layout++) {
            struct bytes out = {0};
            struct report r = new_report();
            options.format = (enum format)layout;
            judge(false);
            report_write(&out, &r);
            report_hgrm(&out, &result->tally.span[SPAN_RESPONSE]);
            assert_null(strstr(out.data, "nan"));
            assert_null(strstr(out.data, "inf,"));
            assert_null(strstr(out.data, " inf"));
            bytes_free(&out);
        }
    }
    (void)state;
}

static void
json_is_json_with_the_promised_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "schema",       "url",         "mode",       "connections", "keep_alive",
        "elapsed_s",    "requests",    "failures",   "status",      "ok_per_s",
        "bytes",        "response_us", "service_us", "connect_us",  "connections_opened",
        "client_cpu_s", "verdict",     "reasons"};
    static const char *const span_keys[] = {"min", "mean", "stdev", "p50",  "p75",
                                            "p90", "p95",  "p99",   "p999", "max"};
    succeed(500, 1);
    struct bytes out = {0};
    struct report r = new_report();
    report_json(&out, &r);
    struct json *j = json_parse(out.data);
    assert_non_null(j);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_non_null(json_member(j, keys[i]));
    const struct json *response = json_member(j, "response_us");
    for (size_t i = 0; i < sizeof(span_keys) / sizeof(span_keys[0]); i++)
        assert_non_null(json_member(response, span_keys[i]));
    assert_int_equal(json_member(response, "p95")->type, JSON_NUMBER);
    assert_int_equal(json_member(response, "p99")->type, JSON_NULL); /* 500 are too few */
    assert_string_equal(json_text(json_member(j, "url")), "http://a/\"b\"");
    assert_int_equal(json_whole(json_member(json_member(j, "requests"), "ok")), 500);
    json_free(j);
    bytes_free(&out);
}

static void
merging_doubles_what_is_merged_twice(void **state)
{
    (void)state;
    char path[] = "/tmp/client-report-XXXXXX", message[200];
    succeed(2000, 1);
    fail_some(FAIL_STATUS, 3);
    int fd = mkstemp(path);
    struct bytes out = {0};
    struct report r = new_report();
    report_json(&out, &r);
    assert_int_equal(write(fd, out.data, out.length), out.length);
    close(fd);
    struct result *sum = calloc(1, sizeof(*sum));
    struct options o = {0};
    assert_non_null(sum);
    for (int i = 0; i < 2; i++)
        assert_int_equal(merge_file(sum, &o, &verdict, path, message, sizeof(message)), 0);
    assert_int_equal(counter_get(&sum->tally.ok), 4000);
    assert_int_equal(tally_failed(&sum->tally), 6);
    assert_true(sum->accounting_closes);
    const struct histogram *whole = &sum->tally.span[SPAN_RESPONSE];
    const struct histogram *half = &result->tally.span[SPAN_RESPONSE];
    assert_int_equal(histogram_count(whole), 4000);
    assert_int_equal(histogram_quantile(whole, 0.99), histogram_quantile(half, 0.99));
    assert_int_equal(histogram_max(whole), histogram_max(half));
    assert_int_equal(histogram_min(whole), histogram_min(half));
    assert_true(histogram_mean(whole) == histogram_mean(half));
    assert_int_equal(o.connections, 20);
    free((char *)o.url);
    free(sum);
    unlink(path);
    bytes_free(&out);
}

static void
broken_results_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[1,2",
        "{\"schema\":1",
        "{\"schema\":1}",
        "nonsense",
        "{\"schema\":2}",
        "{\"schema\":1,\"histograms\":{\"sub_bits\":10,\"response\":{\"slots\":[1]}}}",
        "{\"schema\":1,\"histograms\":{\"sub_bits\":10,\"response\":{\"slots\":[99999999,1]}}}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char path[] = "/tmp/client-report-XXXXXX", message[200] = "";
        int fd = mkstemp(path);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        close(fd);
        struct options o = {0};
        assert_int_equal(merge_file(result, &o, &verdict, path, message, sizeof(message)), -1);
        assert_non_null(strstr(message, path));
        free((char *)o.url);
        unlink(path);
    }
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

static void
the_percentile_table_ends_at_the_maximum(void **state)
{
    (void)state;
    succeed(5000, 2);
    struct bytes out = {0};
    report_hgrm(&out, &result->tally.span[SPAN_RESPONSE]);
    double value, percentile, last = 0;
    unsigned long long count = 0;
    for (const char *line = strchr(out.data, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (sscanf(line, "%lf %lf %llu", &value, &percentile, &count) != 3)
            continue;
        assert_true(value >= last);
        assert_true((double)count >= percentile * 5000 - 1e-6);
        last = value;
    }
    assert_true(percentile == 1 && count == 5000);
    bytes_free(&out);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, drop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_layout_holds_nan_or_inf),
        TEST(json_is_json_with_the_promised_keys),
        TEST(merging_doubles_what_is_merged_twice),
        TEST(broken_results_are_refused),
        TEST(the_accounting_is_checked),
        TEST(a_quiet_closed_loop_is_valid_and_labelled),
        TEST(a_busy_client_is_suspect_then_invalid),
        TEST(waiting_for_a_processor_is_told),
        TEST(littles_law_shows_idle_connections),
        TEST(an_open_loop_that_falls_behind_is_invalid),
        TEST(lateness_is_compared_with_the_tail),
        TEST(exhaustion_is_named_with_its_remedy),
        TEST(starved_fastcgi_connections_are_named),
        TEST(nothing_succeeded_is_invalid),
        TEST(objectives_hold_or_not),
        TEST(objectives_that_mean_nothing_are_refused),
        TEST(the_percentile_table_ends_at_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
