/* SPDX-License-Identifier: MIT */
/*
 * expect.h - what a right answer to a request looks like. What the user does
 * not say is taken from the first answer whose status counts as success; from
 * then on every answer must have its length and digest.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include "load/options.h"
#include "load/tally.h"
#include "protocol/answer.h"

#include <pthread.h>
#include <stdatomic.h>

struct expectation {
    const struct status_set *status;
    bool any_body;      /* neither length nor digest are compared */
    bool fix_length;    /* the user named the length only */
    _Atomic bool known; /* length and digest below are set */
    uint64_t length;
    uint64_t digest;
    uint16_t first_status; /* of the reference; 0: from the user */
    pthread_mutex_t lock;  /* while the reference is taken */
};

/* Fills <e> from the options. 0, or -1 with a reason in <message> (the file of
 * --expect-body cannot be read). */
int expect_init(struct expectation *e, const struct options *o, char *message, size_t size);

/* Judges a complete answer; the first one with a good status becomes the
 * reference. Any thread may call it. Returns FAILURES when the answer is as
 * expected, else FAIL_STATUS, FAIL_LENGTH or FAIL_BODY. */
enum failure expect_judge(struct expectation *e, const struct answer *answer);

#endif
