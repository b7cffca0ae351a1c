/* SPDX-License-Identifier: MIT */
/*
 * outcome.h - what a request came to: judged, counted, and no longer the
 * slot's. Touches no socket.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "load/slots.h"

/* The answer in <c> is complete: counts it as ok or as the failure it is, with
 * its times as of w->now_ns. Called once for each complete answer. */
void outcome_answered(struct worker *w, struct connection *c);

/* The request failed by <kind>; <why> is kept as the example when it is the
 * first of its kind. A time-out's duration counts as a response time. */
void outcome_failed(struct worker *w, struct connection *c, enum failure kind, const char *why);

#endif
