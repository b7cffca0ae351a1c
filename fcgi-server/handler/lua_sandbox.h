/* SPDX-License-Identifier: MIT */
/* lua_sandbox.h - what a script may reach. */
#ifndef LUA_SANDBOX_H
#define LUA_SANDBOX_H

#include "handler/lua_state.h"

/* Opens the libraries, makes the table of globals. Protected. */
void lua_sandbox_open(lua_State *L, struct lua_host *host);

/* Pushes a new table of globals for a script; require() is not in it yet. Protected. */
void lua_sandbox_push_globals(lua_State *L, struct lua_host *host);

/* Copies all of the table on top into the table below it, and pops the former. Protected. */
void lua_sandbox_copy(lua_State *L);

/* From now on, new globals in the table at <index> are refused. Protected. */
void lua_sandbox_lock(lua_State *L, int index);

/* Compiles <file> and pushes the function. In messages it is called <name>. Text
 * only. Protected; a Lua error says what is wrong. */
void lua_sandbox_compile(lua_State *L, const char *file, const char *name);

#endif
