/* SPDX-License-Identifier: MIT */
/*
 * tally.h - what one thread has counted, and the sum of all threads. Every
 * request that was started is ok, failed in exactly one way, or in flight.
 */
#ifndef TALLY_H
#define TALLY_H

#include "load/counter.h"
#include "load/histogram.h"

#include <stdbool.h>

/* Ways to fail; each failed request counts once, here. */
enum failure {
    FAIL_CONNECT = 0, /* no connection, or not in time */
    FAIL_SEND,        /* the request could not be written */
    FAIL_RECEIVE,     /* the connection broke before the answer was complete */
    FAIL_TIMEOUT,     /* no complete answer in time */
    FAIL_PROTOCOL,    /* what came is not an answer */
    FAIL_STATUS,      /* an answer with a status that does not count as success */
    FAIL_LENGTH,      /* a body of another length than expected */
    FAIL_BODY,        /* a body of the right length that differs */
    FAILURES
};

/* Things that happened, for diagnosis; not a partition of anything. */
enum event {
    EVENT_OPENED = 0,      /* connections established */
    EVENT_REUSED,          /* requests sent on a kept connection */
    EVENT_SERVER_CLOSED,   /* kept connections that the server ended between requests */
    EVENT_REDONE,          /* requests sent again: the kept connection closed unread */
    EVENT_REFUSED,         /* connects refused */
    EVENT_QUEUE_FULL,      /* connects turned away by a full listen queue (unix sockets) */
    EVENT_CONNECT_TIMEOUT, /* connects not answered in time */
    EVENT_NEXT_ADDRESS,    /* connects that went on to the next address */
    EVENT_NO_PORTS,        /* no free local port (EADDRNOTAVAIL) */
    EVENT_NO_DESCRIPTORS,  /* EMFILE or ENFILE */
    EVENT_RESET,           /* connections reset by the server */
    EVENT_CLOSED_EARLY,    /* closed before the first byte of an answer */
    EVENT_CUT,             /* closed inside an answer */
    EVENT_SURPLUS,         /* bytes behind an answer */
    EVENT_BIG_HEADER,      /* header over the limit */
    EVENT_OVERLOADED,      /* FastCGI OVERLOADED */
    EVENT_APP_STATUS,      /* FastCGI answers with an exit status other than 0 */
    EVENT_STDERR_BYTES,    /* FastCGI error output */
    EVENT_ANSWERED_EARLY,  /* answers complete before the request was sent in full */
    EVENT_NEVER_SERVED,    /* connections that got no byte in half of the run or more */
    EVENT_QUEUED,          /* open loop: requests that waited for a free connection */
    EVENT_UNSENT,          /* open loop: requests due at the end that were not sent */
    EVENT_LEFT_OPEN,       /* connections that the server did not close though asked to */
    EVENT_WARMUP,          /* requests completed or failed that began in the warm-up */
    EVENTS
};

/* Times that are measured; all in nanoseconds. */
enum span {
    SPAN_RESPONSE = 0, /* from the intended start (closed loop: the actual one,
                          before connecting) to the last byte; time-outs included */
    SPAN_SERVICE,      /* from the send to the last byte */
    SPAN_CONNECT,      /* of each connection */
    SPAN_FIRST_BYTE,   /* from the send to the first byte */
    SPAN_FAILED,       /* of failed requests, time-outs apart: from the intended start to the end */
    SPAN_IN_FLIGHT,    /* age, at the end, of what was in flight or due and not sent */
    SPAN_LAG,          /* open loop: how late a request was sent though a connection was free */
    SPANS
};

/* Pauses that the client makes by itself; they must never set a rate in silence. */
enum pause {
    PAUSE_CLOSING = 0, /* for the server to close a connection that it has to close */
    PAUSE_BACKOFF,     /* after failed connects */
    PAUSES
};

extern const char *const tally_pause_names[PAUSES];
extern const char *const tally_failure_names[FAILURES];
extern const char *const tally_event_names[EVENTS];
extern const char *const tally_span_names[SPANS];

/* One thread writes; the reporting thread may read meanwhile. All zero is empty. */
struct tally {
    struct counter started;
    struct counter ok;
    struct counter in_flight; /* at the end */
    struct counter failed[FAILURES];
    struct counter event[EVENTS];
    struct counter status[6]; /* answers by status class; [0] outside 1xx..5xx */
    struct counter sent_bytes;
    struct counter received_bytes;
    struct counter body_bytes;
    struct counter paused_ns[PAUSES]; /* time of connections, summed */
    struct counter open;              /* connections established at this moment */
    struct counter busy;              /* connections that have a request at this moment */
    struct counter busy_ns;           /* time that connections spent with a request, summed */
    struct histogram span[SPANS];
};

/* Sum of all ways to fail. */
unsigned long long tally_failed(const struct tally *t);

/* started = ok + failed + in flight? Holds at the end of every run. */
bool tally_closes(const struct tally *t);

/* Adds all of <from> to <to>. */
void tally_add(struct tally *to, const struct tally *from);

/* How often <event> happened. */
static inline unsigned long long
tally_count(const struct tally *t, enum event event)
{
    return counter_get(&t->event[event]);
}

/* It happened once more. */
static inline void
tally_event(struct tally *t, enum event event)
{
    counter_add(&t->event[event], 1);
}

#endif
