/* SPDX-License-Identifier: MIT */
/*
 * socket_file.h - the file of a unix socket: made where nobody answers, and removed at the end
 * only if it is still that one, not what another server has put at its path meanwhile.
 */
#ifndef SOCKET_FILE_H
#define SOCKET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

struct socket_file {
    const char *path; /* absolute where the current folder is known; NULL: none of ours */
    dev_t device;
    ino_t inode;
};

/* Makes the address of <path>. Returns 0, or -1 with a message in <error>. */
int socket_file_address(struct sockaddr_un *address, const char *path, char *error,
                        size_t error_size);

/* A listening-to-be stream socket, non-blocking and close-on-exec, bound to <path> with <mode>. A
 * file of another kind and a socket where somebody answers are left alone and refused; a stale one
 * is replaced. Returns the descriptor, or -1 with a message in <error>. */
int socket_file_bind(struct socket_file *file, const char *path, mode_t mode, char *error,
                     size_t error_size);

/* Whether what is at its path is still <file>. */
bool socket_file_present(const struct socket_file *file);

/* Removes <file> if it is still there. */
void socket_file_remove(struct socket_file *file);

#endif
