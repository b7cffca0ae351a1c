/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/report/merge.c bench/load-client/report/json.c bench/load-client/report/verdict.c bench/load-client/report/figures.c bench/load-client/report/report_json.c */
/* links: bench/load-client/report/slo.c bench/load-client/load/options.c bench/load-client/load/tally.c bench/load-client/load/histogram.c bench/load-client/load/result.c bench/load-client/protocol/bytes.c */
/* What is merged is neither more nor less than its parts. */
#include "made_up.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/merge.h"
#include "report/report.h"

static struct verdict verdict;
static struct slo no_slo;

static struct report
new_report(void)
{
    return (struct report){&options, result, &verdict, NULL, "http://a/\"b\"", &no_slo, NULL};
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(merging_doubles_what_is_merged_twice),
        TEST(broken_results_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
