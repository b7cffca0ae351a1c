/* SPDX-License-Identifier: MIT */
/*
 * answer.h - what is known of the answer that a connection is receiving,
 * whatever protocol carries it, and the contract of the two parsers.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include "protocol/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_EXCERPT 40

/* What a parser says after some bytes. */
enum answer_state {
    ANSWER_MORE = 0, /* the answer goes on */
    ANSWER_DONE = 1, /* complete; all bytes were used */
    ANSWER_BAD = 2,  /* not an answer; answer.fault says why */
};

/* Why bytes were not an answer. */
enum answer_fault {
    FAULT_NONE = 0,
    FAULT_MALFORMED,  /* not the protocol */
    FAULT_SURPLUS,    /* bytes after the end of the answer */
    FAULT_BIG_HEADER, /* the header passes the limit */
    FAULT_CUT,        /* the connection ended inside the answer */
    FAULT_EMPTY,      /* the connection ended before the first byte */
    FAULT_OVERLOADED, /* FastCGI: the application refused for lack of room */
    FAULT_REFUSED,    /* FastCGI: another protocol status */
};

struct answer {
    uint16_t status;        /* 0 before it is known */
    uint8_t fault;          /* enum answer_fault */
    bool keep;              /* the server leaves the connection open after it */
    bool header_done;       /* the body begins */
    bool app_status;        /* FastCGI: END_REQUEST carried an exit status other than 0 */
    uint8_t excerpt_length; /* bytes in excerpt */
    char excerpt[ANSWER_EXCERPT];
    uint32_t header_bytes; /* so far */
    uint32_t stderr_bytes; /* FastCGI only */
    const char *reason;    /* the parser's words for the fault; static */
    struct digest body;    /* length and digest of the body so far */
};

/* Adds <n> bytes to the body. */
static inline void
answer_body(struct answer *a, const char *data, size_t n)
{
    while (a->excerpt_length < ANSWER_EXCERPT && a->excerpt_length < a->body.length + n) {
        a->excerpt[a->excerpt_length] = data[a->excerpt_length - a->body.length];
        a->excerpt_length++;
    }
    digest_add(&a->body, data, n);
}

/* Notes a fault; returns ANSWER_BAD for the caller to return. */
static inline enum answer_state
answer_fail(struct answer *a, enum answer_fault fault, const char *reason)
{
    a->fault = (uint8_t)fault;
    a->reason = reason;
    return ANSWER_BAD;
}

#endif
