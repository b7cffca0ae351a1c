/* SPDX-License-Identifier: MIT */
/*
 * router.h - which handler answers which path. Built in each child after the
 * fork, and in the probe that checks a configuration; loads handlers through
 * module.h (.so) and lua_host.h (.lua).
 */
#ifndef ROUTER_H
#define ROUTER_H

#include "lua_host.h"

#include <stddef.h>

struct fh_handler;

/* One route as configured. */
struct route {
    const char *path;     /* begins with '/'; matches itself and what lies below it */
    const char *handler;  /* file name that ends in .so or .lua */
    const char *argument; /* handed to the handler's init; may be NULL */
};

/* What the router is built from; belongs to the caller and must stay. */
struct router_options {
    const struct route *routes;
    size_t route_count;
    const char *const *folders; /* searched in turn for relative names; NULL at the end */
    struct lua_options lua;
};

/* A path with its handler, ready to be called. */
struct router_entry {
    const char *path;
    size_t path_length;
    const char *file; /* for logs: the handler's file, or "built-in" */
    const struct fh_handler *handler;
    void *state; /* what init() made; first argument of the handler's functions */
};

/* Loads every handler and calls its init. NULL with the reason, which names the
 * file, in <error>; then what was loaded is finished again. */
struct router *router_new(const struct router_options *options, char *error, size_t error_size);

/* Adds a handler of the server's own (status, ping). Its init is called with
 * <argument>. Returns 0, or -1 with the reason in <error>. */
int router_add(struct router *router, const char *path, const struct fh_handler *handler,
               const char *argument, char *error, size_t error_size);

/* The entry for <path> (<length> bytes, without the query): of all routes that
 * equal it or a leading part of it up to a '/', the longest. "/" matches all.
 * NULL if there is none. */
const struct router_entry *router_find(const struct router *router, const char *path,
                                       size_t length);

/* Calls every fini and ends the Lua state. NULL is ignored. */
void router_free(struct router *router);

/* Where <name> is: its absolute path in <path>. A relative name is searched in
 * <folders>. A name with a ".." part, and a file that is a symbolic link to
 * somewhere outside the folder, are refused. Returns 0, or -1 with the reason in
 * <error>. */
int router_locate(const char *name, const char *const *folders, char *path, size_t path_size,
                  char *error, size_t error_size);

#endif
