/* SPDX-License-Identifier: MIT */
/*
 * lua_internal.h - what the files lua_*.c share; nobody else includes it.
 *
 *   lua_host.c     the state, scripts, and the handler functions
 *   lua_task.c     coroutines: start, continue, end; errors
 *   lua_sandbox.c  what scripts may reach; require; the lock on globals
 *   lua_request.c  the methods of a request
 *   lua_socket.c   TCP for handlers: connect, close, keep
 *   lua_stream.c   send and receive
 *
 * Rule: everything that may allocate in Lua runs inside lua_pcall() or inside a
 * coroutine. An error outside would end the process.
 */
#ifndef LUA_INTERNAL_H
#define LUA_INTERNAL_H

#include "fcgi-handler.h"
#include "handler/lua_host.h"

#include <lauxlib.h>
#include <lua.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

struct lua_socket;
struct lua_socket_pool;
struct lua_task;

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
     * stored by lua_task_wait(). */
    int (*step)(lua_State *L, struct lua_task *task, short revents);
    int wait_fd;
    short wait_events;
    uint32_t wait_timeout_ms;
    int64_t deadline_ns;

    struct lua_socket *sockets; /* open ones; closed when the request ends */
    struct lua_socket *waiting; /* the one that <step> works on */
};

/* The host of this process; NULL if there is none. */
extern struct lua_host *lua_host_here;

/* The userdata that a script knows as its request. The script may keep it, or lose
 * it to the garbage collector, at any time; it is valid for one serial. */
struct lua_handle {
    struct lua_task *task;
    uint64_t serial;
};

struct lua_host {
    lua_State *main;
    struct lua_options options;
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

/* --- lua_task.c --- */

/* The functions of the handler that stands for a script. */
enum fh_result lua_task_handle(void *state, struct fh_request *request);
enum fh_result lua_task_resume(void *state, struct fh_request *request, short revents);
void lua_task_cancel(void *state, struct fh_request *request);

/* Puts the functions that lua_task.c calls under protection on the main stack,
 * where they stay. Called once, before anything else uses that stack. */
void lua_task_open(lua_State *L);

/* Splits Lua's "name:line: text": stores <line> (0 if there is none) and the
 * length of the name, and returns the text. */
const char *lua_task_split(const char *message, int *line, int *name_length);

/* Logs where the running <task> is; <L> is the coroutine that runs. */
void lua_task_log_slow(struct lua_task *task, lua_State *L, uint32_t elapsed_ms);

/* Frees the idle ones. */
void lua_task_close(struct lua_host *host);

/* Called by a method that may have to wait: runs <step> at once, and again each
 * time that what it waits for has come, until it returns a number of results.
 * <step> gets the state to push results on, which is not always the task's; the
 * method's arguments stay at their places on the stack of task->thread. To wait,
 * it returns lua_task_wait(). Use as `return lua_task_step(L, task, step)`. */
int lua_task_step(lua_State *L, struct lua_task *task,
                  int (*step)(lua_State *L, struct lua_task *task, short revents));

/* Stores what a step waits for: <fd> (-1: only the time) until task->deadline_ns.
 * Returns what the step returns. */
int lua_task_wait(struct lua_task *task, int fd, short events);

/* --- lua_sandbox.c --- */

/* Opens the libraries, makes the table of globals. Protected. */
void lua_sandbox_open(lua_State *L, struct lua_host *host);

/* Pushes a new table of globals for a script in <folder>. Protected. */
void lua_sandbox_push_globals(lua_State *L, struct lua_host *host, const char *folder);

/* From now on, new globals in the table at <index> are refused. Protected. */
void lua_sandbox_lock(lua_State *L, int index);

/* Compiles <file> and pushes the function. In messages it is called <name>. Text
 * only. Protected; a Lua error says what is wrong. */
void lua_sandbox_compile(lua_State *L, const char *file, const char *name);

/* --- lua_request.c --- */

/* Makes the metatable. Protected. */
void lua_request_open(lua_State *L, struct lua_host *host);

/* Pushes the userdata for <task>. Protected. */
void lua_request_push(lua_State *L, struct lua_task *task);

/* The running task whose request is argument 1; a Lua error if it is none or if
 * it has ended. */
struct lua_task *lua_request_check(lua_State *L);

/* --- lua_socket.c --- */

union lua_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct lua_socket {
    struct lua_task *task; /* NULL once closed */
    struct lua_socket *next;
    int fd; /* -1 once closed */
    union lua_address address;
    uint32_t timeout_ms;

    char *input; /* received, not given to the script yet */
    size_t input_length;
    size_t input_size;
    bool ended;    /* the peer has closed its side */
    size_t wanted; /* receive(): this many bytes; 0: a line; SIZE_MAX: all */
    size_t looked; /* bytes of <input> known to hold no line end */
    size_t sent;   /* send(): bytes that have left */
};

/* Makes the metatable and the pool. Protected. */
void lua_socket_open(lua_State *L, struct lua_host *host);

/* request:connect(host, port [, timeout_ms]) */
int lua_socket_connect(lua_State *L);

/* Argument 1 as an open socket of the running request; a Lua error otherwise. */
struct lua_socket *lua_socket_check(lua_State *L);

/* Starts the time-out of <socket>, on which its request is about to wait. */
void lua_socket_set_deadline(struct lua_socket *socket);

/* Pushes nil and <reason>. Returns 2. */
int lua_socket_failure(lua_State *L, const char *reason);

/* Waits for <events>, or gives up when the time is over. As a step returns. */
int lua_socket_wait(lua_State *L, struct lua_task *task, short events);

/* Closes all sockets of <task>. */
void lua_socket_close_all(struct lua_task *task);

/* Closes the kept connections and frees the pool. */
void lua_socket_close_pool(struct lua_host *host);

/* --- lua_stream.c --- */

/* socket:send(text), socket:receive(what) */
int lua_stream_send(lua_State *L);
int lua_stream_receive(lua_State *L);

#endif
