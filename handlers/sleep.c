/* SPDX-License-Identifier: MIT */
/*
 * sleep - answers after ?ms= milliseconds (0 to 60000, 400 if absent). Blocks,
 * on purpose: it shows what a handler costs that keeps its child busy. The Lua
 * twin waits instead.
 */
#include "fcgi-handler.h"

#include <errno.h>
#include <time.h>

enum { MS_DEFAULT = 400, MS_MAX = 60000 };

/* The whole number in <text>, or -1 if it is none or over <max>. */
static long
whole_number(const char *text, size_t length, long max)
{
    long value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
        if (value > max)
            return -1;
    }
    return length > 0 ? value : -1;
}

/* To a point in time, not for a duration: signals in between make it no longer. */
static void
sleep_ms(long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static enum fh_result
handle(void *state, struct fh_request *request)
{
    (void)state;
    size_t length = 0;
    const char *text = fh_query(request, "ms", &length);
    long ms = text == NULL ? MS_DEFAULT : whole_number(text, length, MS_MAX);

    fh_header(request, "Content-Type", "text/plain");
    if (ms == -1) {
        fh_status(request, 400);
        fh_print(request, "ms must be a whole number from 0 to %d\n", MS_MAX);
        return FH_OK;
    }
    sleep_ms(ms);
    fh_print(request, "slept %ld ms\n", ms);
    return FH_OK;
}

const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler), .name = "sleep",
                                        .handle = handle};
