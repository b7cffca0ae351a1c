/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the one clock that latencies are measured with: monotonic,
 * nanoseconds, read through the vDSO without entering the kernel.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)
#define NEVER_NS  UINT64_MAX

/* Nanoseconds of <clock>; the epoch depends on the clock. */
static inline uint64_t
clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Nanoseconds since an arbitrary start that never steps back. */
static inline uint64_t
clock_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#endif
