/* SPDX-License-Identifier: MIT */
/*
 * calendar.h - dates as the server writes them. The time zone is read once, before handler
 * code runs; from then on neither TZ nor a locale changes a date.
 */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stddef.h>
#include <stdint.h>

/* Room for any of the texts below. */
#define CALENDAR_SIZE 64

/* Reads all changes of the offset from UTC for the next 20 years. Before this call dates are
 * in UTC. */
void calendar_open(void);

/* Writes a date and returns its length. <wall_ms>: milliseconds since 1970. */
size_t calendar_precise(char text[static CALENDAR_SIZE],
                        int64_t wall_ms); /* 2026-01-31T12:00:00.123+0100 */
size_t calendar_iso(char text[static CALENDAR_SIZE],
                    int64_t wall_ms); /* 2026-01-31T12:00:00+0100 */
size_t calendar_common(char text[static CALENDAR_SIZE],
                       int64_t wall_ms); /* 31/Jan/2026:12:00:00 +0100 */

#endif
