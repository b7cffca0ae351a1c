/* SPDX-License-Identifier: MIT */
/*
 * engine.h - the contract between the process side (master, child) and the
 * request side (engine, request, router, handlers). The process side decides
 * when a child serves, drains and ends; an engine decides how bytes become
 * requests. Neither knows more of the other than this header.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "config/engines.h"

struct config;
struct router;
struct board_slot;

/* What the process side wants an engine to do now. It never goes back to an earlier
 * value. */
enum child_order {
    CHILD_SERVE = 0, /* accept and answer */
    CHILD_DRAIN = 1, /* accept no more; finish what was read; pass kept connections on; return */
    CHILD_CLOSE = 2, /* as CHILD_DRAIN, but all children end: serve what has arrived, then close */
    CHILD_STOP = 3,  /* return now */
};

/* Exit statuses of a child besides those of serve(). */
enum child_exit {
    CHILD_EXIT_TIMEOUT = 3, /* a handler outlived request_timeout and could not be interrupted;
                               its client has got its 504; already logged */
};

/* What an engine gets. Everything belongs to the caller. */
struct engine_context {
    const struct config *config;
    struct router *router;   /* routes with loaded handlers, made in this child */
    struct board_slot *slot; /* the slot of this child; the engine writes it */
    int listen_fd;           /* non-blocking, shared with all siblings */
    int handover_fd[2];      /* shared queue of connections between siblings, a SOCK_SEQPACKET pair
                                made before the fork: [0] to take from, [1] to put into, both
                                non-blocking; -1 without a master */
    int order_fd;            /* readable when order() may have changed */
    /* The current order. Cheap; first reads what is pending on order_fd. */
    enum child_order (*order)(void);
    /* Tells the master that this child retires by its own decision (max_requests), so
     * that its replacement starts while it still drains. Call it once, before draining. */
    void (*retiring)(void);
};

struct engine {
    /* Opens what serving needs; afterwards the child counts as ready. The context stays valid until
     * serve() returns. 0, or -1 (already logged). */
    int (*prepare)(struct engine_context *context);
    /* Serves until ordered to end or until the child has answered as many
     * requests as it may. Returns the exit status of the child: 0 in good
     * order, 1 when it could not continue (already logged). */
    int (*serve)(void);
};

#define ENGINE_DECLARE(name) extern const struct engine engine_##name;
ENGINES(ENGINE_DECLARE)
#undef ENGINE_DECLARE

#endif
