/* SPDX-License-Identifier: MIT */
/*
 * lua_host.h - Lua scripts as handlers. Presents each script as one struct
 * fh_handler; nothing outside lua_*.c (and config_file.c) sees <lua.h>.
 *
 * One Lua state per process, made after the fork by the first script that is
 * loaded. Each request runs as a coroutine: while it waits, others are served.
 */
#ifndef LUA_HOST_H
#define LUA_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fh_handler;
struct lua_host;

struct lua_options {
    size_t memory_max; /* bytes that the state may hold; 0: 128 MiB */
    bool allow_os;     /* the whole standard library, C modules and ffi as well */
    /* Folders of handlers, in whose lib/ require() looks; they must stay. NULL at the end;
     * NULL: none. */
    const char *const *folders;
    bool no_jit; /* interpreter only: then the time limit always stops a loop */
};

/* Makes the state of this process. NULL with the reason in <error>. At most one
 * at a time in a process. */
struct lua_host *lua_host_new(const struct lua_options *options, char *error, size_t error_size);

/* Compiles <file> (once, however many routes name it), runs it with <argument>,
 * and calls its init. <argument> may be NULL and is copied. Stores what the
 * router needs in <handler> and <state>; both live as long as <host>. Returns 0,
 * or -1 with the reason, which names the file and the line, in <error>. */
int lua_host_load(struct lua_host *host, const char *file, const char *argument,
                  const struct fh_handler **handler, void **state, char *error, size_t error_size);

/* Ends the state: after the fini of every handler. NULL is ignored. */
void lua_host_free(struct lua_host *host);

/* Stops the Lua code that runs at this moment, if any: it sees the error "time
 * limit exceeded", which it cannot outlive, and handle() or resume() returns
 * FH_ERROR (the caller, who knows that it asked, answers 504). To be called in
 * the serving thread, so from a signal handler there: async-signal-safe. Code
 * that the JIT compiler turned into a closed loop does not look: whoever needs
 * certainty must be ready to end the process (lua_options.no_jit avoids that). */
void lua_host_interrupt(void);

/* Puts the Lua traceback of what runs now, for <elapsed_ms> so far, into the slow log:
 * the interrupted code writes it itself. Async-signal-safe, as above. */
void lua_host_log_slow(uint32_t elapsed_ms);

#endif
