/* SPDX-License-Identifier: MIT */
/*
 * succession.h - how a master turns into its successor. A reload (same binary) and
 * an upgrade (new binary) are one thing: the process runs the program again, in
 * place, under the same pid. Sockets, queues, the scoreboard and the children stay
 * open across execve(2); a memfd lists them.
 */
#ifndef SUCCESSION_H
#define SUCCESSION_H

#include "master/children.h"
#include "master/listener.h"

#include <stdbool.h>
#include <stdint.h>

struct config;

/* Exit status of a check that passed. Not 0, which any program may return: the new program
 * must know the check and this form of the state. Another form gets another number. */
#define SUCCESSION_FIT 74

struct succession_child {
    struct child child; /* without its slot */
    uint32_t slot;      /* index of its slot; UINT32_MAX: none */
};

/* The process that waits for the new program to start; see standby.h. */
struct standby {
    pid_t pid;
    int word_fd; /* the new program writes one byte into it */
};

struct succession {
    struct listener listener; /* without its name */
    char *listen;             /* as configured: to see whether it has changed */
    char *pid_file;           /* to remove it if the new one has another path; "" if none */
    struct channels channels;
    int board_fd;
    uint32_t generation;
    struct standby standby;
    uint32_t child_count;
    struct succession_child *child;
};

/* What a former image of this process left behind; NULL at a first start. Removes it from the
 * environment. */
struct succession *succession_read(void);

/* Runs <path> with <argv> in place of this program, which goes on if that fails.
 * <config_fd> is what the check has read (see config_file.h), or -1; <standby> may be
 * NULL. Returns only with errno. */
int succession_exec(const char *path, char **argv, const struct config *config,
                    const struct listener *listener, const struct children *children, int config_fd,
                    const struct standby *standby);

/* Runs "<path> <argv> --test" with its output into <output_fd>. Returns the pid or
 * -1 with errno. */
pid_t succession_check(const char *path, char **argv, const struct config *config, int output_fd,
                       int config_fd);

/* In a check: whether the running server already listens on the configured address. */
bool succession_listens_already(const struct config *config);

/* True in a process that succession_check() started. */
bool succession_is_check(void);

/* The program to run: the running one, or with <upgrade> (and without /proc always) the file
 * that is at its path now. */
const char *succession_program(bool upgrade);

#endif
