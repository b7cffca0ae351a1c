/* SPDX-License-Identifier: MIT */
/*
 * connection.h - what one slot does: it opens, sends, receives, judges and
 * counts one request after another. Who gives it the next one is worker.h.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "load/slots.h"

/* Begins the next request on an idle slot; its latency counts from
 * <intended_ns>. Connects first when the slot is not open. */
void connection_begin(struct worker *w, struct connection *c, uint64_t intended_ns, bool measured);

/* Acts on what epoll reported. True: the slot is free for its next request. */
bool connection_event(struct worker *w, struct connection *c, uint32_t events);

/* Acts on the deadline of the slot's state having passed. True: as above. */
bool connection_deadline(struct worker *w, struct connection *c);

/* Closes the socket, if there is one. <abort> resets the connection instead of
 * closing it in order. */
void connection_close(struct worker *w, struct connection *c, bool abort);

#endif
