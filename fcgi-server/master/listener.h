/* SPDX-License-Identifier: MIT */
/*
 * listener.h - makes the listening socket, or takes it over.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "master/socket_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct config_error;

#define LISTENER_SYSTEMD_FD 3 /* where systemd puts the first socket */

struct listener {
    int fd;                  /* non-blocking, close-on-exec */
    uint32_t backlog;        /* effective: as limited by the kernel */
    char name[160];          /* "unix:/run/x", "127.0.0.1:9000": for people */
    struct socket_file file; /* to be removed at the end */
};

/* Takes the one descriptor of systemd (LISTEN_FDS), which must match config->listen if
 * that is set. Without LISTEN_FDS opens config->listen; if that is not set, takes descriptor 0
 * if it is a listening socket.
 *
 * A unix socket: refused if its path is a file of another kind or a socket where a server answers;
 * a stale socket is replaced. The file
 * gets socket_mode before anybody can connect. Warns (in the log) when the
 * kernel cuts the backlog. Returns 0, or -1 with <error>. */
int listener_open(struct listener *listener, const struct config *config,
                  struct config_error *error);

/* Checks the address and the owner as listener_open() would, and opens
 * nothing. Returns 0, or -1 with <error>. */
int listener_check(const struct config *config, struct config_error *error);

/* Takes over what a former master opened, and will remove its file at the end if that
 * is still the same one. Returns 0, or -1 if it is not a listening socket. */
int listener_inherit(struct listener *listener, const struct listener *former,
                     const struct config *config);

/* Whether clients can reach it: false once somebody has removed or replaced its file. */
bool listener_present(const struct listener *listener);

/* Closes it and removes its file if that is still ours. */
void listener_close(struct listener *listener);

#endif
