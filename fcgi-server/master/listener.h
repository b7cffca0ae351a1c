/* SPDX-License-Identifier: MIT */
/*
 * listener.h - the listening socket: made, taken over or refused.
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
    uint32_t backlog;        /* effective: what the kernel left of the wish */
    char name[160];          /* "unix:/run/x", "127.0.0.1:9000": for people */
    struct socket_file file; /* ours, to be removed at the end */
};

/* Takes the one descriptor of systemd (LISTEN_FDS), which must be what config->listen says if
 * that says anything; else opens what that says; else takes descriptor 0 if it is a
 * listening socket.
 *
 * A unix socket: a file at its path that is no socket is left alone and refused;
 * a socket where somebody answers is refused; a stale one is replaced. The file
 * gets socket_mode before anybody can connect. Warns (in the log) when the
 * kernel cuts the backlog. Returns 0, or -1 with <error>. */
int listener_open(struct listener *listener, const struct config *config,
                  struct config_error *error);

/* Whether listener_open() would understand the address and know the owner; opens
 * nothing. Returns 0, or -1 with <error>. */
int listener_check(const struct config *config, struct config_error *error);

/* Takes over what a former master opened, with the duty of removing its file if that
 * is still the same one. Returns 0, or -1 if it is no listening socket. */
int listener_inherit(struct listener *listener, const struct listener *former,
                     const struct config *config);

/* Whether clients can reach it: false once somebody has removed or replaced its file. */
bool listener_present(const struct listener *listener);

/* Closes it and removes its file if that is still ours. */
void listener_close(struct listener *listener);

#endif
