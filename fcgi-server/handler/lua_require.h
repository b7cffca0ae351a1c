/* SPDX-License-Identifier: MIT */
/* lua_require.h - require() of a script: which modules it finds, and where. */
#ifndef LUA_REQUIRE_H
#define LUA_REQUIRE_H

#include "handler/lua_state.h"

/* Puts require() into the table of globals on top, for the file
 * <script> in <folder>. It looks in
 * <folder>, in its lib/, and in the lib/ of each of host->folders; then for what is built
 * in. Protected. */
void lua_require_add(lua_State *L, struct lua_host *host, const char *folder, const char *script);

#endif
