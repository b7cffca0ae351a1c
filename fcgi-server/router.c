/* SPDX-License-Identifier: MIT */
#include "router.h"
#include "fcgi-handler.h"
#include "module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct router {
    struct router_entry *entries; /* longest path first */
    size_t count;
    struct lua_host *lua; /* NULL while there is no Lua route */
};

static bool
ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static int
load_object(const char *file, const struct route *route, struct router_entry *entry, char *error,
            size_t error_size)
{
    const struct fh_handler *handler = module_load(file, error, error_size);
    if (handler == NULL) {
        return -1;
    }
    char reason[256] = "init failed without a reason";
    if (handler->init != NULL &&
        handler->init(route->argument, &entry->state, reason, sizeof reason) != 0) {
        snprintf(error, error_size, "%s: %s", file, reason);
        return -1;
    }
    entry->handler = handler;
    return 0;
}

static int
load_script(struct router *router, const struct lua_options *options, const char *file,
            const struct route *route, struct router_entry *entry, char *error, size_t error_size)
{
    if (router->lua == NULL) {
        router->lua = lua_host_new(options, error, error_size);
        if (router->lua == NULL) {
            return -1;
        }
    }
    return lua_host_load(router->lua, file, route->argument, &entry->handler, &entry->state, error,
                         error_size);
}

/* Appends an entry without a handler; the caller fills it. */
static struct router_entry *
append(struct router *router, const char *path, const char *file, char *error, size_t error_size)
{
    struct router_entry *entries =
        realloc(router->entries, (router->count + 1) * sizeof *router->entries);
    if (entries == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    router->entries = entries;
    struct router_entry *entry = &entries[router->count];
    *entry = (struct router_entry){.path = path, .path_length = strlen(path), .file = file};
    return entry;
}

/* Puts the entry that was appended last in its place: the longest path first,
 * among equals the one that came first. */
static void
settle(struct router *router)
{
    struct router_entry entry = router->entries[router->count];
    size_t place = router->count++;

    while (place > 0 && router->entries[place - 1].path_length < entry.path_length) {
        router->entries[place] = router->entries[place - 1];
        place--;
    }
    router->entries[place] = entry;
}

static int
add_route(struct router *router, const struct router_options *options, const struct route *route,
          char *error, size_t error_size)
{
    char file[PATH_MAX];

    if (route->path[0] != '/') {
        snprintf(error, error_size, "route \"%s\": a path begins with '/'", route->path);
        return -1;
    }
    if (router_locate(route->handler, options->folders, file, sizeof file, error, error_size) ==
        -1) {
        return -1;
    }
    char *copy = strdup(file);
    struct router_entry *entry =
        copy == NULL ? NULL : append(router, route->path, copy, error, error_size);
    if (entry == NULL) {
        free(copy);
        return -1;
    }
    int loaded = -1;
    if (ends_with(file, ".so")) {
        loaded = load_object(copy, route, entry, error, error_size);
    } else if (ends_with(file, ".lua")) {
        loaded = load_script(router, &options->lua, copy, route, entry, error, error_size);
    } else {
        snprintf(error, error_size, "%s: a handler is a .so or a .lua file", file);
    }
    if (loaded == -1) {
        free(copy);
        return -1;
    }
    settle(router);
    return 0;
}

struct router *
router_new(const struct router_options *options, char *error, size_t error_size)
{
    struct router *router = calloc(1, sizeof *router);
    if (router == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    for (size_t index = 0; index < options->route_count; index++) {
        if (add_route(router, options, &options->routes[index], error, error_size) == -1) {
            router_free(router);
            return NULL;
        }
    }
    return router;
}

int
router_add(struct router *router, const char *path, const struct fh_handler *handler,
           const char *argument, char *error, size_t error_size)
{
    struct router_entry *entry = append(router, path, NULL, error, error_size);
    if (entry == NULL) {
        return -1;
    }
    if (handler->init != NULL && handler->init(argument, &entry->state, error, error_size) != 0) {
        return -1;
    }
    entry->handler = handler;
    settle(router);
    return 0;
}

static bool
covers(const struct router_entry *entry, const char *path, size_t length)
{
    size_t own = entry->path_length;

    if (own > length || memcmp(entry->path, path, own) != 0) {
        return false;
    }
    return own == length || entry->path[own - 1] == '/' || path[own] == '/';
}

const struct router_entry *
router_find(const struct router *router, const char *path, size_t length)
{
    for (size_t index = 0; index < router->count; index++) {
        if (covers(&router->entries[index], path, length)) {
            return &router->entries[index];
        }
    }
    return NULL;
}

void
router_free(struct router *router)
{
    if (router == NULL) {
        return;
    }
    for (size_t index = 0; index < router->count; index++) {
        struct router_entry *entry = &router->entries[index];
        if (entry->handler->fini != NULL) {
            entry->handler->fini(entry->state);
        }
        free((char *)entry->file);
    }
    lua_host_free(router->lua);
    free(router->entries);
    free(router);
}

/* --- where a handler's file is --------------------------------------------- */

/* True if one of the parts of <name> is "..". */
static bool
climbs(const char *name)
{
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Resolves <folder>/<name>. 1: found; 0: no such file; -1: refused. */
static int
locate_in(const char *folder, const char *name, char *path, size_t path_size, char *error,
          size_t error_size)
{
    char joined[PATH_MAX];
    char real_folder[PATH_MAX];
    char real_file[PATH_MAX];

    int length = snprintf(joined, sizeof joined, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof joined || realpath(folder, real_folder) == NULL ||
        realpath(joined, real_file) == NULL) {
        return 0;
    }
    size_t folder_length = strcmp(real_folder, "/") == 0 ? 0 : strlen(real_folder);
    if (strncmp(real_file, real_folder, folder_length) != 0 || real_file[folder_length] != '/') {
        snprintf(error, error_size, "%s: leads out of %s, to %s; copy the file instead", joined,
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
locate_absolute(const char *name, char *path, size_t path_size, char *error, size_t error_size)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(name, '/');

    snprintf(folder, sizeof folder, "%.*s", slash == name ? 1 : (int)(slash - name), name);
    return locate_in(folder, slash + 1, path, path_size, error, error_size);
}

int
router_locate(const char *name, const char *const *folders, char *path, size_t path_size,
              char *error, size_t error_size)
{
    int found = 0;

    if (climbs(name)) {
        snprintf(error, error_size, "%s: \"..\" is not allowed in a handler's name", name);
        return -1;
    }
    if (name[0] == '/') {
        found = locate_absolute(name, path, path_size, error, error_size);
    }
    for (size_t index = 0; name[0] != '/' && folders[index] != NULL && found == 0; index++) {
        found = locate_in(folders[index], name, path, path_size, error, error_size);
    }
    if (found == 0) {
        snprintf(error, error_size, "%s: no such handler file", name);
    }
    return found == 1 ? 0 : -1;
}
