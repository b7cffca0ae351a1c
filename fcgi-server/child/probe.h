/* SPDX-License-Identifier: MIT */
/*
 * probe.h - tries the handlers out in a process that may die, so that the master
 * never maps their code and a broken one stops the start, not the first request.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stddef.h>

struct config;

enum probe_result {
    PROBE_GOOD = 0,
    PROBE_BAD = 1,    /* a handler cannot be loaded */
    PROBE_SYSTEM = 2, /* no process could be made */
};

/* Loads every handler of <config> as a child would. Anything but PROBE_GOOD comes
 * with a reason in <error>, which names the file. */
enum probe_result probe_handlers(const struct config *config, char *error, size_t error_size);

#endif
