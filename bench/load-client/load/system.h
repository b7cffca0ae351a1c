/* SPDX-License-Identifier: MIT */
/* system.h - what the machine allows and has counted. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* Raises the limit of open descriptors so that <needed> fit. 0, or -1 with the
 * number needed and the remedy in <message>. */
int system_need_descriptors(uint64_t needed, char *message, size_t size);

/* Connections that this machine's listen queues turned away since it started:
 * ListenDrops of TcpExt in /proc/net/netstat. 0 when it cannot be read. */
uint64_t system_listen_drops(void);

/* Nanoseconds that the calling thread was ready to run and waited for a
 * processor, since it began. 0 when the kernel does not say. */
uint64_t system_run_delay_ns(void);

/* Local ports that outgoing connections may use. 0 when it cannot be read. */
unsigned system_port_count(void);

#endif
