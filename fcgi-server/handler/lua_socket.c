/* SPDX-License-Identifier: MIT */
/*
 * Connections for handlers, over TCP and unix sockets. Where an operation would block,
 * the request waits and the child serves others. A socket belongs to the request
 * that opened it and is closed with it, unless it was handed back with keep():
 * then the next connect() to the same address, of any request of this child,
 * gets the connection.
 */
#include "handler/lua_socket.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "handler/lua_wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 60000,
    TIMEOUT_MAX_MS = 86400000,
    POOL_MAX = 16, /* kept connections of one child */
};

struct lua_socket_pool {
    unsigned count;
    struct {
        int fd;
        union lua_address address;
    } kept[POOL_MAX];
};

/* --- addresses and the pool ------------------------------------------------ */

#define UNIX "unix:"

/* Reads "unix:/path", or a numeric address and <port>. Returns NULL, or the reason. */
static const char *
parse_address(lua_State *L, union lua_address *address, const char *host, lua_Integer port)
{
    memset(address, 0, sizeof *address);
    if (strncmp(host, UNIX, strlen(UNIX)) == 0) {
        const char *path = host + strlen(UNIX);
        if (strlen(path) == 0 || strlen(path) >= sizeof address->local.sun_path)
            return lua_pushfstring(L, "the path in '%s' has %d bytes; expected 1 to %d", host,
                                   (int)strlen(path), (int)sizeof address->local.sun_path - 1);
        address->local.sun_family = AF_UNIX;
        strcpy(address->local.sun_path, path);
        return NULL;
    }
    if (port < 1 || port > 65535)
        return lua_pushfstring(L, "port %d: expected 1 to 65535", (int)port);
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        return NULL;
    }
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons((uint16_t)port);
    if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1)
        return NULL;
    return lua_pushfstring(L,
                           "'%s': expected a numeric IPv4 or IPv6 address, localhost, or "
                           "unix:/path (looking up names would block)",
                           host);
}

static socklen_t
address_length(const union lua_address *address)
{
    switch (address->any.sa_family) {
    case AF_UNIX:
        return sizeof address->local;
    case AF_INET:
        return sizeof address->v4;
    default:
        return sizeof address->v6;
    }
}

/* A kept connection that the peer has closed meanwhile, or on which it said
 * something that nobody asked for, is of no use. */
static bool
still_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 && (errno == EAGAIN || errno == EINTR);
}

/* Takes a kept connection to <address>, the one kept last. -1 if there is none. */
static int
pool_take(struct lua_socket_pool *pool, const union lua_address *address)
{
    for (unsigned i = pool->count; i > 0; i--) {
        if (memcmp(&pool->kept[i - 1].address, address, sizeof *address) != 0)
            continue;
        int fd = pool->kept[i - 1].fd;
        pool->count--;
        memmove(&pool->kept[i - 1], &pool->kept[i], (pool->count - (i - 1)) * sizeof pool->kept[0]);
        if (still_open(fd))
            return fd;
        close(fd);
    }
    return -1;
}

/* Keeps <fd>; the oldest one gives way. */
static void
pool_put(struct lua_socket_pool *pool, int fd, const union lua_address *address)
{
    if (pool->count == POOL_MAX) {
        close(pool->kept[0].fd);
        pool->count--;
        memmove(&pool->kept[0], &pool->kept[1], pool->count * sizeof pool->kept[0]);
    }
    pool->kept[pool->count].fd = fd;
    pool->kept[pool->count].address = *address;
    pool->count++;
}

void
lua_socket_close_pool(struct lua_host *host)
{
    for (unsigned i = 0; host->pool != NULL && i < host->pool->count; i++)
        close(host->pool->kept[i].fd);
    free(host->pool);
    host->pool = NULL;
}

/* --- life of a socket ------------------------------------------------------ */

/* Lets go of what <socket> holds, except the descriptor. */
static void
detach(struct lua_socket *socket)
{
    struct lua_socket **link = &socket->task->sockets;
    while (*link != socket)
        link = &(*link)->next;
    *link = socket->next;
    free(socket->input);
    socket->input = NULL;
    socket->task = NULL;
}

static void
close_socket(struct lua_socket *socket)
{
    if (socket->task != NULL) {
        detach(socket);
        if (socket->fd != -1)
            close(socket->fd);
        socket->fd = -1;
    }
}

void
lua_socket_close_all(struct lua_task *task)
{
    while (task->sockets != NULL)
        close_socket(task->sockets);
}

static int
collect(lua_State *L)
{
    close_socket(lua_touserdata(L, 1));
    return 0;
}

/* Argument 1 as a socket, open or not. */
static struct lua_socket *
to_socket(lua_State *L)
{
    if (lua_touserdata(L, 1) == NULL || !lua_getmetatable(L, 1) ||
        !lua_rawequal(L, -1, lua_upvalueindex(1)))
        luaL_argerror(L, 1, "socket expected (call as socket:method())");
    lua_pop(L, 1);
    return lua_touserdata(L, 1);
}

struct lua_socket *
lua_socket_check(lua_State *L)
{
    struct lua_socket *socket = to_socket(L);
    if (socket->task == NULL)
        luaL_error(L, "this socket is closed");
    if (socket->task != lua_state_here->running)
        luaL_error(L, "this socket is another request's");
    return socket;
}

int
lua_socket_failure(lua_State *L, const char *reason)
{
    lua_pushnil(L);
    lua_pushstring(L, reason);
    return 2;
}

void
lua_socket_set_deadline(struct lua_socket *socket)
{
    socket->task->deadline_ns = clock_ns() + (int64_t)socket->timeout_ms * 1000000;
    socket->task->waiting = socket;
}

int
lua_socket_wait(lua_State *L, struct lua_task *task, short events)
{
    if (clock_ns() >= task->deadline_ns)
        return lua_socket_failure(L, "timeout");
    return lua_wait_for(task, task->waiting->fd, events);
}

/* --- connect --------------------------------------------------------------- */

/* Until a unix socket whose queue is full is tried again: there is nothing to poll for. */
#define FULL_MS 10

/* Begins to connect <socket>. Returns 0, or errno. */
static int
begin(const struct lua_socket *socket)
{
    const union lua_address *address = &socket->address;
    return connect(socket->fd, &address->any, address_length(address)) == 0 ? 0 : errno;
}

static int
refused(lua_State *L, struct lua_socket *socket, int error)
{
    close_socket(socket);
    return lua_socket_failure(L, strerror(error));
}

/* The socket is argument 1 of the waiting method. */
static int
connect_step(lua_State *L, struct lua_task *task, short revents)
{
    struct lua_socket *socket = task->waiting;
    int error = 0;
    socklen_t size = sizeof error;
    bool local = socket->address.any.sa_family == AF_UNIX;
    if (local)
        error = begin(socket);
    else if (revents != 0)
        getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (local ? error == EAGAIN : revents == 0) {
        int result = lua_socket_wait(L, task, POLLOUT);
        if (result > 0)
            close_socket(socket);
        if (result == 0 && local) {
            task->wait_fd = -1;
            task->wait_timeout_ms =
                task->wait_timeout_ms < FULL_MS ? task->wait_timeout_ms : FULL_MS;
        }
        return result;
    }
    if (error != 0)
        return refused(L, socket, error);
    lua_pushvalue(task->thread, 1);
    if (L != task->thread)
        lua_xmove(task->thread, L, 1);
    return 1;
}

/* Leaves the new socket, without a descriptor, as the only value on the stack. */
static struct lua_socket *
new_socket(lua_State *L, struct lua_task *task)
{
    lua_settop(L, 0);
    struct lua_socket *socket = lua_newuserdata(L, sizeof *socket);
    *socket = (struct lua_socket){.fd = -1};
    lua_rawgeti(L, LUA_REGISTRYINDEX, task->host->socket_ref);
    lua_setmetatable(L, -2);
    socket->task = task;
    socket->next = task->sockets;
    task->sockets = socket;
    return socket;
}

int
lua_socket_connect(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    const char *host = luaL_checkstring(L, 2);
    bool local = strncmp(host, UNIX, strlen(UNIX)) == 0;
    /* connect("unix:/path"[, ms]); without a port, so ms may stand in its place. */
    lua_Integer port = local ? 0 : luaL_checkinteger(L, 3);
    int ms_at = local && lua_isnoneornil(L, 4) ? 3 : 4;
    lua_Integer timeout_ms = luaL_optinteger(L, ms_at, TIMEOUT_MS);
    union lua_address address;
    luaL_argcheck(L, timeout_ms > 0 && timeout_ms <= TIMEOUT_MAX_MS, ms_at, "ms out of range");
    const char *reason = parse_address(L, &address, host, port);
    if (reason != NULL)
        return lua_socket_failure(L, reason);
    struct lua_socket *made = new_socket(L, task);
    made->address = address;
    made->timeout_ms = (uint32_t)timeout_ms;
    made->fd = pool_take(task->host->pool, &address);
    if (made->fd != -1)
        return 1;
    made->fd = descriptors_lift(
        socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made->fd == -1)
        return refused(L, made, errno);
    if (!local) {
        int error = begin(made);
        if (error != 0 && error != EINPROGRESS)
            return refused(L, made, error);
        setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    lua_socket_set_deadline(made);
    return lua_wait_step(L, task, connect_step);
}

/* --- the rest -------------------------------------------------------------- */

/* socket:timeout(ms) for each connect, send and receive from now on. */
static int
set_timeout(lua_State *L)
{
    struct lua_socket *socket = lua_socket_check(L);
    lua_Integer timeout_ms = luaL_checkinteger(L, 2);
    luaL_argcheck(L, timeout_ms > 0 && timeout_ms <= TIMEOUT_MAX_MS, 2, "ms out of range");
    socket->timeout_ms = (uint32_t)timeout_ms;
    return 0;
}

/* socket:close(). Closing again is no error. */
static int
close_method(lua_State *L)
{
    if (to_socket(L)->task != NULL)
        close_socket(lua_socket_check(L));
    return 0;
}

/* socket:keep(): for the next connect(). Only when nothing is left to be read. */
static int
keep(lua_State *L)
{
    struct lua_socket *socket = lua_socket_check(L);
    struct lua_host *host = socket->task->host;
    if (socket->ended || socket->input_length > 0) {
        close_socket(socket);
        return 0;
    }
    pool_put(host->pool, socket->fd, &socket->address);
    socket->fd = -1;
    close_socket(socket);
    return 0;
}

static const luaL_Reg methods[] = {
    {"timeout", set_timeout},
    {"close", close_method},
    {"keep", keep},
};

void
lua_socket_add(lua_State *L, const struct lua_host *host, const char *name, lua_CFunction method)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, host->socket_ref);
    lua_getfield(L, -1, "__index");
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, method, 1);
    lua_setfield(L, -2, name);
    lua_pop(L, 2);
}

void
lua_socket_open(lua_State *L, struct lua_host *host)
{
    host->pool = calloc(1, sizeof *host->pool);
    if (host->pool == NULL)
        luaL_error(L, "not enough memory");
    lua_newtable(L); /* the metatable */
    lua_newtable(L); /* its methods */
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushliteral(L, "socket");
    lua_setfield(L, -2, "__metatable");
    host->socket_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        lua_socket_add(L, host, methods[i].name, methods[i].func);
}
