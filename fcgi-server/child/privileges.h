/* SPDX-License-Identifier: MIT */
/*
 * privileges.h - who a child is and what it may use: user, group, chroot, limits.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

struct config;
struct config_error;

struct identity {
    uid_t user;
    gid_t group;
    const char *name; /* for initgroups(); NULL if <user> was a number without an account */
};

/* Finds "user" or "user:group" (names or numbers); <group>, if not NULL, wins.
 * Without a group it is the user's own. Returns 0, or -1 with <error>. */
int identity_find(struct identity *identity, const char *user, const char *group,
                  struct config_error *error);

/* Checks that user, group and chroot of <config> exist and may be taken by this
 * process. Returns 0, or -1 with <error>. */
int privileges_check(const struct config *config, struct config_error *error);

/* Sets the limits, then enters the chroot, then becomes the user for good. For a
 * child before it runs handler code. Returns 0, or -1 with <error>. */
int privileges_drop(const struct config *config, struct config_error *error);

/* Raises the soft limit of open files to the hard one: the master holds one
 * descriptor per child. */
void privileges_raise_files(void);

#endif
