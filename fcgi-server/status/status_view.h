/* SPDX-License-Identifier: MIT */
/*
 * status_view.h - the figures of the status, and the three formats; for status.c and
 * status_format.c only.
 */
#ifndef STATUS_VIEW_H
#define STATUS_VIEW_H

#include "status/board.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct config;

struct status_view {
    const struct config *config;
    const struct board *board;
    int64_t now_ms;       /* wall clock */
    int64_t now_ns;       /* monotonic */
    int64_t listen_queue; /* -1: unknown */
    uint64_t max_listen_queue;
    uint64_t max_active;
    uint32_t total;
    uint32_t starting;
    uint32_t draining;
    uint32_t idle;
    uint32_t active;
    uint64_t in_flight;
    uint64_t connections_active;
    uint64_t connections_idle;
    struct board_slot sum; /* counters of all children, also of those that ended */
};

/* Names and meanings are php-fpm's where it has them; <full> adds a part for each
 * child. OpenMetrics uses php-fpm's phpfpm_ names for the same things, so that
 * existing dashboards show them, and fcgi_server_ for the rest. */
void status_write_text(FILE *out, const struct status_view *view, bool full);
void status_write_json(FILE *out, const struct status_view *view, bool full);
void status_write_openmetrics(FILE *out, const struct status_view *view, bool full);

#endif
