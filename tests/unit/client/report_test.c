/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/report.c bench/load-client/report/figures.c bench/load-client/report/report_text.c bench/load-client/report/report_json.c */
/* links: bench/load-client/report/report_csv.c bench/load-client/report/report_ab.c bench/load-client/report/report_siege.c bench/load-client/report/report_hgrm.c */
/* links: bench/load-client/report/slo.c bench/load-client/report/verdict.c bench/load-client/report/json.c */
/* links: bench/load-client/load/options.c bench/load-client/load/tally.c bench/load-client/load/histogram.c bench/load-client/load/result.c bench/load-client/protocol/bytes.c */
/* Every layout on results that are made up: nothing is nan or inf, JSON is JSON. */
#include "made_up.h"

#include <stdio.h>
#include <string.h>

#include "report/json.h"
#include "report/report.h"

static struct verdict verdict;
static struct slo no_slo;

static struct report
new_report(void)
{
    return (struct report){&options, result, &verdict, NULL, "http://a/\"b\"", &no_slo, NULL};
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
            verdict_judge(&verdict, result, &(struct circumstances){&options, false, true, 28000});
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_layout_holds_nan_or_inf),
        TEST(json_is_json_with_the_promised_keys),
        TEST(the_percentile_table_ends_at_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
