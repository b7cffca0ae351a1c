/* SPDX-License-Identifier: MIT */
#include "base/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *
program_path(void)
{
    static char path[PATH_MAX];
    static const char deleted[] = " (deleted)";
    if (path[0] != '\0')
        return path;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) { /* without /proc: the name given to execve(2) */
        const char *name = (const char *)getauxval(AT_EXECFN);
        if (name == NULL || realpath(name, path) == NULL)
            path[0] = '\0';
        return path;
    }
    path[length] = '\0';
    size_t end = strlen(path);
    if (end > strlen(deleted) && strcmp(path + end - strlen(deleted), deleted) == 0)
        path[end - strlen(deleted)] = '\0'; /* the file was replaced since the start */
    return path;
}
