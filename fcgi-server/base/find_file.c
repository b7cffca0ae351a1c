/* SPDX-License-Identifier: MIT */
#include "base/find_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True if one of the parts of <name> is "..". */
static bool
climbs(const char *name)
{
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    }
    return false;
}

/* Resolves <folder>/<name>. Returns 1, 0 if it does not exist, -1 with <error> if refused. */
static int
find_in(const char *folder, const char *name, char *path, size_t path_size, char *error,
        size_t error_size)
{
    char joined[PATH_MAX];
    char real_folder[PATH_MAX];
    char real_file[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s/%s", folder, name);
    /* Each child searches each handler, and most folders do not have it: one call finds that out.
     */
    if (length < 0 || (size_t)length >= sizeof joined || access(joined, F_OK) == -1 ||
        realpath(folder, real_folder) == NULL || realpath(joined, real_file) == NULL)
        return 0;
    size_t folder_length = strcmp(real_folder, "/") == 0 ? 0 : strlen(real_folder);
    if (strncmp(real_file, real_folder, folder_length) != 0 || real_file[folder_length] != '/') {
        snprintf(error, error_size,
                 "%s: this symbolic link leads out of %s, to %s; copy the file instead", joined,
                 real_folder, real_file);
        return -1;
    }
    if (strlen(real_file) >= path_size) {
        snprintf(error, error_size, "%s: path too long", joined);
        return -1;
    }
    strcpy(path, real_file);
    return 1;
}

static int
find_absolute(const char *name, char *path, size_t path_size, char *error, size_t error_size)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(name, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == name ? 1 : (int)(slash - name), name);
    return find_in(folder, slash + 1, path, path_size, error, error_size);
}

/* Says why, and which folders were searched. */
static void
explain(const char *name, const char *const *folders, int reason, char *error, size_t error_size)
{
    bool relative = name[0] != '/';
    size_t used =
        (size_t)snprintf(error, error_size, "%s: %s", name,
                         !relative && reason == EACCES
                             ? "permission denied; this user needs access to the folders above it"
                             : "no such file");
    for (size_t i = 0; relative && folders[i] != NULL && used < error_size; i++)
        used += (size_t)snprintf(error + used, error_size - used, "%s%s",
                                 i == 0 ? "; searched in " : ", ", folders[i]);
}

int
find_file(const char *name, const char *const *folders, char *path, size_t path_size, char *error,
          size_t error_size)
{
    int found = 0;
    errno = 0;
    if (climbs(name)) {
        snprintf(error, error_size, "%s: \"..\" is not allowed in the name of a handler", name);
        return -1;
    }
    if (name[0] == '/')
        found = find_absolute(name, path, path_size, error, error_size);
    for (size_t i = 0; name[0] != '/' && folders[i] != NULL && found == 0; i++)
        found = find_in(folders[i], name, path, path_size, error, error_size);
    if (found == 0)
        explain(name, folders, errno, error, error_size);
    return found == 1 ? 0 : -1;
}
