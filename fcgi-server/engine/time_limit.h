/* SPDX-License-Identifier: MIT */
/*
 * time_limit.h - slow_ms and request_timeout of the running handler, in either engine: the
 * slow watch checks the time, a signal interrupts the serving thread. Only this module uses
 * SIGURG.
 */
#ifndef TIME_LIMIT_H
#define TIME_LIMIT_H

#include "config/config.h"
#include "engine/slow_watch.h"

#include <stdint.h>

struct board_slot;
struct request;

/* time_limit_keep() returns this when the handler must be ended with its child. */
#define TIME_LIMIT_OVER INT64_MIN

/* Installs the handler of the signal; the caller is the serving thread. */
void time_limit_prepare(void);

/* The serving thread is about to call the handler of <request>; NULL: it has returned
 * from it. Call it with the lock of the watch held. */
void time_limit_run(struct request *request);

/* The request of time_limit_run(); NULL: no handler runs. */
struct request *time_limit_running(void);

/* Enforces the limits of the running request, counted from its <start_ns>: at slow_ms the
 * Lua traceback of the handler is logged; at request_timeout the request is marked timed_out
 * and interrupted. For the slow watch, with the lock held. Returns when to be called
 * again (CLOCK_MONOTONIC, ns), INT64_MAX: not again; TIME_LIMIT_OVER: the handler was
 * interrupted half a second ago and has not returned. */
int64_t time_limit_keep(const struct config *config, const struct slow_watch *watch,
                        int64_t now_ns);

/* Logs that the handler of <request> did not stop, counts it in <slot>, and answers 504 on
 * <fd> if nothing of an answer has been sent. The caller then ends the child. */
void time_limit_give_up(struct board_slot *slot, const struct request *request, int fd);

#endif
