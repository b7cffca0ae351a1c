/* SPDX-License-Identifier: MIT */
/*
 * handover.h - passes connections between siblings, through a queue that all children of a
 * server share (SOCK_SEQPACKET): the descriptor, and the bytes of a request that were already
 * read. The peer notices nothing. Any idle child takes a message; until then it waits in the
 * kernel, like a connection in the listen queue.
 */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "engine/event/connection.h"

/* Sends <connection>, which must be IDLE, READING, READY or PARKED, to <queue_fd>.
 * The caller then closes it as shared. Returns 0, or -1 with errno: EAGAIN when
 * the queue is full, EMSGSIZE when too much of its request has been read. */
int handover_send(int queue_fd, const struct connection *connection);

/* Takes a connection out of <queue_fd>: IDLE, READING or READY, not registered with
 * epoll. Returns NULL with errno: EAGAIN when there is none. */
struct connection *handover_receive(int queue_fd, struct connections *connections, int64_t now_ns);

#endif
