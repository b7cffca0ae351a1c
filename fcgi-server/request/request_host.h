/* SPDX-License-Identifier: MIT */
/* request_host.h - what a handler can ask of the server: struct fh_host. */
#ifndef REQUEST_HOST_H
#define REQUEST_HOST_H

#include "request/request.h"

extern const struct fh_host request_host;

/* Writes "GET /path" into <text>, for log lines. */
void request_describe(struct request *request, char *text, size_t size);

#endif
