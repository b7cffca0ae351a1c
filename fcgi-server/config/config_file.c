/* SPDX-License-Identifier: MIT */
/*
 * config_file.c - the only place where configuration meets Lua.
 */
#include "config/config_file.h"
#include "base/descriptors.h"
#include "config/config.h"
#include "config/option_value.h"
#include "config/options.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interpreter steps allowed to a configuration file: about a second. */
#define STEPS_MAX 100000000

/* Bytes of memory allowed to it. */
#define MEMORY_MAX ((size_t)64 << 20)

static struct config *
config_of(lua_State *lua)
{
    return lua_touserdata(lua, lua_upvalueindex(1));
}

/* "file:line" of the statement that called us. Lives as long as the process. */
static const char *
origin_of(lua_State *lua)
{
    lua_Debug where;
    char text[512] = "?";
    if (lua_getstack(lua, 1, &where) && lua_getinfo(lua, "Sl", &where))
        snprintf(text, sizeof text, "%s:%d", where.short_src, where.currentline);
    return strdup(text);
}

/* The setters' messages already name the place, so this adds no position. */
static int
give_up(lua_State *lua, const struct config_error *error)
{
    lua_pushstring(lua, error->text);
    return lua_error(lua);
}

static int
set_option(lua_State *lua)
{
    const char *name = lua_tostring(lua, 2);
    const char *origin = origin_of(lua);
    struct config_error error = {0};
    const char *value = NULL;
    if (lua_isboolean(lua, 3))
        value = lua_toboolean(lua, 3) ? "yes" : "no";
    else if (lua_isnumber(lua, 3) || lua_isstring(lua, 3))
        value = lua_tostring(lua, 3);
    for (size_t i = 0; name != NULL && value != NULL && i < options_count; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s", options_table[i].name);
        for (char *at = key; (at = strchr(at, '-')) != NULL;)
            *at = '_';
        if (strcmp(key, name) == 0 && options_table[i].command_only)
            return luaL_error(lua, "%s is accepted on the command line only", name);
    }
    if (value == NULL) {
        snprintf(error.text, sizeof error.text,
                 "%s: invalid value (%s); expected a string, a number or a boolean",
                 name != NULL ? name : "?", origin);
        return give_up(lua, &error);
    }
    if (options_set(config_of(lua), name, value, origin, &error) == -1)
        return give_up(lua, &error);
    lua_settop(lua, 3);
    lua_rawset(lua, lua_upvalueindex(2)); /* so that the script can read it again */
    return 0;
}

static int
add_route(lua_State *lua)
{
    const char *prefix = luaL_checkstring(lua, 1);
    const char *handler = luaL_checkstring(lua, 2);
    const char *argument = luaL_optstring(lua, 3, NULL);
    struct config_error error = {0};
    if (options_add_route(config_of(lua), prefix, handler, argument, origin_of(lua), &error) == -1)
        return give_up(lua, &error);
    return 0;
}

static int
get_environment(lua_State *lua)
{
    lua_pushstring(lua, getenv(luaL_checkstring(lua, 1)));
    return 1;
}

static void
too_long(lua_State *lua, lua_Debug *where)
{
    (void)where;
    luaL_error(lua, "the configuration file ran for too long and was stopped");
}

static void
open_libraries(lua_State *lua)
{
    static const luaL_Reg libraries[] = {
        {"", luaopen_base},
        {LUA_STRLIBNAME, luaopen_string},
        {LUA_TABLIBNAME, luaopen_table},
        {LUA_MATHLIBNAME, luaopen_math},
    };
    static const char *const forbidden[] = {"dofile", "loadfile", "load", "loadstring",
                                            "collectgarbage", "getfenv", "setfenv", "newproxy",
                                            /* they could catch the error of the step limit */
                                            "pcall", "xpcall", "coroutine"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_pushcfunction(lua, libraries[i].func);
        lua_pushstring(lua, libraries[i].name);
        lua_call(lua, 1, 0);
    }
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        lua_pushnil(lua);
        lua_setglobal(lua, forbidden[i]);
    }
}

/* Gives the script an environment of its own: reads go on to the library,
 * assignments set options. */
static void
make_environment(lua_State *lua, struct config *config)
{
    static const luaL_Reg functions[] = {{"route", add_route}, {"getenv", get_environment}};
    for (size_t i = 0; i < 2; i++) {
        lua_pushlightuserdata(lua, config);
        lua_pushcclosure(lua, functions[i].func, 1);
        lua_setglobal(lua, functions[i].name);
    }
    lua_newtable(lua); /* environment; stays empty, so that each assignment is seen */
    lua_newtable(lua); /* its metatable */
    lua_newtable(lua); /* what was assigned; reads go on to the library */
    lua_newtable(lua);
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_pushlightuserdata(lua, config);
    lua_pushvalue(lua, -2);
    lua_pushcclosure(lua, set_option, 2);
    lua_setfield(lua, -3, "__newindex");
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_setfenv(lua, -2);
}

/* --- the bytes ------------------------------------------------------------------------- */

int
config_file_snapshot(const char *path)
{
    char buffer[4096];
    ssize_t length = -1;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = from != -1 ? memfd_create("configuration", MFD_CLOEXEC) : -1;
    while (to != -1 && (length = read(from, buffer, sizeof buffer)) > 0) {
        if (write(to, buffer, (size_t)length) != length) {
            length = -1;
            break;
        }
    }
    int reason = errno;
    if (from != -1)
        close(from);
    if (length == -1 && to != -1) {
        close(to);
        to = -1;
    }
    errno = reason;
    return to;
}

/* Compiles the snapshot of a reload if there is one, else the file. */
static int
load(lua_State *lua, const char *path)
{
    char name[512];
    const char *variable = getenv("FCGI_SERVER_CONFIG");
    int fd = variable != NULL ? descriptors_number(variable) : -1;
    struct stat status;
    /* Somebody may have set the variable by hand, to a path perhaps. */
    if (fd <= STDERR_FILENO || fstat(fd, &status) == -1)
        return luaL_loadfile(lua, path);
    char *text = lua_newuserdata(lua, (size_t)status.st_size + 1);
    ssize_t length = pread(fd, text, (size_t)status.st_size, 0);
    snprintf(name, sizeof name, "@%s", path);
    int result = luaL_loadbuffer(lua, text, length > 0 ? (size_t)length : 0, name);
    lua_remove(lua, -2);
    close(fd);
    unsetenv("FCGI_SERVER_CONFIG");
    return result;
}

/* LuaJIT's own allocator, and the bytes it has given out. */
struct memory {
    lua_Alloc allocate;
    void *data;
    size_t used;
};

static void *
allocate(void *data, void *block, size_t old_size, size_t new_size)
{
    struct memory *memory = data;
    if (new_size > old_size && memory->used + (new_size - old_size) > MEMORY_MAX)
        return NULL;
    void *result = memory->allocate(memory->data, block, old_size, new_size);
    if (result != NULL || new_size == 0)
        memory->used += new_size - old_size;
    return result;
}

struct reading {
    struct config *config;
    const char *path;
};

static int
run(lua_State *lua)
{
    struct reading *reading = lua_touserdata(lua, 1);
    luaJIT_setmode(lua, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF); /* hooks count steps */
    open_libraries(lua);
    if (load(lua, reading->path) != 0)
        return lua_error(lua);
    make_environment(lua, reading->config);
    lua_sethook(lua, too_long, LUA_MASKCOUNT, STEPS_MAX);
    lua_call(lua, 0, 0);
    return 0;
}

int
config_file_read(struct config *config, const char *path, struct config_error *error)
{
    struct reading reading = {config, path};
    lua_State *lua = luaL_newstate();
    if (lua == NULL) {
        snprintf(error->text, sizeof error->text, "%s: out of memory", path);
        return -1;
    }
    struct memory memory = {.used = (size_t)lua_gc(lua, LUA_GCCOUNT, 0) * 1024};
    memory.allocate = lua_getallocf(lua, &memory.data);
    lua_setallocf(lua, allocate, &memory);
    int result = lua_cpcall(lua, run, &reading);
    if (result != 0) {
        const char *reason = lua_tostring(lua, -1);
        snprintf(error->text, sizeof error->text, "%s",
                 reason != NULL ? reason
                                : "the configuration file failed; its error value is not a string");
    }
    lua_close(lua);
    return result == 0 ? 0 : -1;
}
