/* SPDX-License-Identifier: MIT */
/* identity.h - users and groups by name or number. */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <stddef.h>
#include <sys/types.h>

struct identity {
    uid_t user;
    gid_t group;
    const char *name; /* for initgroups(); NULL if <user> was a number without an account */
};

/* Finds "user" or "user:group" (names or numbers); <group>, if not NULL, wins.
 * The default is the user's own group. Returns 0, or -1 with a message in <error>. */
int identity_find(struct identity *identity, const char *user, const char *group, char *error,
                  size_t error_size);

#endif
