/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/config/config_load.c fcgi-server/config/options.c fcgi-server/config/option_value.c fcgi-server/base/processors.c fcgi-server/base/program.c */
/* links: fcgi-server/config/config_file.c fcgi-server/config/client_list.c fcgi-server/base/descriptors.c */
/* Options from the table, the file and the command line; allowed clients. */
#include "config/client_list.h"
#include "config/config.h"
#include "config/config_load.h"
#include "config/options.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static struct config_error error;

static int
load(const char *first, ...)
{
    char *argv[16] = {(char[]){"fcgi-server"}};
    int argc = 1;
    va_list rest;
    va_start(rest, first);
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *))
        argv[argc++] = strdup(word);
    va_end(rest);
    error.text[0] = '\0';
    return config_load(&config, argc, argv, &error);
}

static const char *
file_with(const char *text)
{
    static char path[] = "/tmp/config-test-XXXXXX";
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void
units_are_understood(void **state)
{
    (void)state;
    assert_int_equal(load("--stop-timeout", "250ms", "--body-max=2m", "--params-max", "64k",
                          "--keep-timeout=2", "--socket-mode", "0600", NULL),
                     0);
    assert_int_equal(config.stop_timeout_ms, 250);
    assert_int_equal(config.body_max, 2 << 20);
    assert_int_equal(config.params_max, 64 << 10);
    assert_int_equal(config.keep_timeout_ms, 2000);
    assert_int_equal(config.socket_mode, 0600);
}

static void
wrong_values_name_option_and_remedy(void **state)
{
    static const char *const wrong[][2] = {
        {"--children", "-1"},
        {"--children", "4x"},
        {"--children", ""},
        {"--children", " 4"},
        {"--stop-timeout", "5 days"},
        {"--body-max", "1t"},
        {"--pm", "fast"},
        {"--socket-mode", "0999"},
        {"--log-level", "loud"},
        {"--backlog", "99999999"},
        {"--body-max", "99999999999g"},
        {"--engine", "warp"},
        {"--allowed-clients", "x"},
        {"--route", "/x"},
        {"--route", "x=echo.so"},
        {"--route", "/x="},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(load(wrong[i][0], wrong[i][1], NULL), -1);
        assert_true(strlen(error.text) > 10);
    }
    assert_int_equal(load("--no-such-option", NULL), -1);
    assert_non_null(strstr(error.text, "--no-such-option"));
    assert_int_equal(load("stray", NULL), -1);
    assert_int_equal(load("--listen", NULL), -1);
}

static void
children_come_from_the_environment_last(void **state)
{
    (void)state;
    setenv("PHP_FCGI_CHILDREN", "7", 1);
    assert_int_equal(load("-l", "unix:/x", NULL), 0);
    assert_int_equal(config.children, 7);
    setenv("FCGI_CHILDREN", "5", 1);
    assert_int_equal(load(NULL, NULL), 0);
    assert_int_equal(config.children, 5);
    assert_int_equal(load("-n", "3", NULL), 0);
    assert_int_equal(config.children, 3);
    setenv("FCGI_CHILDREN", "many", 1);
    assert_int_equal(load(NULL, NULL), -1);
    assert_non_null(strstr(error.text, "FCGI_CHILDREN"));
    unsetenv("FCGI_CHILDREN");
    unsetenv("PHP_FCGI_CHILDREN");
}

static void
the_command_line_overrides_the_file(void **state)
{
    (void)state;
    const char *path = file_with("children = 2\nslow_ms = 100\nroute('/a/', 'x.so', 'text')\n"
                                 "route('/b', 'y.lua')\n");
    assert_int_equal(load("-n", "9", "-c", path, "-r", "/b=z.so,1,2", NULL), 0);
    assert_int_equal(config.children, 9);
    assert_int_equal(config.slow_ms, 100);
    assert_int_equal(config.route_count, 2);
    assert_string_equal(config.routes[0].prefix, "/a");
    assert_string_equal(config.routes[0].argument, "text");
    assert_non_null(strstr(config.routes[0].origin, ":3"));
    assert_string_equal(config.routes[1].handler, "z.so");
    assert_string_equal(config.routes[1].argument, "1,2");
    unlink(path);
}

static void
a_broken_file_is_named_with_its_line(void **state)
{
    static const char *const broken[] = {
        "children = 1\nchildren = ",  "children = 1\nchildren = {}",
        "pm = 'static'\nnothing = 1", "-- comment\nos.execute('true')",
        "--\nroute('x', 'y.so')",     "--\nlisten = io.open('/etc/passwd')",
        "--\nconfig = 'other'",       "--\nerror('stop here')",
        "--\nchildren = 'many'",      "--\nstring.dump(print)()",
    };
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken - 1; i++) {
        const char *path = file_with(broken[i]);
        assert_int_equal(load("-c", path, NULL), -1);
        assert_non_null(strstr(error.text, ":2"));
        unlink(path);
    }
    assert_int_equal(load("-c", "/nonexistent/file", NULL), -1);
    assert_non_null(strstr(error.text, "/nonexistent/file"));
}

static void
an_endless_file_is_given_up(void **state)
{
    (void)state;
    const char *path = file_with("while true do end");
    assert_int_equal(load("-c", path, NULL), -1);
    assert_non_null(strstr(error.text, "too long"));
    unlink(path);
    path = file_with("while true do pcall(function() while true do end end) end");
    assert_int_equal(load("-c", path, NULL), -1); /* nothing can catch the limit */
    unlink(path);
}

static bool
allows(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return client_list_allows(&config, (struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return client_list_allows(&config, (struct sockaddr *)&v6);
}

static void
clients_are_allowed_by_address_and_network(void **state)
{
    (void)state;
    assert_int_equal(load(NULL, NULL), 0);
    assert_true(allows("192.0.2.1"));
    assert_int_equal(load("--allowed-clients", "127.0.0.1, 10.1.0.0/17,fd00::/7,::1", NULL), 0);
    assert_true(allows("127.0.0.1"));
    assert_true(allows("::ffff:127.0.0.1"));
    assert_true(allows("10.1.127.255"));
    assert_false(allows("10.1.128.0"));
    assert_false(allows("127.0.0.2"));
    assert_true(allows("::1"));
    assert_true(allows("fdff::1"));
    assert_true(allows("fc00::1"));
    assert_false(allows("fe00::1"));
    assert_false(allows("2001:db8::1"));
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    assert_true(client_list_allows(&config, (struct sockaddr *)&local));
    assert_int_equal(load("--allowed-clients", "0.0.0.0/0", NULL), 0);
    assert_true(allows("203.0.113.9"));
    assert_false(allows("2001:db8::1"));
    setenv("FCGI_WEB_SERVER_ADDRS", "192.0.2.7,192.0.2.8", 1);
    assert_int_equal(load(NULL, NULL), 0);
    assert_true(allows("192.0.2.8"));
    assert_false(allows("192.0.2.9"));
    unsetenv("FCGI_WEB_SERVER_ADDRS");
    static const char *const wrong[] = {"10.0.0.0/33", "::/129",      "10.0.0/8",   "host",
                                        "10.0.0.0/",   "10.0.0.0/-1", "10.0.0.0/8x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(load("--allowed-clients", wrong[i], NULL), -1);
}

static void
pm_numbers_must_fit_together(void **state)
{
    (void)state;
    assert_int_equal(load("--pm", "dynamic", "-n", "2", "--min-spare", "4", NULL), -1);
    assert_int_equal(
        load("--pm", "dynamic", "-n", "9", "--min-spare", "4", "--max-spare", "2", NULL), -1);
    assert_int_equal(load("--pm", "dynamic", "--max-children", "9", "--start-servers", "10", NULL),
                     -1);
    assert_int_equal(load("--pm", "dynamic", "--max-children", "9", NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_understood),
        cmocka_unit_test(wrong_values_name_option_and_remedy),
        cmocka_unit_test(children_come_from_the_environment_last),
        cmocka_unit_test(the_command_line_overrides_the_file),
        cmocka_unit_test(a_broken_file_is_named_with_its_line),
        cmocka_unit_test(an_endless_file_is_given_up),
        cmocka_unit_test(clients_are_allowed_by_address_and_network),
        cmocka_unit_test(pm_numbers_must_fit_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
