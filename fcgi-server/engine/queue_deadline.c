/* SPDX-License-Identifier: MIT */
#include "engine/queue_deadline.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "request/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DAY_MS    INT64_C(86400000)
#define FUTURE_MS 1000 /* two clocks that agree still differ a little */

/* The digits after a point, in thousandths; -1 if anything else follows them. */
static int64_t
parse_fraction(const char *text)
{
    int64_t thousandths = 0;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || text[length] != '\0')
        return -1;
    for (size_t i = 0; i < 3; i++)
        thousandths = thousandths * 10 + (i < length ? text[i] - '0' : 0);
    return thousandths;
}

int64_t
queue_deadline_parse(const char *text, int64_t now_ms)
{
    /* The milliseconds in one unit. The size of the number tells the unit: only one fits the year.
     */
    static const struct {
        int64_t factor;
        int64_t divisor;
    } units[] = {{1000, 1}, {1, 1}, {1, 1000}};
    int64_t whole = 0;
    int64_t fraction = 0;
    if (strncmp(text, "t=", 2) == 0)
        text += 2;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 17)
        return -1;
    for (size_t i = 0; i < digits; i++)
        whole = whole * 10 + (text[i] - '0');
    if (text[digits] == '.')
        fraction = parse_fraction(text + digits + 1);
    if (fraction == -1 || (text[digits] != '\0' && text[digits] != '.'))
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].factor > 1 && digits > 11)
            continue; /* not in seconds, and too large to multiply */
        int64_t start_ms = whole * units[i].factor / units[i].divisor;
        start_ms += units[i].factor > 1 ? fraction : 0;
        if (start_ms >= now_ms - DAY_MS && start_ms <= now_ms + FUTURE_MS)
            return start_ms;
    }
    return -1;
}

int
queue_deadline_check(const struct config *config, const struct request *request)
{
    static bool told;
    const char *text =
        config->queue_deadline_ms == 0 ? NULL : request_param(request, "REQUEST_START", NULL);
    if (text == NULL || *text == '\0')
        return 0;
    int64_t now_ms = clock_wall_ms();
    int64_t start_ms = queue_deadline_parse(text, now_ms);
    if (start_ms != -1)
        return now_ms - start_ms > (int64_t)config->queue_deadline_ms ? 503 : 0;
    if (!told) {
        log_warn("queue_deadline is off for requests whose REQUEST_START is like '%.40s': expected "
                 "the time now, in seconds, milliseconds or microseconds since 1970; do the clocks "
                 "of this machine and the web server agree?",
                 text);
    }
    told = true;
    return 0;
}
