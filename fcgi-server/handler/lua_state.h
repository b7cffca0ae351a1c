/* SPDX-License-Identifier: MIT */
/*
 * lua_state.h - what the files lua_*.c know of each other's data; nobody else includes
 * one of their headers but lua_host.h. Lowest first:
 *
 *   lua_state    the Lua state of this process, its scripts and tasks
 *   lua_wait     a method that waits
 *   lua_sandbox  what scripts may reach; the lock on globals
 *   lua_require  modules
 *   lua_socket   connections for handlers: connect, close, keep
 *   lua_stream   send and receive
 *   lua_request  the methods of a request
 *   lua_task     coroutines: start, continue, end; errors
 *   lua_host     scripts as handlers
 *
 * Rule: everything that may allocate in Lua runs inside lua_pcall() or inside a
 * coroutine. An error outside would end the process.
 */
#ifndef LUA_STATE_H
#define LUA_STATE_H

#include "fcgi-handler.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lua_socket;
struct lua_socket_pool;

/* One script with one argument: the state behind one route. */
struct lua_script {
    struct lua_host *host;
    struct lua_script *next;
    char *file;
    const char *name; /* the part of <file> behind the last '/' */
    int line;         /* where its handle begins */
    int handle_ref;   /* its functions, in the registry; LUA_NOREF if it has none */
    int fini_ref;
};

/* A request, or the room for one, in its coroutine. */
struct lua_task {
    struct lua_host *host;
    struct lua_task *next_free;
    struct lua_script *script;
    struct fh_request *request;
    uint64_t serial; /* counts its requests: see struct lua_handle */
    lua_State *thread;
    int thread_ref; /* keeps <thread> alive */
    bool answered;  /* the script has set or written something */

    /* What it waits for; <step> is NULL unless it does. The wait itself is
     * stored by lua_wait_for(). */
    int (*step)(lua_State *L, struct lua_task *task, short revents);
    int wait_fd;
    short wait_events;
    uint32_t wait_timeout_ms;
    int64_t deadline_ns;

    struct lua_socket *sockets; /* open ones; closed when the request ends */
    struct lua_socket *waiting; /* the one that <step> works on */
};

/* The userdata that a script knows as its request. The script may keep it, or lose
 * it to the garbage collector, at any time; it is valid for one serial. */
struct lua_handle {
    struct lua_task *task;
    uint64_t serial;
};

struct lua_host {
    lua_State *main;
    size_t memory_max; /* bytes that <main> may hold */
    bool allow_os;     /* see struct lua_options */
    const char *const *folders;
    struct lua_script *scripts;
    struct lua_task *idle; /* finished ones, to be used again; as many as ever ran at once */

    /* The allocator that LuaJIT brings, and what it has given. */
    lua_Alloc allocate;
    void *allocate_data;
    size_t used;
    bool exhausted; /* an allocation was refused since the last look */

    /* Arguments for functions under lua_pcall(): passing them as Lua values could
     * fail for want of memory before the call is protected. */
    struct lua_task *task;
    struct lua_script *loading;
    const char *argument;
    short revents;

    int compiled_ref; /* table: file -> chunk */
    int base_ref;     /* table: the globals that each script gets a copy of */
    int request_ref;  /* metatables */
    int socket_ref;

    /* Read and written by lua_host_interrupt() in a signal handler. */
    struct lua_task *volatile running;
    volatile bool interrupted;
    volatile uint32_t slow_ms; /* to be told of once, with this time; 0: not */

    struct lua_socket_pool *pool; /* connections that scripts kept */
};

/* The host of this process; NULL if there is none. */
extern struct lua_host *lua_state_here;

/* The running task whose request is argument 1 of a method; a Lua error if it is none or
 * if it has ended. Upvalue 1 of the method is the metatable of requests. */
struct lua_task *lua_state_task(lua_State *L);

#endif
