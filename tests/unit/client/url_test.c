/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/load/url.c */
/* Addresses are taken apart, or refused with the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "load/url.h"

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
        {"http://a/p\x7f", NULL, "", "", "", "", false},
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
a_password_is_neither_taken_nor_repeated(void **state)
{
    (void)state;
    struct url url;
    char message[300];
    assert_int_equal(url_parse(&url, "http://me:secret@a/", message, sizeof(message)), -1);
    assert_non_null(strstr(message, "-H"));
    assert_null(strstr(message, "secret"));
    assert_int_equal(url_parse(&url, "http://a/x@y:z", message, sizeof(message)), 0);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(a_password_is_neither_taken_nor_repeated),
        cmocka_unit_test(a_socket_path_over_107_bytes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
