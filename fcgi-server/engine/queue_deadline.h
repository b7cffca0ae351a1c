/* SPDX-License-Identifier: MIT */
/*
 * queue_deadline.h - whether a request has waited too long before it could run. Unix
 * sockets keep no time of arrival, so the front end has to send the time at which it took the
 * request in the parameter REQUEST_START. Clients cannot set it: the names of parameters made
 * from headers begin with HTTP_.
 */
#ifndef QUEUE_DEADLINE_H
#define QUEUE_DEADLINE_H

#include <stdint.h>

struct config;
struct request;

/* The milliseconds since 1970 that <text> means. Front ends write seconds with or without
 * a fraction (nginx: $msec), milliseconds (Caddy: unix_ms), or microseconds (Apache: %t),
 * and some put "t=" before it. The whole text must be a time at most a day before
 * <now_ms>, and at most a second after it. Returns -1 if it is not. */
int64_t queue_deadline_parse(const char *text, int64_t now_ms);

/* 503 if <request> has waited longer than queue_deadline since its front end took it, else
 * 0. 0, too, without REQUEST_START or with one that is not a time (logged once). */
int queue_deadline_check(const struct config *config, const struct request *request);

#endif
