/* SPDX-License-Identifier: MIT */
/*
 * master.h - the supervisor: starts and replaces children, resizes the pool, reloads, stops.
 * Runs no handler code and sees no request.
 */
#ifndef MASTER_H
#define MASTER_H

#include "master/listener.h"

struct config;
struct succession;

/* Supervises until it is told to stop. <listener> is open; <succession> is what a
 * former master left behind, or NULL. Returns the exit status: 0, or 111 when it could
 * not start. May not return at all: a reload replaces the process image. */
int master_run(const struct config *config, struct listener *listener,
               struct succession *succession, char **argv);

#endif
