/* SPDX-License-Identifier: MIT */
/*
 * find_max.h - searches the highest rate at which objectives hold: a closed
 * loop shows what the server can do at all, then the interval between a rate
 * that holds and one that does not is halved until it is narrow, and the rate
 * found is measured once more.
 */
#ifndef FIND_MAX_H
#define FIND_MAX_H

#include "report/search.h"
#include "report/slo.h"

/* Runs the search; <result> gets the confirming run. 0, or -1 with a reason in
 * <message>. Each step is shown on standard error unless the options say -q. */
int find_max(struct search *s, struct result *result, const struct options *o,
             struct target *target, const struct slo *slo, char *message, size_t size);

#endif
