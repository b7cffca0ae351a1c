/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/engine/queue_deadline.c fcgi-server/request/request.c fcgi-server/request/record.c */
/* links: fcgi-server/request/arena.c */
/* REQUEST_START as front ends write it, and what is no time. */
#include "base/log.h"
#include "engine/queue_deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1796639384990)

void
log_line(enum log_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

static void
times(void **state)
{
    static const struct {
        const char *text;
        int64_t start_ms;
    } rows[] = {
        {"1796639384.990", NOW},         {"1796639384.9", NOW - 90},    {"1796639384.990123", NOW},
        {"1796639384", NOW - 990},       {"t=1796639384.990", NOW},     {"1796639384990", NOW},
        {"1796639384990.25", NOW},       {"t=1796639384990123", NOW},   {"1796639384990123", NOW},
        {"1796639300.000", NOW - 84990}, {"1796639385.900", NOW + 910},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(queue_deadline_parse(rows[i].text, NOW), rows[i].start_ms);
}

static void
no_times(void **state)
{
    static const char *const rows[] = {
        "",
        "1",
        "0",
        "12abc",
        "0x10",
        "-1796639384",
        "+1796639384",
        " 1796639384",
        "1796639384 ",
        "1796639384.",
        "1796639384.99x",
        "1796639384,990",
        "1.796639384e9",
        "t=",
        "t=t=1796639384",
        "nan",
        "inf",
        "1796539384.990",      /* more than a day ago */
        "1796639390.000",      /* five seconds ahead */
        "1796639384990123456", /* nanoseconds: nobody writes them */
        "99999999999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(queue_deadline_parse(rows[i], NOW), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times), cmocka_unit_test(no_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
