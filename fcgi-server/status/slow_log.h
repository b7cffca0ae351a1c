/* SPDX-License-Identifier: MIT */
/* slow_log.h - logs requests that take long, with a traceback of their handler. */
#ifndef SLOW_LOG_H
#define SLOW_LOG_H

#include <stdint.h>

/* Writes one entry to the slow log (or the log when there is none): <what> is the request
 * ("GET /path"), <handler> its handler, <trace> a Lua traceback or NULL. */
void slow_log_write(const char *what, const char *handler, uint64_t elapsed_ms, const char *trace);

#endif
