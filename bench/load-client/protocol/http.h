/* SPDX-License-Identifier: MIT */
/*
 * http.h - HTTP/1 from the client's side: the bytes of a request, and an
 * incremental parser of its answer: llhttp for the header and plain bodies,
 * chunk.h for chunked ones. No I/O.
 */
#ifndef HTTP_H
#define HTTP_H

#include "protocol/answer.h"
#include "protocol/bytes.h"
#include "protocol/chunk.h"

#include <llhttp.h>

/* A parser of one answer. It holds no pointer into the bytes it was fed and
 * may be moved only between answers. */
struct http {
    llhttp_t parser;
    struct answer *answer;
    struct chunk chunk;
    uint32_t header_limit; /* bytes */
    bool head;             /* the request was HEAD: no body follows */
    bool chunked;          /* the body is: llhttp has read the header and no more */
    bool complete;
};

/* Makes ready for the answer to one request. <answer> is cleared and filled by
 * the calls that follow; it must outlive them. */
void http_start(struct http *h, struct answer *answer, bool head, uint32_t header_limit);

/* Takes the next <n> bytes, cut anywhere. Interim answers (1xx) are skipped.
 * Bytes behind the end of the answer are FAULT_SURPLUS. */
enum answer_state http_feed(struct http *h, const char *data, size_t n);

/* The connection ended: completes a body that the end delimits, else it is
 * FAULT_CUT or FAULT_EMPTY. */
enum answer_state http_end(struct http *h);

/* Finds header <name> (without colon) in the raw bytes of a header and copies
 * its value, cut to <size> - 1 bytes, to <value>. Returns whether it is there. */
bool http_header(const char *data, size_t n, const char *name, char *value, size_t size);

/* What a request is built from. */
struct http_request {
    const char *method;
    const char *target;   /* path and query */
    const char *host;     /* for the Host header, unless <headers> have one */
    char *const *headers; /* "Name: value" */
    size_t header_count;
    const char *content_type; /* NULL: none */
    const char *body;         /* NULL: no body and no Content-Length */
    size_t body_length;
    bool keep_alive; /* false adds "Connection: close" */
};

/* Appends the bytes of the request to <out>. */
void http_request_bytes(struct bytes *out, const struct http_request *request);

#endif
