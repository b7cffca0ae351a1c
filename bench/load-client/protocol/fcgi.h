/* SPDX-License-Identifier: MIT */
/*
 * fcgi.h - FastCGI 1.0 from the web server's side: the bytes of a request, and
 * an incremental parser of its answer (records, then the CGI header inside
 * them). No I/O. The format is that of the FastCGI specification, sections 3
 * to 6; the header inside STDOUT is that of RFC 3875, section 6.
 */
#ifndef FCGI_H
#define FCGI_H

#include "protocol/answer.h"
#include "protocol/bytes.h"

/* A parser of one answer. */
struct fcgi {
    struct answer *answer;
    uint32_t header_limit; /* of the CGI header, bytes */
    uint16_t content_left; /* of the current record */
    uint8_t padding_left;
    uint8_t head_length; /* bytes of the record's own header so far */
    unsigned char head[8];
    unsigned char end[8]; /* body of END_REQUEST */
    uint8_t end_length;
    uint8_t line_length; /* of the CGI header's line so far, at most sizeof line */
    char line[24];       /* its beginning: enough for "Status: 200" and "Location:" */
    bool ended;
};

/* Makes ready for the answer to one request; see http_start(). */
void fcgi_start(struct fcgi *f, struct answer *answer, uint32_t header_limit);

/* Takes the next <n> bytes, cut anywhere; see http_feed(). */
enum answer_state fcgi_feed(struct fcgi *f, const char *data, size_t n);

/* The connection ended before END_REQUEST: always ANSWER_BAD. */
enum answer_state fcgi_end(struct fcgi *f);

/* Collects the name-value pairs of a request. A name that is there already
 * gets the new value. */
struct fcgi_params {
    struct {
        char *name, *value;
    } pair[128];
    size_t count;
};

/* 0, or -1 when there are too many pairs. */
int fcgi_param(struct fcgi_params *p, const char *name, const char *value);
/* The value of <name>; NULL when it was not added. */
const char *fcgi_param_value(const struct fcgi_params *p, const char *name);

void fcgi_params_free(struct fcgi_params *p);

/* Appends a whole request with id 1: BEGIN_REQUEST (responder), the parameters,
 * the body, and both stream ends. <keep> sets FCGI_KEEP_CONN. */
void fcgi_request_bytes(struct bytes *out, const struct fcgi_params *params, const char *body,
                        size_t body_length, bool keep);

#endif
