/* SPDX-License-Identifier: MIT */
/*
 * pool_size.h - starts and retires children, as pm.h decides and respawn.h allows.
 */
#ifndef POOL_SIZE_H
#define POOL_SIZE_H

#include "master/pm.h"

#include <stdbool.h>

struct master;

/* The pool as it is now. */
struct pm_view pool_size_view(struct master *master);

/* Starts and retires children as needed. <tick>: a second has passed since the last
 * call with it. Does nothing when the server stops. */
void pool_size_adjust(struct master *master, bool tick);

#endif
