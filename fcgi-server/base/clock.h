/* SPDX-License-Identifier: MIT */
/* clock.h - the monotonic clock, and the wall clock. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC: for intervals and deadlines. */
static inline int64_t
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Milliseconds of CLOCK_MONOTONIC. */
static inline int64_t
clock_ms(void)
{
    return clock_ns() / 1000000;
}

/* Milliseconds since 1970: for logs and status. */
static inline int64_t
clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
