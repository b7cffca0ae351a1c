/* SPDX-License-Identifier: MIT */
/*
 * pid_file.h - the file with the master's process id. A lock on it shows that the process is
 * alive: a second server with the same file is refused, and a stale file is replaced.
 */
#ifndef PID_FILE_H
#define PID_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Checks that no living process but <allowed> (0: none) holds <path>. NULL is always free.
 * Returns 0, or -1 with a message in <error>. */
int pid_file_check(const char *path, pid_t allowed, char *error, size_t error_size);

/* Writes our process id and holds the file until the end. NULL: does nothing. Returns 0, or
 * -1 with a message in <error>. */
int pid_file_write(const char *path, char *error, size_t error_size);

/* Removes the file if it holds our process id. */
void pid_file_remove(const char *path);

#endif
