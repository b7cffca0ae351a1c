/* SPDX-License-Identifier: MIT */
/*
 * response.h - the answer to a request: status, header lines, body.
 */
#ifndef RESPONSE_H
#define RESPONSE_H

#include "request/request.h"

#include <stdarg.h>

/* What a handler calls: see fcgi-handler.h for what they promise. */
int response_status(struct fh_request *head, int code);
int response_header(struct fh_request *head, const char *name, const char *value);
int response_write(struct fh_request *head, const void *data, size_t length);
int response_vprint(struct fh_request *head, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Replaces whatever answer there is by <status> with a neutral text. For the
 * engine; only while head_sent is false. */
void response_refuse(struct request *request, int status);

/* Writes the head, up to and with the empty line, into <to>, which has room for
 * REQUEST_HEAD_ROOM bytes, and returns its length. <complete>: <out> holds the whole
 * body; then Content-Length says so. Sets head_sent. */
size_t response_head(struct request *request, char *to, bool complete);

/* Whether the head told a Content-Length and fewer bytes followed: the answer is not whole, and
 * only closing tells. */
bool response_is_short(const struct request *request);

/* Whether body bytes may follow the head: not after HEAD, 204 and 304. */
bool response_sends_body(const struct request *request);

#endif
