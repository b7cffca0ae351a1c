/* SPDX-License-Identifier: MIT */
/*
 * request.h - one request between the engine, which has its bytes, and the
 * handler, which sees struct fh_request: its parameters, its body, and the answer so
 * far. No sockets: what must reach the peer while a handler runs goes through struct
 * request_io, which the engine provides.
 *
 * Life: request_init() once; then for each request the engine fills params,
 * body and id (see intake.h), calls its handler (dispatch.h), sends the answer
 * (response.h), and calls request_reset().
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "fcgi-handler.h"
#include "request/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct router_entry;
struct request;

enum {
    REQUEST_ARENA_MAX = 16 << 20, /* most that fh_alloc() gives to one request, in bytes */
    REQUEST_HEAD_MAX = 16 << 10,  /* most response header lines, in bytes */
    REQUEST_HEAD_ROOM = REQUEST_HEAD_MAX + 512,
    REQUEST_OUT_MAX = 256 << 10, /* body bytes that are collected before some are sent */
};

/* A parameter; both texts stand in the bytes that the peer sent. The value is
 * NUL-terminated, the name is not. */
struct request_param {
    const char *name;
    const char *value;
    uint32_t name_length;
    uint32_t value_length;
};

/* What an engine does for a running request. */
struct request_io {
    /* Sends <out>, after the head if that has not left yet, and empties it; may
     * block for a bounded time. Returns 0, or -1 when the front end has gone. */
    int (*flush)(struct request *request);
    /* Reads the body, as fh_read(). NULL: it is in <body>. */
    ptrdiff_t (*read)(struct request *request, void *buffer, size_t size);
    /* 1 if the front end has closed the connection. */
    int (*gone)(struct request *request);
};

/* The body: <memory> holds the first <length> bytes when it was small, else
 * <spool_fd> holds all. */
struct request_body {
    const char *memory;
    int spool_fd; /* -1: in memory */
    uint64_t length;
    uint64_t taken; /* read by the handler so far */
};

/* What the handler asked for with fh_wait(). */
struct request_wait {
    int fd;
    short events;
    uint32_t timeout_ms;
    bool asked; /* since the handler was called last */
};

struct request {
    struct fh_request head; /* first: handlers hold a pointer to it */
    const struct request_io *io;
    void *owner; /* the engine's */
    uint16_t id;
    bool keep; /* the front end wants to keep the connection */

    struct request_param *params; /* in the arena */
    size_t param_count;
    struct request_body body;

    const struct router_entry *entry; /* who answers; NULL: nobody, 404 */
    void *slot;                       /* the handler's own pointer */
    struct request_wait wait;

    int status;             /* 0: not set, 200 */
    bool is_head;           /* the method is HEAD: nothing is sent after the head */
    bool head_sent;         /* the head has left: it cannot change any more */
    bool broken;            /* sending failed, or the answer cannot be completed: close */
    int64_t start_ns;       /* when it began to run (CLOCK_MONOTONIC) */
    int64_t stopped_ns;     /* when request_timeout interrupted it */
    _Atomic bool timed_out; /* the time limit interrupted it: FH_ERROR becomes 504 */
    _Atomic bool told_slow; /* the slow log has it */
    const char *type;       /* value of Content-Type, in the arena; NULL: none was set */
    char *lines;            /* other header lines so far, each ended by CR LF */
    size_t lines_length;
    size_t lines_size;
    int64_t length; /* Content-Length as the handler set it; -1: it did not */
    char *out;      /* body bytes not sent yet */
    size_t out_length;
    size_t out_size;
    uint64_t written; /* body bytes that the handler wrote, those in <out> included */

    struct arena arena;
};

/* Prepares an all-zero <request>. <io> and <owner> belong to the engine. */
void request_init(struct request *request, const struct request_io *io, void *owner);

/* Makes it ready for the next request; keeps its buffers. */
void request_reset(struct request *request);

/* Frees what it holds. */
void request_fini(struct request *request);

/* Makes room for <count> parameters, which request_add_param() then adds. Returns
 * 0, or -1 when out of memory. */
int request_reserve_params(struct request *request, size_t count);
void request_add_param(struct request *request, struct request_param param);

/* Takes the parameter stream <bytes> apart: fills params. Writes a NUL behind
 * each value, so <bytes> must be writable and have one byte of room at the end.
 * Returns 0, or an HTTP status: 400 malformed, 500 out of memory. */
int request_set_params(struct request *request, char *bytes, size_t length);

/* The parameter <name> or NULL; the first one when it came twice. For the server's own use. */
const char *request_param(const struct request *request, const char *name, size_t *length);

/* As fh_param(): of the request's headers (HTTP_...) that came more than once, all values as one,
 * the way RFC 9110, section 5.3, and RFC 6265, section 5.4, join them. CGI has the web server do
 * that (RFC 3875, section 4.1.18), which HAProxy, h2o and nginx before 1.23 leave to the
 * application. */
const char *request_value(struct request *request, const char *name, size_t *length);

/* The path that the router decides on, and its length: SCRIPT_NAME followed by
 * PATH_INFO, or else DOCUMENT_URI, or else REQUEST_URI up to the '?'. "/" if there
 * is none. */
const char *request_path(struct request *request, size_t *length);

/* Whether a body of <length> bytes is what CONTENT_LENGTH announces: one that ended early
 * was cut off. Empty, absent and -1 mean any length. Returns 0, or 400 with the reason in
 * the log. */
int request_check_length(struct request *request, uint64_t length);

/* Forgets what the handler has made of the answer so far; only before the head has left. */
void request_drop_answer(struct request *request);

/* Writes "GET /path" into <text>, for log lines. */
void request_describe(struct request *request, char *text, size_t size);

#endif
