/* SPDX-License-Identifier: MIT */
/* lua_stream.h - the two directions of a socket of lua_socket.h. */
#ifndef LUA_STREAM_H
#define LUA_STREAM_H

#include "handler/lua_state.h"

/* Adds send and receive to the methods of a socket; after lua_socket_open(). Protected. */
void lua_stream_open(lua_State *L, struct lua_host *host);

#endif
