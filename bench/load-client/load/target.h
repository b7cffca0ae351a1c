/* SPDX-License-Identifier: MIT */
/*
 * target.h - what is loaded: the addresses of the server, the requests with
 * their prebuilt bytes and expectations, and the protocol's parser. Made once
 * before the run, read by all threads.
 */
#ifndef TARGET_H
#define TARGET_H

#include "load/options.h"
#include "load/request.h"
#include "load/url.h"
#include "protocol/fcgi.h"
#include "protocol/http.h"

#include <sys/socket.h>

/* Parser state of either protocol. */
union parser {
    struct http http;
    struct fcgi fcgi;
};

/* A protocol is three functions with the contracts of http_start(),
 * http_feed() and http_end(). */
struct protocol {
    const char *name;
    void (*start)(union parser *, struct answer *, bool head, uint32_t header_limit);
    enum answer_state (*feed)(union parser *, const char *data, size_t n);
    enum answer_state (*end)(union parser *);
};

struct address {
    struct sockaddr_storage socket;
    socklen_t length;
};

struct target {
    struct url url;
    const struct protocol *protocol;
    struct address address[8];
    size_t addresses;
    bool local; /* the server is on this machine */
    struct request *request;
    size_t requests, capacity;
    uint16_t *sequence; /* order of requests by weight, repeated for ever */
    size_t sequence_length;
    size_t body_length; /* of the request body */
    uint32_t header_limit;
};

/* Makes the target: parses the URL, resolves the name, reads the files, builds
 * the requests. 0, or -1 with reason and remedy in <message>. */
int target_init(struct target *t, const struct options *o, char *message, size_t size);

void target_free(struct target *t);

#endif
