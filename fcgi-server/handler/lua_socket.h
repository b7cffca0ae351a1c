/* SPDX-License-Identifier: MIT */
/* lua_socket.h - connections of handlers: connect, close, keep. */
#ifndef LUA_SOCKET_H
#define LUA_SOCKET_H

#include "handler/lua_state.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

union lua_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
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

/* Adds <method> to those of a socket; its upvalue 1 is the metatable. Protected. */
void lua_socket_add(lua_State *L, const struct lua_host *host, const char *name,
                    lua_CFunction method);

/* request:connect(host, port [, timeout_ms]), request:connect("unix:/path" [, timeout_ms]) */
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

#endif
