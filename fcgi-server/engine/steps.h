/* SPDX-License-Identifier: MIT */
/*
 * steps.h - the steps that every engine takes in the same way: a client is let
 * in, an intake becomes a request, and the scoreboard and the logs are told what
 * became of it.
 */
#ifndef STEPS_H
#define STEPS_H

#include "engine/engine.h"
#include "fcgi-handler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intake;
struct intake_limits;
struct request;
struct slow_watch;

/* The limits of <config> as an intake wants them. */
struct intake_limits steps_limits(const struct config *config);

/* How many requests this child answers before it ends: max_requests and up to a
 * tenth more, so that children that were started together do not end together. */
uint64_t steps_quota(const struct config *config);

/* Accepts a connection: non-blocking, close-on-exec, without delay on TCP. Clients
 * that are not allowed are dropped here. Returns the descriptor, or -1 with errno:
 * EAGAIN when none waits (or the one that did was not allowed), EMFILE and the
 * like when there is no room. <hang_events> gets what poll(2) and epoll(7) must
 * be asked for, besides HUP, to see that the peer has gone: RDHUP on TCP, where a
 * peer that only sends no more looks the same and counts as gone (no front end
 * half-closes); nothing on unix sockets, which tell the two apart. */
int steps_accept(struct engine_context *context, short *hang_events);

/* Whether <error>, of a call on a descriptor that the child was given, says that the descriptor
 * is another one's now or nobody's: a handler has closed it. Then it is told. */
bool steps_lost(int error);

/* accept() has failed for want of descriptors or memory (errno): logs it, seldom, since
 * it is tried again ten times a second. */
void steps_tell_full(int64_t now_ns);

/* 1 if the peer of <fd> has closed the connection. */
int steps_peer_gone(int fd, short hang_events);

/* Makes the whole request in <intake> the one that <request> stands for. Returns 0,
 * or the HTTP status to refuse it with. */
int steps_take(struct request *request, struct intake *intake);

/* <request> is about to run: sets its start_ns. */
void steps_begin(struct engine_context *context, struct request *request, int64_t now_ns);

/* Calls the handler of <request> under the eyes of <watch>, whose lock the caller holds:
 * for the first time, or, with <revents>, after what it waited for. <now_ns>: the time;
 * <watched>: the slow watch is to be woken for it. Returns as dispatch_run(). */
enum fh_result steps_call(struct slow_watch *watch, int64_t now_ns, bool watched,
                          struct request *request, const short *revents);

/* <request> has run and its answer is on its way. */
void steps_end(struct engine_context *context, struct request *request, int64_t now_ns);

#endif
