/* SPDX-License-Identifier: MIT */
/* tally.c - see tally.h */
#include "load/tally.h"

const char *const tally_failure_names[FAILURES] = {
    [FAIL_CONNECT] = "connect", [FAIL_SEND] = "send",         [FAIL_RECEIVE] = "receive",
    [FAIL_TIMEOUT] = "timeout", [FAIL_PROTOCOL] = "protocol", [FAIL_STATUS] = "status",
    [FAIL_LENGTH] = "length",   [FAIL_BODY] = "body",
};

const char *const tally_event_names[EVENTS] = {
    [EVENT_OPENED] = "connections_opened",
    [EVENT_REUSED] = "requests_on_kept",
    [EVENT_SERVER_CLOSED] = "closed_by_server",
    [EVENT_REDONE] = "redone",
    [EVENT_REFUSED] = "refused",
    [EVENT_QUEUE_FULL] = "listen_queue_full",
    [EVENT_CONNECT_TIMEOUT] = "connect_timeout",
    [EVENT_NEXT_ADDRESS] = "next_address",
    [EVENT_NO_PORTS] = "no_ports",
    [EVENT_NO_DESCRIPTORS] = "no_descriptors",
    [EVENT_RESET] = "reset",
    [EVENT_CLOSED_EARLY] = "closed_before_answer",
    [EVENT_CUT] = "closed_inside_answer",
    [EVENT_SURPLUS] = "surplus_bytes",
    [EVENT_BIG_HEADER] = "header_too_large",
    [EVENT_OVERLOADED] = "fcgi_overloaded",
    [EVENT_APP_STATUS] = "fcgi_app_status",
    [EVENT_STDERR_BYTES] = "fcgi_stderr_bytes",
    [EVENT_ANSWERED_EARLY] = "answered_before_sent",
    [EVENT_NEVER_SERVED] = "never_served",
    [EVENT_QUEUED] = "queued",
    [EVENT_UNSENT] = "unsent",
    [EVENT_LEFT_OPEN] = "left_open",
    [EVENT_WARMUP] = "warmup_requests",
};

const char *const tally_span_names[SPANS] = {
    [SPAN_RESPONSE] = "response", [SPAN_SERVICE] = "service",
    [SPAN_CONNECT] = "connect",   [SPAN_FIRST_BYTE] = "first_byte",
    [SPAN_FAILED] = "failed",     [SPAN_IN_FLIGHT] = "in_flight",
    [SPAN_LAG] = "lag",
};

const char *const tally_pause_names[PAUSES] = {
    [PAUSE_CLOSING] = "closing",
    [PAUSE_BACKOFF] = "backoff",
};

unsigned long long
tally_failed(const struct tally *t)
{
    unsigned long long sum = 0;
    for (int i = 0; i < FAILURES; i++)
        sum += counter_get(&t->failed[i]);
    return sum;
}

bool
tally_closes(const struct tally *t)
{
    return counter_get(&t->started) ==
           counter_get(&t->ok) + tally_failed(t) + counter_get(&t->in_flight);
}

static void
add(struct counter *to, const struct counter *from)
{
    counter_add(to, counter_get(from));
}

void
tally_add(struct tally *to, const struct tally *from)
{
    add(&to->started, &from->started);
    add(&to->ok, &from->ok);
    add(&to->in_flight, &from->in_flight);
    for (int i = 0; i < FAILURES; i++)
        add(&to->failed[i], &from->failed[i]);
    for (int i = 0; i < EVENTS; i++)
        add(&to->event[i], &from->event[i]);
    for (int i = 0; i < 6; i++)
        add(&to->status[i], &from->status[i]);
    add(&to->sent_bytes, &from->sent_bytes);
    add(&to->received_bytes, &from->received_bytes);
    add(&to->body_bytes, &from->body_bytes);
    for (int i = 0; i < PAUSES; i++)
        add(&to->paused_ns[i], &from->paused_ns[i]);
    add(&to->open, &from->open);
    add(&to->busy, &from->busy);
    add(&to->busy_ns, &from->busy_ns);
    for (int i = 0; i < SPANS; i++)
        histogram_add(&to->span[i], &from->span[i]);
}
