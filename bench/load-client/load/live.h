/* SPDX-License-Identifier: MIT */
/*
 * live.h - what is shown and written while a run is under way: one line per
 * second to standard error, and one JSON line per second to the series file.
 */
#ifndef LIVE_H
#define LIVE_H

#include "load/slots.h"

#include <stdio.h>

struct live {
    const struct shared *run;
    const struct worker *worker;
    size_t workers;
    FILE *series;     /* NULL: none */
    int series_error; /* errno of the first line that could not be written; 0: none */
    bool lines, terminal;
    uint64_t last_ns;
    struct tally *before, *now, *scratch;
};

/* Opens the series file, if one is asked for. 0, or -1 with a message. */
int live_init(struct live *l, const struct shared *run, const struct worker *workers, size_t count,
              char *message, size_t size);

/* Shows what happened since the last call. */
void live_tick(struct live *l);

/* Writes the last, shorter interval and closes the series. Afterwards
 * series_error says whether all of it was written. */
void live_end(struct live *l);

#endif
