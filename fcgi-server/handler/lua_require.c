/* SPDX-License-Identifier: MIT */
#include "handler/lua_require.h"
#include "base/find_file.h"
#include "handler/lua_sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What is found without a file of ours: libraries of LuaJIT, and lua-cjson, which is a
 * package of its own. */
static const char *const built_in[] = {"cjson", "cjson.safe", "string.buffer", "table.clear",
                                       "table.new"};

enum { UP_GLOBALS = 1, UP_FOLDER = 2, UP_LOADED = 3, UP_WHOLE = 4, UP_SCRIPT = 5 };

static void
check_name(lua_State *L, const char *name)
{
    if (name[0] == '\0' || name[0] == '.' || strstr(name, "..") != NULL ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
            strlen(name))
        luaL_error(L, "require: \"%s\" is no module name", name);
}

static bool
is_built_in(const char *name)
{
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (strcmp(built_in[i], name) == 0)
            return true;
    return false;
}

/* Where the module <relative> is: its path in <file>. A script called web.lua gets the
 * module web, not itself. */
static bool
find_module(lua_State *L, const char *relative, const char *folder, char *file)
{
    char path[PATH_MAX];
    char error[512];
    const char *const *more = lua_state_here->folders;
    const char *at = folder;
    bool below = false;
    for (;;) {
        const char *const folders[] = {path, NULL};
        snprintf(path, sizeof path, "%s%s", at, below ? "/lib" : "");
        if (find_file(relative, folders, file, PATH_MAX, error, sizeof error) == 0) {
            if (strcmp(file, lua_tostring(L, lua_upvalueindex(UP_SCRIPT))) != 0)
                return true;
        } else if (strstr(error, "no such file") == NULL) {
            luaL_error(L, "require: %s", error);
        }
        if (below && (more == NULL || (at = *more++) == NULL))
            return false;
        below = true;
    }
}

/* Marks the module of argument 1 as being loaded, or (<unknown>) takes the mark away. */
static void
set_loaded(lua_State *L, bool unknown)
{
    lua_pushvalue(L, 1);
    if (unknown)
        lua_pushnil(L);
    else
        lua_pushboolean(L, 0);
    lua_rawset(L, lua_upvalueindex(UP_LOADED));
}

/* Pushes the module of a file; nothing if there is none. */
static bool
require_file(lua_State *L, const char *name, const char *folder)
{
    char relative[256];
    char file[PATH_MAX];
    size_t length = strlen(name);
    if (length + sizeof ".lua" > sizeof relative)
        luaL_error(L, "require: \"%s\" is too long", name);
    snprintf(relative, sizeof relative, "%s.lua", name);
    for (char *dot = relative; dot < relative + length; dot++)
        *dot = *dot == '.' ? '/' : *dot;
    if (!find_module(L, relative, folder, file))
        return false;
    /* In messages: within the script's folder by that, else by its own path. */
    size_t own = strlen(folder);
    bool near = strncmp(file, folder, own) == 0 && file[own] == '/';
    lua_sandbox_compile(L, file, near ? file + own + 1 : file);
    lua_pushvalue(L, lua_upvalueindex(UP_GLOBALS));
    lua_setfenv(L, -2);
    lua_pushvalue(L, 1);
    set_loaded(L, false);
    if (lua_pcall(L, 1, 1, 0) != 0) {
        set_loaded(L, true);
        lua_error(L);
    }
    return true;
}

/* Pushes what the whole library's require() finds. */
static void
require_whole(lua_State *L, const char *name, const char *folder)
{
    bool known = is_built_in(name);
    if (!known && lua_isnil(L, lua_upvalueindex(UP_WHOLE)))
        luaL_error(L, "require: there is no \"%s\" in %s nor in a folder lib of the handlers", name,
                   folder);
    lua_getglobal(L, "require");
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 1, 0) != 0) {
        if (strncmp(name, "cjson", 5) == 0)
            luaL_error(L, "require: \"%s\" needs lua-cjson; install the package lua-cjson", name);
        lua_error(L);
    }
    if (known && lua_istable(L, -1)) {
        lua_newtable(L); /* a copy, as of the other libraries */
        lua_insert(L, -2);
        lua_sandbox_copy(L);
    }
}

/* require(name). Upvalues: the script's globals, its folder, the table of what it
 * has loaded (false: it is being loaded), the require of the whole library (nil unless
 * allowed), its file. */
static int
require_module(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    const char *folder = lua_tostring(L, lua_upvalueindex(UP_FOLDER));
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_rawget(L, lua_upvalueindex(UP_LOADED));
    if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
        return luaL_error(L, "require: \"%s\" requires itself", name);
    if (!lua_isnil(L, -1))
        return 1;
    check_name(L, name);
    if (is_built_in(name) || !require_file(L, name, folder))
        require_whole(L, name, folder);
    if (lua_isnil(L, -1))
        lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(UP_LOADED));
    return 1;
}

void
lua_require_add(lua_State *L, struct lua_host *host, const char *folder, const char *script)
{
    lua_pushvalue(L, -1);
    lua_pushstring(L, folder);
    lua_newtable(L);
    if (host->allow_os)
        lua_getglobal(L, "require");
    else
        lua_pushnil(L);
    lua_pushstring(L, script);
    lua_pushcclosure(L, require_module, UP_SCRIPT);
    lua_setfield(L, -2, "require");
}
