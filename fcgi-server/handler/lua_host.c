/* SPDX-License-Identifier: MIT */
#include "handler/lua_host.h"
#include "base/clock.h"
#include "base/log.h"
#include "handler/lua_request.h"
#include "handler/lua_require.h"
#include "handler/lua_sandbox.h"
#include "handler/lua_socket.h"
#include "handler/lua_stream.h"
#include "handler/lua_task.h"

#include <luajit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MEMORY_DEFAULT = 128 << 20, /* bytes */
    STACK_WANTED = 96 << 20,    /* bytes; the kernel keeps at least 128 MiB free for it */
};

/* --- the state ------------------------------------------------------------- */

/* LuaJIT's own allocator with a limit. Past it Lua sees "not enough memory", an
 * error like any other. */
static void *
allocate(void *data, void *block, size_t old_size, size_t new_size)
{
    struct lua_host *host = data;
    if (new_size > old_size && host->used + (new_size - old_size) > host->memory_max) {
        host->exhausted = true;
        return NULL;
    }
    void *result = host->allocate(host->allocate_data, block, old_size, new_size);
    if (result != NULL || new_size == 0)
        host->used += new_size - old_size;
    else
        host->exhausted = true;
    return result;
}

/* Only reached by a fault in lua_*.c: everything is called under protection. */
static int
panic(lua_State *L)
{
    log_error("lua: error outside of a protected call: %s",
              lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?");
    return 0;
}

/* LuaJIT bounds its own stacks, not that of C: string.gsub() that calls itself, or
 * coroutines in coroutines, would use it up and end the process before they meet a
 * limit of Lua's. With more of it they do. Costs nothing until it is used. */
static void
raise_stack_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == -1 || limit.rlim_cur >= STACK_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < STACK_WANTED ? limit.rlim_max : STACK_WANTED;
    setrlimit(RLIMIT_STACK, &limit);
}

/* LuaJIT's math.random draws the same numbers in each state until it is seeded. */
static void
seed(lua_State *L)
{
    uint64_t bits = (uint64_t)clock_ns() ^ (uint64_t)getpid() << 32;
    ssize_t got = getrandom(&bits, sizeof bits, GRND_NONBLOCK);
    (void)got; /* so early that there is none: the clock and the pid */
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushnumber(L, (lua_Number)(bits >> 11)); /* 53 bits: as many as a number has */
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

static int
open_all(lua_State *L)
{
    struct lua_host *host = lua_touserdata(L, 1);
    lua_sandbox_open(L, host);
    seed(L);
    lua_request_open(L, host);
    lua_socket_open(L, host);
    lua_stream_open(L, host);
    lua_newtable(L);
    host->compiled_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

struct lua_host *
lua_host_new(const struct lua_options *options, char *error, size_t error_size)
{
    struct lua_host *host = calloc(1, sizeof *host);
    lua_State *L = host == NULL ? NULL : luaL_newstate();
    if (L == NULL) {
        free(host);
        snprintf(error, error_size, "lua: out of memory");
        return NULL;
    }
    raise_stack_limit();
    host->main = L;
    host->memory_max = options->memory_max != 0 ? options->memory_max : MEMORY_DEFAULT;
    host->allow_os = options->allow_os;
    host->folders = options->folders;
    host->used = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
    host->allocate = lua_getallocf(L, &host->allocate_data);
    lua_setallocf(L, allocate, host);
    lua_atpanic(L, panic);
    lua_state_here = host;
    if (lua_cpcall(L, open_all, host) != 0) {
        snprintf(error, error_size, "lua: %s", lua_tostring(L, -1));
        lua_host_free(host);
        return NULL;
    }
    if (options->no_jit)
        luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    lua_task_open(L);
    return host;
}

void
lua_host_free(struct lua_host *host)
{
    if (host == NULL)
        return;
    lua_state_here = NULL;
    lua_task_close(host);
    lua_socket_close_pool(host);
    while (host->scripts != NULL) {
        struct lua_script *script = host->scripts;
        host->scripts = script->next;
        free(script->file);
        free(script);
    }
    lua_setallocf(host->main, host->allocate, host->allocate_data);
    lua_close(host->main);
    free(host);
}

/* --- scripts --------------------------------------------------------------- */

/* Pushes the chunk of <script>, compiled before or now. */
static void
push_chunk(lua_State *L, struct lua_script *script)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, script->host->compiled_ref);
    lua_getfield(L, -1, script->file);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_sandbox_compile(L, script->file, script->name);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, script->file);
    }
    lua_remove(L, -2);
}

/* Takes the function <key> out of the table on top. LUA_NOREF if it is absent. */
static int
take_function(lua_State *L, const char *key)
{
    lua_getfield(L, -1, key);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return LUA_NOREF;
    }
    if (!lua_isfunction(L, -1))
        return luaL_error(L, "the %s it returns is not a function", key);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Takes what the chunk returned: a function, or a table of functions. */
static void
take_functions(lua_State *L, struct lua_script *script, const char *argument)
{
    if (lua_isfunction(L, -1)) {
        script->handle_ref = luaL_ref(L, LUA_REGISTRYINDEX);
        return;
    }
    if (!lua_istable(L, -1)) {
        luaL_error(L, "it returns a %s; a handler returns a function or a table {handle = ...}",
                   luaL_typename(L, -1));
    }
    script->handle_ref = take_function(L, "handle");
    script->fini_ref = take_function(L, "fini");
    if (script->handle_ref == LUA_NOREF)
        luaL_error(L, "the table it returns has no function handle");
    lua_getfield(L, -1, "init");
    if (!lua_isnil(L, -1)) {
        lua_pushstring(L, argument);
        lua_call(L, 1, 0);
    }
}

static int
first_line(lua_State *L, int function_ref)
{
    lua_Debug function;
    lua_rawgeti(L, LUA_REGISTRYINDEX, function_ref);
    lua_getinfo(L, ">S", &function);
    return function.linedefined;
}

/* lua_cpcall()ed. */
static int
load(lua_State *L)
{
    struct lua_script *script = lua_touserdata(L, 1);
    const char *argument = script->host->argument;
    char *slash = (char *)script->name - 1;
    push_chunk(L, script);
    *slash = '\0';
    lua_pushstring(L, script->file);
    *slash = '/';
    lua_sandbox_push_globals(L, script->host);
    int globals = lua_gettop(L);
    lua_require_add(L, script->host, lua_tostring(L, globals - 1), script->file);
    lua_pushvalue(L, globals - 2);
    lua_pushvalue(L, globals);
    lua_setfenv(L, -2);
    lua_pushstring(L, argument); /* nil if NULL */
    lua_call(L, 1, 1);
    take_functions(L, script, argument);
    script->line = first_line(L, script->handle_ref);
    lua_sandbox_lock(L, globals);
    return 0;
}

/* The reason with the whole path of the file in it. */
static void
explain(const struct lua_script *script, lua_State *L, char *error, size_t error_size)
{
    int line = 0;
    int name_length = 0;
    const char *message =
        lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error value that is no text";
    const char *rest = lua_task_split(message, &line, &name_length);
    if (line > 0) {
        snprintf(error, error_size, "%.*s%.*s:%d: %s", lua_task_folder_length(script, message),
                 script->file, name_length, message, line, rest);
    } else {
        snprintf(error, error_size, "%s: %s", script->file, message);
    }
}

/* lua_cpcall()ed. */
static int
call_fini(lua_State *L)
{
    struct lua_script *script = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, script->fini_ref);
    lua_call(L, 0, 0);
    return 0;
}

static void
fini(void *state)
{
    struct lua_script *script = state;
    lua_State *L = script->host->main;
    char reason[512];
    if (script->fini_ref != LUA_NOREF && lua_cpcall(L, call_fini, script) != 0) {
        explain(script, L, reason, sizeof reason);
        log_error("%s", reason);
    }
}

static const struct fh_handler handler = {
    FH_ABI,
    sizeof(struct fh_handler),
    .name = "lua",
    .handle = lua_task_handle,
    .resume = lua_task_resume,
    .cancel = lua_task_cancel,
    .fini = fini,
};

int
lua_host_load(struct lua_host *host, const char *file, const char *argument,
              const struct fh_handler **result, void **state, char *error, size_t error_size)
{
    struct lua_script *script = calloc(1, sizeof *script);
    char *copy = strdup(file);
    if (script == NULL || copy == NULL || strchr(file, '/') == NULL) {
        free(script);
        free(copy);
        snprintf(error, error_size, "%s: out of memory, or not an absolute path", file);
        return -1;
    }
    *script = (struct lua_script){.host = host,
                                  .next = host->scripts,
                                  .file = copy,
                                  .name = strrchr(copy, '/') + 1,
                                  .handle_ref = LUA_NOREF,
                                  .fini_ref = LUA_NOREF};
    host->scripts = script;
    host->argument = argument;
    if (lua_cpcall(host->main, load, script) != 0) {
        explain(script, host->main, error, error_size);
        return -1;
    }
    *result = &handler;
    *state = script;
    return 0;
}

/* --- interruption ---------------------------------------------------------- */

/* Raises the error with the line that runs; luaL_error() does not know it here. */
static void
raise_time_limit(lua_State *L)
{
    lua_Debug frame = {.currentline = 0};
    for (int level = 0; frame.currentline <= 0 && lua_getstack(L, level, &frame); level++)
        lua_getinfo(L, "Sl", &frame);
    lua_pushfstring(L, "%s:%d: time limit exceeded", frame.short_src, frame.currentline);
    lua_error(L);
}

/* Called before each instruction of Lua once armed. */
static void
hook(lua_State *L, lua_Debug *event)
{
    struct lua_host *host = lua_state_here;
    (void)event;
    if (host == NULL || host->running == NULL)
        return;
    if (host->slow_ms > 0) {
        lua_task_log_slow(host->running, L, host->slow_ms);
        host->slow_ms = 0;
        if (!host->interrupted)
            lua_sethook(L, NULL, 0, 0);
    }
    if (host->interrupted) /* again and again: pcall() in the script does not help */
        raise_time_limit(L);
}

static void
arm(struct lua_host *host)
{
    lua_sethook(host->main, hook, LUA_MASKCOUNT | LUA_MASKCALL, 1);
}

void
lua_host_interrupt(void)
{
    if (lua_state_here != NULL && lua_state_here->running != NULL) {
        lua_state_here->interrupted = true;
        arm(lua_state_here);
    }
}

void
lua_host_log_slow(uint32_t elapsed_ms)
{
    if (lua_state_here != NULL && lua_state_here->running != NULL) {
        lua_state_here->slow_ms = elapsed_ms > 0 ? elapsed_ms : 1;
        arm(lua_state_here);
    }
}
