/* SPDX-License-Identifier: MIT */
/* made_up.h - a result that is made up, for tests of what is made from results. */
#ifndef MADE_UP_H
#define MADE_UP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "load/clock.h"
#include "load/result.h"

static struct options options;
static struct result *result;

static int
fresh(void **state)
{
    (void)state;
    options = (struct options){.connections = 10, .threads = 1, .keep_alive = true};
    result = calloc(1, sizeof(*result));
    result->accounting_closes = true;
    return result == NULL ? -1 : 0;
}

static int
drop(void **state)
{
    (void)state;
    free(result);
    return 0;
}

static inline void
succeed(uint64_t ok, double seconds)
{
    struct tally *t = &result->tally;
    for (uint64_t i = 0; i < ok; i++) {
        histogram_record(&t->span[SPAN_RESPONSE], NS_PER_MS + i * NS_PER_MS / ok);
        histogram_record(&t->span[SPAN_SERVICE], NS_PER_MS);
    }
    counter_add(&t->started, ok);
    counter_add(&t->ok, ok);
    counter_add(&t->status[2], ok);
    counter_add(&t->busy_ns, (uint64_t)(seconds * 1e9) * options.connections);
    result->elapsed_s = seconds;
    result->peak_open = result->connections = options.connections;
    result_complete(result);
}

static inline void
fail_some(enum failure kind, uint64_t n)
{
    counter_add(&result->tally.started, n);
    counter_add(&result->tally.failed[kind], n);
    histogram_record_many(&result->tally.span[kind == FAIL_TIMEOUT ? SPAN_RESPONSE : SPAN_FAILED],
                          NS_PER_MS, n);
    result_complete(result);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, drop)

#endif
