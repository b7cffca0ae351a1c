/* SPDX-License-Identifier: MIT */
/*
 * router.h - which handler answers which path. Built in each child after the
 * fork, and in the probe that checks a configuration; loads handlers through
 * shared_object.h (.so) and lua_host.h (.lua).
 */
#ifndef ROUTER_H
#define ROUTER_H

#include "handler/lua_host.h"

#include <stddef.h>

struct fh_handler;

/* One route as configured. */
struct route {
    const char *path;     /* begins with '/'; matches itself and what lies below it */
    const char *handler;  /* file name that ends in .so or .lua, or "builtin:NAME" */
    const char *argument; /* handed to the handler's init; may be NULL */
    const char *origin;   /* where it was configured, for messages; may be NULL */
};

/* What the router is built from; belongs to the caller and must stay. */
struct router_options {
    const struct route *routes;
    size_t route_count;
    const char *const *folders; /* searched in turn for relative names; NULL at the end */
    /* The handler behind "builtin:NAME", or NULL; as status_builtin(). */
    const struct fh_handler *(*builtin)(const char *name);
    struct lua_options lua;
};

/* A path with its handler, ready to be called. */
struct router_entry {
    const char *path;
    size_t path_length;
    const char *file; /* for logs: the handler's file, or "builtin:NAME" */
    const struct fh_handler *handler;
    bool builtin; /* the server's own code */
    void *state;  /* what init() made; first argument of the handler's functions */
};

/* Loads every handler and calls its init. NULL with the reason, which names the
 * file, in <error>; then what was loaded is finished again. */
struct router *router_new(const struct router_options *options, char *error, size_t error_size);

/* The entry for <path> (<length> bytes, without the query): of all routes that
 * equal it or a leading part of it up to a '/', the longest. "/" matches all.
 * NULL if there is none. */
const struct router_entry *router_find(const struct router *router, const char *path,
                                       size_t length);

/* Calls every fini and ends the Lua state. NULL is ignored. */
void router_free(struct router *router);

#endif
