/* SPDX-License-Identifier: MIT */
/*
 * socket_file.h - the file of a socket that we made: it is removed at the end only if it
 * is still that one, not what another server has put at its path meanwhile.
 */
#ifndef SOCKET_FILE_H
#define SOCKET_FILE_H

#include <sys/types.h>

struct socket_file {
    dev_t device;
    ino_t inode;
};

/* Notes which file is at <path> now. Returns 0, or -1 with errno. */
int socket_file_note(struct socket_file *file, const char *path);

/* Removes what is at <path> if it is <file>. */
void socket_file_remove(const struct socket_file *file, const char *path);

#endif
