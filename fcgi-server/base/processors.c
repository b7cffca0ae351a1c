/* SPDX-License-Identifier: MIT */
#include "base/processors.h"

#include <float.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 8192, WORD_SIZE = 1024 };

static double
smaller(double a, double b)
{
    return a < b ? a : b;
}

/* A mounted control group hierarchy that can have CPU quotas. */
struct hierarchy {
    int version;
    char root[WORD_SIZE];   /* the part of the hierarchy that is mounted */
    char folder[WORD_SIZE]; /* where it is mounted */
    char path[WORD_SIZE];   /* of this process in the hierarchy */
};

static FILE *
open_below(const char *root, const char *path)
{
    char whole[3 * WORD_SIZE];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length < (int)sizeof whole ? fopen(whole, "re") : NULL;
}

static bool
names_cpu(const char *list)
{
    for (const char *at = list; (at = strstr(at, "cpu")) != NULL; at += 3)
        if ((at == list || at[-1] == ',') && (at[3] == '\0' || at[3] == ',' || at[3] == '\n'))
            return true;
    return false;
}

/* One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
static bool
parse_mount(const char *line, struct hierarchy *found)
{
    const char *rest = strstr(line, " - ");
    char type[16];
    char options[WORD_SIZE];
    if (rest == NULL || sscanf(rest, " - %15s %*s %1023s", type, options) != 2 ||
        sscanf(line, "%*s %*s %*s %1023s %1023s", found->root, found->folder) != 2)
        return false;
    found->version = strcmp(type, "cgroup2") == 0 ? 2 : 1;
    return found->version == 2 || (strcmp(type, "cgroup") == 0 && names_cpu(options));
}

/* Path of this process in <hierarchy>, from /proc/self/cgroup: "id:controllers:path". */
static bool
find_path(const char *root, struct hierarchy *hierarchy)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *file = open_below(root, "/proc/self/cgroup");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path = '\0';
        controllers++;
        found = hierarchy->version == 2 ? *controllers == '\0' : names_cpu(controllers);
        if (found && sscanf(path + 1, "%1023[^\n]", hierarchy->path) != 1)
            hierarchy->path[0] = '\0';
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static bool
read_number(const char *root, const char *folder, const char *below, const char *name,
            double *value)
{
    char path[3 * WORD_SIZE];
    int length = snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    FILE *file = length < (int)sizeof path ? open_below(root, path) : NULL;
    bool found = file != NULL && fscanf(file, "%lf", value) == 1;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Quota of one group in processors; DBL_MAX without one. */
static double
quota_of(const char *root, const struct hierarchy *hierarchy, const char *below)
{
    double quota = 0;
    double period = 0;
    if (hierarchy->version == 2) {
        char path[3 * WORD_SIZE];
        int length = snprintf(path, sizeof path, "%s%s/cpu.max", hierarchy->folder, below);
        FILE *file = length < (int)sizeof path ? open_below(root, path) : NULL;
        /* "max 100000": no quota */
        if (file == NULL || fscanf(file, "%lf %lf", &quota, &period) != 2)
            quota = 0;
        if (file != NULL)
            fclose(file);
    } else if (!read_number(root, hierarchy->folder, below, "cpu.cfs_quota_us", &quota) ||
               !read_number(root, hierarchy->folder, below, "cpu.cfs_period_us", &period)) {
        quota = 0;
    }
    return quota > 0 && period > 0 ? quota / period : DBL_MAX;
}

/* The tightest quota from this process's group up to what is mounted. */
static double
quota_in(const char *root, struct hierarchy *hierarchy)
{
    size_t hidden = strcmp(hierarchy->root, "/") == 0 ? 0 : strlen(hierarchy->root);
    char *below = hierarchy->path;
    double least = DBL_MAX;
    if (strncmp(below, hierarchy->root, hidden) != 0 || strstr(below, "..") != NULL)
        below[0] = '\0';
    else
        below += hidden;
    for (;;) {
        char *last = strrchr(below, '/');
        if (last != NULL && last[1] == '\0')
            *last = '\0'; /* "/" is the mount itself */
        least = smaller(least, quota_of(root, hierarchy, below));
        last = strrchr(below, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

static double
quota_least(const char *root)
{
    char line[LINE_SIZE];
    double least = DBL_MAX;
    FILE *file = open_below(root, "/proc/self/mountinfo");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        struct hierarchy hierarchy = {0};
        if (parse_mount(line, &hierarchy) && find_path(root, &hierarchy))
            least = smaller(least, quota_in(root, &hierarchy));
    }
    if (file != NULL)
        fclose(file);
    return least;
}

int
processors_usable(const char *root, bool *quota_is_less)
{
    cpu_set_t set;
    int affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    double quota = quota_least(root);
    *quota_is_less = quota <= affinity - 1;
    if (!*quota_is_less)
        return affinity;
    int whole = (int)quota;
    return quota > whole ? whole + 1 : whole;
}
