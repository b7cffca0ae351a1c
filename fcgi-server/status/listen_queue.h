/* SPDX-License-Identifier: MIT */
/* listen_queue.h - how many connections wait to be accepted. */
#ifndef LISTEN_QUEUE_H
#define LISTEN_QUEUE_H

#include <stdint.h>

/* Connections in the accept queue of the listening socket <fd>: sock_diag(7) for unix
 * sockets, TCP_INFO for TCP. -1 when the kernel does not tell. */
int64_t listen_queue_length(int fd);

#endif
