/* SPDX-License-Identifier: MIT */
/*
 * dispatch.h - finds the handler of a request, calls it, and gives it what it may ask
 * for (struct fh_host of fcgi-handler.h).
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "request/request.h"

struct router;

/* Finds who answers: sets <entry>. */
void dispatch_route(struct request *request, const struct router *router);

/* Calls the handler. Returns FH_WAIT if it waits (see <wait>); else the answer is
 * complete, whatever the handler returned. */
enum fh_result dispatch_run(struct request *request);

/* Continues a waiting request; returns as dispatch_run(). */
enum fh_result dispatch_resume(struct request *request, short revents);

/* Ends a waiting request without its handler, which may clean up. The answer is
 * <status>; none for 0, or when the head has left: the request is broken then. */
void dispatch_cancel(struct request *request, int status);

#endif
