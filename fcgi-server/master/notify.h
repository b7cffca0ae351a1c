/* SPDX-License-Identifier: MIT */
/*
 * notify.h - tells the starter that the server is ready: a newline on --ready-fd,
 * and systemd's notification protocol (sd_notify(3): datagrams of NAME=value lines
 * to the socket in NOTIFY_SOCKET). Does nothing if the starter did not ask.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/* Writes a newline to <fd> and closes it; -1: does nothing. */
void notify_ready_fd(int fd);

/* Sends <text>, such as "READY=1\nSTATUS=4 children". Never blocks. */
__attribute__((format(printf, 1, 2))) void notify_systemd(const char *text, ...);

/* How often systemd wants to hear WATCHDOG=1 from this process, halved; 0: never. */
int64_t notify_watchdog_ms(void);

#endif
