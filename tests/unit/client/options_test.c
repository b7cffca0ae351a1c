/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/load/options.c bench/load-client/protocol/bytes.c */
/* The command line: values, units, combinations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load/options.h"

static void
times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {{"500ms", 500000000},  {"2s", 2000000000}, {"1m", 60000000000},
                {"1h", 3600000000000}, {"3", 3000000000},  {"1.5", 1500000000},
                {"100us", 100000},     {"7ns", 7}};
    uint64_t ns;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(options_time(rows[i].text, &ns), 0);
        assert_int_equal(ns, rows[i].ns);
    }
    static const char *const bad[] = {"", "s", "-1s", "1x", "1 s", "nan", "1e99s", "inf"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(options_time(bad[i], &ns), -1);
}

static int
parse(struct options *o, const char *arguments)
{
    static char copy[300];
    char *argv[40] = {"load-client"}, *save, message[300];
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", arguments);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    optind = 1;
    return options_parse(o, argc, argv, message, sizeof(message));
}

static void
options_mean_what_ab_users_expect(void **state)
{
    (void)state;
    struct options o;
    assert_int_equal(parse(&o, "-n 1k -c 10 -k -t 5 -s 3 -H A:b -H C:d http://a/"), 0);
    assert_int_equal(o.requests, 1000);
    assert_int_equal(o.connections, 10);
    assert_int_equal(o.duration_ns, 5000000000);
    assert_int_equal(o.timeout_ns, 3000000000);
    assert_int_equal(o.headers.count, 2);
    assert_true(o.keep_alive);
    free(o.headers.item);
    assert_int_equal(parse(&o, "http://a/"), 0);
    assert_int_equal(o.requests, 1);
    assert_int_equal(parse(&o, "-d 2s -c 2 -j 8 http://a/"), 0);
    assert_int_equal(o.requests, 0);
    assert_int_equal(o.threads, 2);
    static const char *const bad[] = {"",
                                      "http://a/ http://b/",
                                      "-n",
                                      "-n x http://a/",
                                      "-n 1.5 http://a/",
                                      "-c 0 http://a/",
                                      "-f xml http://a/",
                                      "-H noname http://a/",
                                      "-R 0 http://a/",
                                      "--wrong http://a/",
                                      "--expect-status 2x http://a/",
                                      "--think 1s -R 5 http://a/"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(&o, bad[i]), -1);
        free(o.headers.item);
    }
}

static void
expected_statuses_are_codes_and_classes(void **state)
{
    (void)state;
    struct options o;
    assert_int_equal(parse(&o, "http://a/"), 0);
    assert_true(options_status_has(&o.expect_status, 204) &&
                options_status_has(&o.expect_status, 304));
    assert_false(options_status_has(&o.expect_status, 302) ||
                 options_status_has(&o.expect_status, 500));
    assert_int_equal(parse(&o, "--expect-status 404,5xx http://a/"), 0);
    assert_true(options_status_has(&o.expect_status, 404) &&
                options_status_has(&o.expect_status, 599));
    assert_false(options_status_has(&o.expect_status, 200));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(options_mean_what_ab_users_expect),
        cmocka_unit_test(expected_statuses_are_codes_and_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
