/* SPDX-License-Identifier: MIT */
#include "base/process_title.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    char *start;
    size_t size;
    size_t shown; /* bytes of the last title; the rest is already zero */
    const char *pool;
    char **arguments; /* our copies; they live as long as the process */
} title;

/* The strings of <list> that follow <end> in memory extend it. */
static char *
extend(char *end, char **list)
{
    for (; *list != NULL; list++)
        if (end == NULL || *list == end)
            end = *list + strlen(*list) + 1;
    return end;
}

static void
release(char **list)
{
    for (char **word = list; word != NULL && *word != NULL; word++)
        free(*word);
    free(list);
}

static char **
copy(char **list)
{
    size_t count = 0;
    while (list[count] != NULL)
        count++;
    char **new = calloc(count + 1, sizeof *new);
    for (size_t i = 0; new != NULL &&i < count; i++) {
        new[i] = strdup(list[i]);
        if (new[i] == NULL) {
            release(new);
            return NULL;
        }
    }
    return new;
}

int
process_title_init(int argc, char ***argv)
{
    char *start = argc > 0 ? (*argv)[0] : NULL;
    char *end = extend(extend(NULL, *argv), environ);
    char **arguments = copy(*argv);
    char **environment = copy(environ);
    if (arguments == NULL || environment == NULL) {
        release(arguments);
        release(environment);
        return -1;
    }
    *argv = title.arguments = arguments;
    environ = environment;
    title.start = start;
    title.size = start != NULL ? (size_t)(end - start) : 0;
    title.shown = title.size;
    return 0;
}

void
process_title_pool(const char *pool)
{
    title.pool = pool;
}

void
process_title_set(const char *role)
{
    if (title.size < 2)
        return;
    int length = snprintf(title.start, title.size, "fcgi-server: %s %s",
                          title.pool != NULL ? title.pool : "-", role);
    size_t used = (size_t)length < title.size ? (size_t)length : title.size - 1;
    if (used < title.shown)
        memset(title.start + used, 0, title.shown - used);
    title.shown = used;
}
