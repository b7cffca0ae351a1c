/* SPDX-License-Identifier: MIT */
/* lua_request.h - the methods of a request. */
#ifndef LUA_REQUEST_H
#define LUA_REQUEST_H

#include "handler/lua_state.h"

/* Makes the metatable. Protected. */
void lua_request_open(lua_State *L, struct lua_host *host);

/* Pushes the userdata for <task>. Protected. */
void lua_request_push(lua_State *L, struct lua_task *task);

#endif
