/* SPDX-License-Identifier: MIT */
/*
 * response.h - the answer as a handler makes it: status, header lines, body. The
 * functions of struct fh_host that do so (see fcgi-handler.h for what they promise);
 * what the engines need of the answer is in request.h.
 */
#ifndef RESPONSE_H
#define RESPONSE_H

#include "request/request.h"

#include <stdarg.h>

int response_status(struct fh_request *head, int code);
int response_header(struct fh_request *head, const char *name, const char *value);
int response_write(struct fh_request *head, const void *data, size_t length);
int response_vprint(struct fh_request *head, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Forgets what the handler has made so far; only before the head has left. */
void response_drop(struct request *request);

#endif
