/* SPDX-License-Identifier: MIT */
#include "handler/router.h"
#include "base/find_file.h"
#include "fcgi-handler.h"
#include "handler/shared_object.h"
#include "handler/side_effects.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILTIN "builtin:"

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

/* Calls the init of <handler>. */
static int
start(const struct fh_handler *handler, const struct route *route, struct router_entry *entry,
      char *error, size_t error_size)
{
    char reason[256] = "init failed without a reason";
    if (handler->init != NULL &&
        handler->init(route->argument, &entry->state, reason, sizeof reason) != 0) {
        snprintf(error, error_size, "%s: %s", entry->file, reason);
        return -1;
    }
    entry->handler = handler;
    return 0;
}

static int
load_object(const struct route *route, struct router_entry *entry, char *error, size_t error_size)
{
    const struct fh_handler *handler = shared_object_load(entry->file, error, error_size);
    return handler == NULL ? -1 : start(handler, route, entry, error, error_size);
}

static int
load_script(struct router *router, const struct router_options *options, const struct route *route,
            struct router_entry *entry, char *error, size_t error_size)
{
    struct lua_options lua = options->lua;
    lua.folders = options->folders;
    if (router->lua == NULL) {
        router->lua = lua_host_new(&lua, error, error_size);
        if (router->lua == NULL)
            return -1;
    }
    return lua_host_load(router->lua, entry->file, route->argument, &entry->handler, &entry->state,
                         error, error_size);
}

static int
load_builtin(const struct router_options *options, const struct route *route,
             struct router_entry *entry, char *error, size_t error_size)
{
    const struct fh_handler *handler =
        options->builtin != NULL ? options->builtin(route->handler + strlen(BUILTIN)) : NULL;
    if (handler == NULL) {
        snprintf(error, error_size, "%s: no such built-in handler", route->handler);
        return -1;
    }
    return start(handler, route, entry, error, error_size);
}

/* Fills <entry>, whose file belongs to it afterwards also when this fails. */
static int
load(struct router *router, const struct router_options *options, const struct route *route,
     struct router_entry *entry, char *error, size_t error_size)
{
    char file[PATH_MAX];
    bool builtin = strncmp(route->handler, BUILTIN, strlen(BUILTIN)) == 0;
    if (route->path[0] != '/') {
        snprintf(error, error_size, "route \"%s\": a path begins with '/'", route->path);
        return -1;
    }
    if (!builtin &&
        find_file(route->handler, options->folders, file, sizeof file, error, error_size) == -1)
        return -1;
    entry->path = route->path;
    entry->path_length = strlen(route->path);
    entry->builtin = builtin;
    entry->file = strdup(builtin ? route->handler : file);
    if (entry->file == NULL) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    if (builtin)
        return load_builtin(options, route, entry, error, error_size);
    if (ends_with(file, ".so"))
        return load_object(route, entry, error, error_size);
    if (ends_with(file, ".lua"))
        return load_script(router, options, route, entry, error, error_size);
    snprintf(error, error_size, "%s: a handler is a .so or a .lua file", entry->file);
    return -1;
}

static int
add_route(struct router *router, const struct router_options *options, const struct route *route,
          char *error, size_t error_size)
{
    struct router_entry entry = {0};
    char reason[512];
    int result = load(router, options, route, &entry, reason, sizeof reason);
    side_effects_leave();
    side_effects_undo(INT64_MAX, 0); /* at once: the next one may open descriptors */
    if (result == -1) {
        snprintf(error, error_size, "%s%s%s", reason, route->origin != NULL ? "; route of " : "",
                 route->origin != NULL ? route->origin : "");
        free((char *)entry.file);
        return -1;
    }
    /* The longest path first; among equals the one that came first. */
    size_t place = router->count++;
    while (place > 0 && router->entries[place - 1].path_length < entry.path_length) {
        router->entries[place] = router->entries[place - 1];
        place--;
    }
    router->entries[place] = entry;
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
    router->entries = calloc(options->route_count + 1, sizeof *router->entries);
    if (router->entries == NULL) {
        snprintf(error, error_size, "out of memory");
        router_free(router);
        return NULL;
    }
    for (size_t i = 0; i < options->route_count; i++) {
        if (add_route(router, options, &options->routes[i], error, error_size) == -1) {
            router_free(router);
            return NULL;
        }
    }
    return router;
}

static bool
covers(const struct router_entry *entry, const char *path, size_t length)
{
    size_t own = entry->path_length;
    if (own > length || memcmp(entry->path, path, own) != 0)
        return false;
    return own == length || entry->path[own - 1] == '/' || path[own] == '/';
}

const struct router_entry *
router_find(const struct router *router, const char *path, size_t length)
{
    for (size_t i = 0; i < router->count; i++)
        if (covers(&router->entries[i], path, length))
            return &router->entries[i];
    return NULL;
}

void
router_free(struct router *router)
{
    if (router == NULL)
        return;
    for (size_t i = 0; i < router->count; i++) {
        struct router_entry *entry = &router->entries[i];
        if (entry->handler->fini != NULL)
            entry->handler->fini(entry->state);
        free((char *)entry->file);
    }
    lua_host_free(router->lua);
    free(router->entries);
    free(router);
}
