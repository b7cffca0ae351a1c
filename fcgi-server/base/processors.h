/* SPDX-License-Identifier: MIT */
/*
 * processors.h - how many processors this process may use, by its affinity and by the
 * CPU quotas of its control groups allow (cgroups(7), versions 1 and 2, all levels).
 */
#ifndef PROCESSORS_H
#define PROCESSORS_H

#include <stdbool.h>

/* Whole processors that children could keep busy: the smaller of the affinity and the tightest
 * quota, rounded up; 1 at least. <quota_is_less> tells whether a quota decided. <root> is
 * prepended to /proc and to the mounts of control groups: "" for the system itself. Asks the kernel
 * for the affinity; opens and closes files. */
int processors_usable(const char *root, bool *quota_is_less);

#endif
