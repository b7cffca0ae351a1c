/* SPDX-License-Identifier: MIT */
/*
 * socket_file.h - the file of a unix socket: made where no server answers, and removed at the end
 * unless another server has put its own file at that path.
 */
#ifndef SOCKET_FILE_H
#define SOCKET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

struct socket_file {
    const char *path; /* absolute if the current folder is known; NULL: nothing to remove */
    dev_t device;
    ino_t inode;
};

/* Makes the address of <path>. Returns 0, or -1 with a message in <error>. */
int socket_file_address(struct sockaddr_un *address, const char *path, char *error,
                        size_t error_size);

/* Makes a stream socket, non-blocking and close-on-exec, bound to <path> with <mode>. Refuses
 * a path where a file of another kind is, or a socket where a server answers; replaces a stale
 * socket. Returns the descriptor, or -1 with a message in <error>. */
int socket_file_bind(struct socket_file *file, const char *path, mode_t mode, char *error,
                     size_t error_size);

/* Whether the file at its path is still <file>. */
bool socket_file_present(const struct socket_file *file);

/* Removes <file> if it is still there. */
void socket_file_remove(struct socket_file *file);

#endif
