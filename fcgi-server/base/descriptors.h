/* SPDX-License-Identifier: MIT */
/* descriptors.h - which file descriptors a process holds. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <stddef.h>

#define DESCRIPTORS_KEEP_MAX 16
#define DESCRIPTORS_SEND_MAX 8

/* Opens /dev/null on those of 0, 1 and 2 that are closed, so that no file of ours
 * gets such a number. Returns 0, or -1 with errno. */
int descriptors_secure(void);

/* Replaces <fd> by /dev/null. Returns 0, or -1 with errno. */
int descriptors_null(int fd);

/* Closes all above 2 but those in <keep> (-1 entries are skipped; at most
 * DESCRIPTORS_KEEP_MAX), in few system calls. Returns 0, or -1. */
int descriptors_close_others(const int *keep, size_t count);

/* The descriptor that <text> names in decimal digits; -1 for any other text. */
int descriptors_number(const char *text);

/* Sends copies of the <count> descriptors <fds> (at most DESCRIPTORS_SEND_MAX; -1: none in
 * that place) through the unix socket <socket>, as one message. Never blocks. Returns 0,
 * or -1 with errno. */
int descriptors_send(int socket, const int *fds, size_t count);

/* Receives one such message: <count> descriptors, close-on-exec. Returns 1, 0 if none waits, -1
 * with errno. */
int descriptors_receive(int socket, int *fds, size_t count);

/* A pipe, close-on-exec; the ends in <nonblock> (bit 0: read, bit 1: write) do
 * not block. Returns 0, or -1 with errno. */
int descriptors_pipe(int ends[2], int nonblock);

/* Moves a new descriptor away from 0, 1 and 2: handler code may have closed one of these, and
 * the kernel then gives it out again. Returns it, or -1 with errno; then <fd> is closed. */
int descriptors_lift(int fd);

#endif
