/* SPDX-License-Identifier: MIT */
/*
 * probe.h - loads the handlers in a process of their own, so that the master never
 * maps their code, and a broken handler fails at the start, not at the first request.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stddef.h>

struct config;

enum probe_result {
    PROBE_GOOD = 0,
    PROBE_BAD = 1,    /* a handler cannot be loaded */
    PROBE_SYSTEM = 2, /* no process could be started */
};

/* Loads every handler of <config> as a child would. Anything but PROBE_GOOD comes
 * with a reason in <error>, which names the file. */
enum probe_result probe_handlers(const struct config *config, char *error, size_t error_size);

#endif
