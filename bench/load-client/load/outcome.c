/* SPDX-License-Identifier: MIT */
/* outcome.c - see outcome.h */
#include "load/outcome.h"

#include <stdio.h>

/* Keeps the first failure of each kind in words, for the report. */
static void
note_example(struct worker *w, struct connection *c, enum failure kind, const char *why)
{
    char *text = w->example[kind].text;
    const struct answer *a = &c->answer;
    if (*text != '\0')
        return;
    int n = snprintf(text, sizeof(w->example[kind].text), "%s: %s", c->request->label, why);
    if (n < 0 || (size_t)n >= sizeof(w->example[kind].text) || a->status == 0)
        return;
    char excerpt[ANSWER_EXCERPT + 1];
    for (int i = 0; i < a->excerpt_length; i++)
        excerpt[i] = a->excerpt[i] >= ' ' && a->excerpt[i] <= '~' ? a->excerpt[i] : '.';
    excerpt[a->excerpt_length] = '\0';
    snprintf(text + n, sizeof(w->example[kind].text) - (size_t)n,
             " (status %u, body of %llu bytes, digest %016llx, begins '%s')", a->status,
             (unsigned long long)a->body.length, (unsigned long long)digest_value(&a->body),
             excerpt);
}

/* The request is over: the slot has none now. */
static void
release(struct worker *w, struct connection *c)
{
    counter_set(&w->tally->busy, --w->busy);
    if (c->measured)
        counter_add(&w->tally->busy_ns, w->now_ns - c->begun_ns);
}

static void
count_status(struct worker *w, const struct answer *a)
{
    unsigned class = a->status / 100;
    counter_add(&w->tally->status[class < 6 ? class : 0], 1);
}

static void
count_times(struct worker *w, const struct connection *c)
{
    struct tally *t = w->tally;
    histogram_record(&t->span[SPAN_RESPONSE], w->now_ns - c->intended_ns);
    histogram_record(&t->span[SPAN_SERVICE], w->now_ns - c->sent_ns);
    histogram_record(&t->span[SPAN_FIRST_BYTE], c->first_ns - c->sent_ns);
}

/* A complete answer of a measured request: right or wrong. */
static void
count_answer(struct worker *w, struct connection *c, enum failure kind)
{
    static const char *const why[] = {
        [FAIL_STATUS] = "unexpected status",
        [FAIL_LENGTH] = "body of another length than expected",
        [FAIL_BODY] = "body differs from the expected one",
    };
    struct tally *t = w->tally;
    const struct answer *a = &c->answer;
    count_status(w, a);
    counter_add(&t->body_bytes, a->body.length);
    if (a->stderr_bytes > 0)
        counter_add(&t->event[EVENT_STDERR_BYTES], a->stderr_bytes);
    if (a->app_status)
        tally_event(t, EVENT_APP_STATUS);
    if (kind != FAILURES) {
        counter_add(&t->failed[kind], 1);
        histogram_record(&t->span[SPAN_FAILED], w->now_ns - c->intended_ns);
        note_example(w, c, kind, why[kind]);
        return;
    }
    counter_add(&t->ok, 1);
    count_times(w, c);
}

void
outcome_answered(struct worker *w, struct connection *c)
{
    enum failure kind = expect_judge(&c->request->expect, &c->answer);
    if (c->measured)
        count_answer(w, c, kind);
    else
        tally_event(w->tally, EVENT_WARMUP);
    release(w, c);
}

void
outcome_failed(struct worker *w, struct connection *c, enum failure kind, const char *why)
{
    struct tally *t = w->tally;
    if (c->measured) {
        counter_add(&t->failed[kind], 1);
        enum span span = kind == FAIL_TIMEOUT ? SPAN_RESPONSE : SPAN_FAILED;
        histogram_record(&t->span[span], w->now_ns - c->intended_ns);
        note_example(w, c, kind, why);
    } else {
        tally_event(t, EVENT_WARMUP);
    }
    release(w, c);
}
