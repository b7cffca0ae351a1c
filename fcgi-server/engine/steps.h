/* SPDX-License-Identifier: MIT */
/*
 * steps.h - the steps that every engine takes in the same way: accepting a
 * client, making a request of an intake, running it, and recording the result in the scoreboard
 * and the logs.
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

/* The limits of <config> in the form that an intake takes. */
struct intake_limits steps_limits(const struct config *config);

/* How many requests this child answers before it ends: max_requests and up to a
 * tenth more, so that children that started together do not end together. */
uint64_t steps_quota(const struct config *config);

/* Accepts a connection: non-blocking, close-on-exec, without delay on TCP. Clients
 * that are not allowed are dropped here. Returns the descriptor, or -1 with errno:
 * EAGAIN when no client waits (or the one that did was not allowed), EMFILE and the
 * like when there is no room. <hang_events> gets what poll(2) and epoll(7) must
 * be asked for, besides HUP, to see that the peer has gone: RDHUP on TCP, where a
 * peer that has only stopped sending looks the same and counts as gone (no front end
 * half-closes); nothing on unix sockets, which distinguish the two. */
int steps_accept(struct engine_context *context, short *hang_events);

/* Whether <error>, of a call on a descriptor of the server, shows that a handler has closed the
 * descriptor. Logs it then. */
bool steps_lost(int error);

/* Logs that accept() failed for lack of descriptors or memory (errno). Logs rarely, since
 * accept() is tried again ten times a second. */
void steps_tell_full(int64_t now_ns);

/* 1 if the peer of <fd> has closed the connection. */
int steps_peer_gone(int fd, short hang_events);

/* Fills <request> from the complete request in <intake>. Returns 0,
 * or the HTTP status to refuse it with. */
int steps_take(struct request *request, struct intake *intake);

/* <request> is about to run: sets its start_ns. */
void steps_begin(struct engine_context *context, struct request *request, int64_t now_ns);

/* Calls the handler of <request> while <watch>, whose lock the caller holds, checks the time:
 * for the first time, or, with <revents>, after its wait. <now_ns>: the time; <watched>: wakes
 * the slow watch for it. Returns as dispatch_run(). */
enum fh_result steps_call(struct slow_watch *watch, int64_t now_ns, bool watched,
                          struct request *request, const short *revents);

/* Records that <request> has run and its answer is being sent. */
void steps_end(struct engine_context *context, struct request *request, int64_t now_ns);

#endif
