/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/load/url.c bench/load-client/protocol/digest.c */
/* links: bench/load-client/report/search.c bench/load-client/load/options.c bench/load-client/protocol/bytes.c */
/* The small parts of the load client: addresses, pacing, digests, option values, the search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By path: the server has headers of the same names. */
#include "load/options.h"
#include "load/pace.h"
#include "load/url.h"
#include "protocol/digest.h"
#include "report/search.h"

static void
addresses_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *socket, *host, *port, *authority, *target;
        bool fcgi;
    } rows[] = {
        {"http://a", "", "a", "80", "a", "/", false},
        {"http://a:81/p?q=/:x", "", "a", "81", "a:81", "/p?q=/:x", false},
        {"http://[::1]:8080/", "", "::1", "8080", "[::1]:8080", "/", false},
        {"http://[fe80::1]/x", "", "fe80::1", "80", "[fe80::1]", "/x", false},
        {"fcgi://h:9000/a.php?x=1", "", "h", "9000", "h:9000", "/a.php?x=1", true},
        {"http+unix:/run/a b/s:/p", "/run/a b/s", "localhost", "", "localhost", "/p", false},
        {"http+unix:/run/s:/p q", NULL, "", "", "", "", false},
        {"http://a/p#q", NULL, "", "", "", "", false},
        {"http+unix:/run/s:/p?q", "/run/s", "localhost", "", "localhost", "/p?q", false},
        {"fcgi+unix:/run/s", "/run/s", "localhost", "", "localhost", "/", true},
        {"https://a/", NULL, "", "", "", "", false},
        {"fcgi://a/", NULL, "", "", "", "", false},
        {"http://a:0/", NULL, "", "", "", "", false},
        {"http://a:65536/", NULL, "", "", "", "", false},
        {"http://a:8x/", NULL, "", "", "", "", false},
        {"http://:80/", NULL, "", "", "", "", false},
        {"http://[::1/", NULL, "", "", "", "", false},
        {"http://[::1]x:8/", NULL, "", "", "", "", false},
        {"http://a?q", NULL, "", "", "", "", false},
        {"http+unix:run/s:/p", NULL, "", "", "", "", false},
        {"fcgi+unix:/run/s:p", NULL, "", "", "", "", false},
        {"a:80/", NULL, "", "", "", "", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct url url;
        char message[300] = "";
        int got = url_parse(&url, rows[i].text, message, sizeof(message));
        assert_int_equal(got, rows[i].socket ? 0 : -1);
        if (got == -1) {
            assert_non_null(strstr(message, rows[i].text));
            continue;
        }
        assert_string_equal(url.socket, rows[i].socket);
        assert_string_equal(url.host, rows[i].host);
        assert_string_equal(url.port, rows[i].port);
        assert_string_equal(url.authority, rows[i].authority);
        assert_string_equal(url.target, rows[i].target);
        assert_int_equal(url.fcgi, rows[i].fcgi);
    }
}

static void
a_socket_path_over_107_bytes_is_refused(void **state)
{
    (void)state;
    char text[200] = "fcgi+unix:/", message[300];
    struct url url;
    memset(text + 11, 'x', 106);
    assert_int_equal(url_parse(&url, text, message, sizeof(message)), 0);
    assert_int_equal(strlen(url.socket), 107);
    memset(text + 11, 'x', 107);
    assert_int_equal(url_parse(&url, text, message, sizeof(message)), -1);
    assert_non_null(strstr(message, "107"));
}

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

static void
a_digest_depends_on_the_bytes_and_not_on_the_cuts(void **state)
{
    (void)state;
    char bytes[100];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37);
    struct digest whole = {0};
    digest_add(&whole, bytes, sizeof(bytes));
    for (size_t a = 0; a <= sizeof(bytes); a++) {
        for (size_t b = a; b <= sizeof(bytes); b++) {
            struct digest d = {0};
            digest_add(&d, bytes, a);
            digest_add(&d, bytes + a, b - a);
            digest_add(&d, bytes + b, sizeof(bytes) - b);
            assert_int_equal(digest_value(&d), digest_value(&whole));
        }
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        struct digest d = {0};
        bytes[i] ^= 1;
        digest_add(&d, bytes, sizeof(bytes));
        bytes[i] ^= 1;
        assert_int_not_equal(digest_value(&d), digest_value(&whole));
    }
    struct digest shorter = {0}, zeros = {0}, nothing = {0};
    digest_add(&shorter, bytes, sizeof(bytes) - 1);
    digest_add(&zeros, "\0", 1);
    assert_int_not_equal(digest_value(&shorter), digest_value(&whole));
    assert_int_not_equal(digest_value(&zeros), digest_value(&nothing));
}

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
    assert_true(status_set_has(&o.expect_status, 204) && status_set_has(&o.expect_status, 304));
    assert_false(status_set_has(&o.expect_status, 302) || status_set_has(&o.expect_status, 500));
    assert_int_equal(parse(&o, "--expect-status 404,5xx http://a/"), 0);
    assert_true(status_set_has(&o.expect_status, 404) && status_set_has(&o.expect_status, 599));
    assert_false(status_set_has(&o.expect_status, 200));
}

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
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(a_socket_path_over_107_bytes_is_refused),
        cmocka_unit_test(threads_share_the_schedule_evenly_and_without_drift),
        cmocka_unit_test(the_schedule_ends_and_says_what_is_overdue),
        cmocka_unit_test(a_digest_depends_on_the_bytes_and_not_on_the_cuts),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(options_mean_what_ab_users_expect),
        cmocka_unit_test(expected_statuses_are_codes_and_classes),
        cmocka_unit_test(the_search_comes_within_three_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
