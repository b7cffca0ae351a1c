/* SPDX-License-Identifier: MIT */
#include "base/identity.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...) (snprintf(error, error_size, __VA_ARGS__), -1)

static bool
all_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int
find_group(gid_t *group, const char *name, char *error, size_t error_size)
{
    struct group *entry = getgrnam(name);
    if (entry != NULL)
        *group = entry->gr_gid;
    else if (all_digits(name))
        *group = (gid_t)strtoul(name, NULL, 10);
    else
        return FAIL("group '%s' does not exist", name);
    return 0;
}

int
identity_find(struct identity *identity, const char *user, const char *group, char *error,
              size_t error_size)
{
    char name[128];
    const char *colon = strchr(user, ':');
    snprintf(name, sizeof name, "%.*s", (int)(colon != NULL ? colon - user : 127), user);
    struct passwd *entry = getpwnam(name);
    if (entry == NULL && all_digits(name))
        entry = getpwuid((uid_t)strtoul(name, NULL, 10));
    if (entry != NULL)
        *identity = (struct identity){entry->pw_uid, entry->pw_gid, strdup(entry->pw_name)};
    else if (all_digits(name))
        *identity = (struct identity){(uid_t)strtoul(name, NULL, 10), (gid_t)-1, NULL};
    else
        return FAIL("user '%s' does not exist", name);
    if (group == NULL && colon != NULL && colon[1] != '\0')
        group = colon + 1;
    return group != NULL ? find_group(&identity->group, group, error, error_size) : 0;
}
