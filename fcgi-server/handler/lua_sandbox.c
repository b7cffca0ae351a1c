/* SPDX-License-Identifier: MIT */
/*
 * What a script may reach. Unless the configuration allows more (allow_lua_os),
 * it gets the language and its pure libraries, and nothing that ends, blocks or
 * changes the process, starts programs, opens files or loads machine code:
 * no io, no debug (but traceback), no ffi, no bytecode, a few functions of os.
 * ffi is out because it undoes every other rule: ffi.C has exit() and system().
 */
#include "handler/lua_sandbox.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAX = 1 << 20 }; /* a script is smaller, in bytes */

/* The globals of a script, and of some libraries the functions. "" = all. */
static const struct {
    const char *lib_name;
    const char *names;
} allowed[] = {
    {"_G",
     " _VERSION assert collectgarbage error getmetatable ipairs next pairs pcall rawequal rawget "
     "select setmetatable tonumber tostring type unpack xpcall "},
    {"bit", ""},
    {"coroutine", ""},
    {"debug", " traceback "},
    {"jit", " arch flush off on os status version version_num "},
    {"math", ""},
    {"os", " clock date difftime getenv time "},
    {"string", ""},
    {"table", ""},
};

/* --- functions that replace others ----------------------------------------- */

/* print(...): a log line, arguments separated by a space. */
static int
print(lua_State *L)
{
    luaL_Buffer buffer;
    int count = lua_gettop(L);

    lua_getglobal(L, "tostring");
    luaL_buffinit(L, &buffer);
    for (int i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addchar(&buffer, ' ');
        lua_pushvalue(L, count + 1);
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
    log_notice("%s", luaL_checkstring(L, -1));
    return 0;
}

/* load(text [, name [, mode [, globals]]]), and loadstring: no bytecode, since
 * LuaJIT does not verify it. Upvalue 1: the script's globals. */
static int
load_text(lua_State *L)
{
    size_t length = 0;
    const char *text = luaL_checklstring(L, 1, &length);
    if (luaL_loadbufferx(L, text, length, luaL_optstring(L, 2, text), "t") != 0) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    lua_pushvalue(L, lua_istable(L, 4) ? 4 : lua_upvalueindex(1));
    lua_setfenv(L, -2);
    return 1;
}

/* The lock: __newindex of the script's globals. */
static int
refuse_global(lua_State *L)
{
    return luaL_error(L, "global '%s' is created while serving; make it local",
                      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?");
}

/* rawset() that cannot pass the lock. Upvalue 1: the script's globals. */
static int
raw_set(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (lua_rawequal(L, 1, lua_upvalueindex(1)))
        lua_settable(L, 1);
    else
        lua_rawset(L, 1);
    lua_settop(L, 1);
    return 1;
}

void
lua_sandbox_copy(lua_State *L)
{
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -5);
    }
    lua_pop(L, 1);
}

/* --- making it ------------------------------------------------------------- */

/* The contents of <file>, for free(). NULL with errno if it cannot be read. */
static char *
read_file(const char *file, size_t *length)
{
    FILE *stream = fopen(file, "re");
    char *text = stream == NULL ? NULL : malloc(SCRIPT_MAX);
    if (text != NULL) {
        *length = fread(text, 1, SCRIPT_MAX, stream);
        if (ferror(stream) || *length == SCRIPT_MAX) {
            errno = ferror(stream) ? errno : EFBIG;
            free(text);
            text = NULL;
        }
    }
    if (stream != NULL)
        fclose(stream);
    return text;
}

void
lua_sandbox_compile(lua_State *L, const char *file, const char *name)
{
    char chunk_name[PATH_MAX];
    size_t length = 0;
    snprintf(chunk_name, sizeof chunk_name, "@%s", name);
    char *text = read_file(file, &length);
    if (text == NULL) {
        luaL_error(L, "%s: %s", name, strerror(errno));
        return;
    }
    int status = luaL_loadbufferx(L, text, length, chunk_name, "t");
    free(text);
    if (status != 0)
        lua_error(L);
}

/* Copies the functions <names> (" a b ") of the table on top into the table
 * below it, and pops the former. */
static void
copy_names(lua_State *L, const char *names)
{
    char pattern[64];
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            snprintf(pattern, sizeof pattern, " %s ", lua_tostring(L, -2));
            if (strstr(names, pattern) != NULL) {
                lua_pushvalue(L, -2);
                lua_pushvalue(L, -2);
                lua_rawset(L, -6);
            }
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* The table behind ("x"):rep() is common to all scripts: out of their reach. */
static void
hide_string_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* A buffer's memory as a pointer, which knows no bounds, is as good as ffi. */
static void
hide_buffer_pointers(lua_State *L)
{
    static const char *const methods[] = {"reserve", "commit", "ref"};
    lua_getglobal(L, "require");
    lua_pushliteral(L, "string.buffer");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "new");
    lua_call(L, 0, 1);
    lua_getmetatable(L, -1);
    lua_getfield(L, -1, "__index");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, methods[i]);
    }
    lua_pop(L, 4);
}

/* Modules in Lua would run outside of the sandbox, and so would what lies in the folder that
 * the server was started in. What is left finds lua-cjson. */
static void
forget_folders(lua_State *L)
{
    lua_getglobal(L, "package");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "path");
    lua_getfield(L, -1, "cpath");
    luaL_gsub(L, lua_tostring(L, -1), "./?.so;", "");
    lua_setfield(L, -3, "cpath");
    lua_pop(L, 2);
}

/* Replaces the libraries in the table on top by copies, so that what one script does
 * to them concerns no other. */
static void
copy_libraries(lua_State *L)
{
    for (size_t i = 1; i < sizeof allowed / sizeof *allowed; i++) {
        lua_newtable(L);
        lua_getfield(L, -2, allowed[i].lib_name);
        lua_sandbox_copy(L);
        lua_setfield(L, -2, allowed[i].lib_name);
    }
}

void
lua_sandbox_open(lua_State *L, struct lua_host *host)
{
    luaL_openlibs(L);
    if (!host->allow_os) {
        hide_string_methods(L);
        hide_buffer_pointers(L);
        forget_folders(L);
    }
    lua_newtable(L);
    if (host->allow_os) {
        lua_getglobal(L, "_G");
        lua_sandbox_copy(L);
    }
    for (size_t i = 0; !host->allow_os && i < sizeof allowed / sizeof *allowed; i++) {
        bool whole = allowed[i].names[0] == '\0';
        bool globals = i == 0;
        if (!whole && !globals)
            lua_newtable(L);
        lua_getglobal(L, allowed[i].lib_name);
        if (!whole)
            copy_names(L, allowed[i].names);
        if (!globals)
            lua_setfield(L, -2, allowed[i].lib_name);
    }
    lua_pushcfunction(L, print);
    lua_setfield(L, -2, "print");
    host->base_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Sets a function whose first upvalue is the table of globals on top. */
static void
set_closure(lua_State *L, const char *name, lua_CFunction function)
{
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

void
lua_sandbox_push_globals(lua_State *L, struct lua_host *host)
{
    lua_newtable(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, host->base_ref);
    lua_sandbox_copy(L);
    if (!host->allow_os)
        copy_libraries(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "_G");
    set_closure(L, "rawset", raw_set);
    if (!host->allow_os) {
        set_closure(L, "load", load_text);
        set_closure(L, "loadstring", load_text);
    }
}

void
lua_sandbox_lock(lua_State *L, int index)
{
    lua_pushvalue(L, index);
    lua_newtable(L);
    lua_pushcfunction(L, refuse_global);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
