/* SPDX-License-Identifier: MIT */
/*
 * processors.h - how many processors this process may use: those of its affinity, and what the
 * CPU quotas of its control groups allow (cgroups(7), versions 1 and 2, all levels).
 */
#ifndef PROCESSORS_H
#define PROCESSORS_H

#include <stdbool.h>

/* Whole processors that children could keep busy: the smaller of the affinity and the tightest
 * quota, rounded up; 1 at least. <quota_is_less> says whether a quota decided. <root> comes
 * before /proc and before the mounted control groups: "" for the system. Asks the kernel for
 * the affinity; opens and closes files. */
int processors_usable(const char *root, bool *quota_is_less);

#endif
