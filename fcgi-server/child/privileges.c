/* SPDX-License-Identifier: MIT */
#include "child/privileges.h"
#include "base/identity.h"
#include "config/config.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAIL(...) (snprintf(error->text, sizeof error->text, __VA_ARGS__), -1)

int
privileges_check(const struct config *config, struct config_error *error)
{
    struct identity identity;
    struct stat status;
    if (config->user != NULL) {
        if (identity_find(&identity, config->user, config->group, error->text,
                          sizeof error->text) == -1)
            return -1;
        if (identity.group == (gid_t)-1)
            return FAIL("user '%s' has no primary group; give --group, too", config->user);
        if (geteuid() != 0 && identity.user != geteuid())
            return FAIL("user '%s': only root can change the user; start as root, or remove --user",
                        config->user);
    }
    if (config->chroot == NULL)
        return 0;
    if (geteuid() != 0)
        return FAIL("chroot '%s': only root can change the root; start as root, or remove --chroot",
                    config->chroot);
    if (stat(config->chroot, &status) == -1 || !S_ISDIR(status.st_mode))
        return FAIL("chroot '%s' is not a folder", config->chroot);
    return 0;
}

static int
set_limits(const struct config *config, struct config_error *error)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (config->rlimit_files > 0) {
        limit.rlim_cur = config->rlimit_files;
        if (limit.rlim_max < limit.rlim_cur)
            limit.rlim_max = limit.rlim_cur; /* root may raise the hard limit */
    } else {
        limit.rlim_cur = limit.rlim_max;
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
        return FAIL("rlimit_files %llu: %s", (unsigned long long)config->rlimit_files,
                    strerror(errno));
    if (config->rlimit_core >= 0) {
        limit = (struct rlimit){(rlim_t)config->rlimit_core, (rlim_t)config->rlimit_core};
        if (setrlimit(RLIMIT_CORE, &limit) == -1)
            return FAIL("rlimit_core %lld: %s", (long long)config->rlimit_core, strerror(errno));
    }
    return 0;
}

int
privileges_drop(const struct config *config, struct config_error *error)
{
    struct identity identity = {.name = NULL};
    if (set_limits(config, error) == -1)
        return -1;
    if (config->user != NULL && identity_find(&identity, config->user, config->group, error->text,
                                              sizeof error->text) == -1)
        return -1;
    if (config->chroot != NULL && (chroot(config->chroot) == -1 || chdir("/") == -1))
        return FAIL("chroot '%s': %s", config->chroot, strerror(errno));
    if (config->user == NULL || (geteuid() != 0 && identity.user == geteuid()))
        return 0;
    int groups = identity.name != NULL ? initgroups(identity.name, identity.group)
                                       : setgroups(1, &identity.group);
    if (groups == -1 || setgid(identity.group) == -1 || setuid(identity.user) == -1)
        return FAIL("user '%s': %s", config->user, strerror(errno));
    return 0;
}

void
privileges_raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
