/* SPDX-License-Identifier: MIT */
/*
 * handover.h - connections between siblings, through the queue that all children
 * of a server share (SOCK_SEQPACKET): the descriptor, and what was read of a
 * request already. The peer notices nothing. A message is taken by whichever
 * child is idle; while none is, it waits in the kernel like a connection in the
 * listen queue.
 */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "engine/event/connection.h"

/* Sends <connection>, which must be IDLE, READING, READY or PARKED, to <queue_fd>.
 * The caller then closes it as shared. Returns 0, or -1 with errno: EAGAIN when
 * the queue is full, EMSGSIZE when too much of its request has been read. */
int handover_send(int queue_fd, const struct connection *connection);

/* Takes a connection out of <queue_fd>: IDLE, READING or READY, not registered with
 * epoll. NULL with errno: EAGAIN when there is none. */
struct connection *handover_receive(int queue_fd, struct connections *connections, int64_t now_ns);

#endif
