/* SPDX-License-Identifier: MIT */
/*
 * request.h - one request as the options describe it: its bytes, made before
 * the run, and what a right answer to it looks like. The same options make the
 * same request over HTTP and over FastCGI.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "load/expect.h"
#include "load/options.h"
#include "load/url.h"
#include "protocol/bytes.h"

struct request {
    struct bytes bytes;
    char *label; /* "GET /path" */
    const char *path;
    bool head;
    bool idempotent; /* twice has the effect of once: RFC 9110, section 9.2.2 */
    unsigned weight;
    struct expectation expect;
};

/* Builds the bytes of <r>, whose path is set, for <method> and <body> (data NULL: none).
 * 0, or -1 with reason and remedy in <message>. */
int request_build(struct request *r, const struct url *url, const struct options *o,
                  const char *method, const struct bytes *body, char *message, size_t size);

void request_free(struct request *r);

#endif
