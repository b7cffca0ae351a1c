/* SPDX-License-Identifier: MIT */
/*
 * TCP for handlers: connect, send, receive, close, keep. Where one would block,
 * the request waits and the child serves others. A socket belongs to the request
 * that opened it and is closed with it, unless it was handed back with keep():
 * then the next connect() to the same address, of any request of this child,
 * gets the connection.
 */
#include "lua_internal.h"

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
    RECEIVE_MIN = 4096,     /* first size of the input buffer, in bytes */
    RECEIVE_MAX = 16 << 20, /* most that one receive() gives, in bytes */
    POOL_MAX = 16,          /* kept connections of one child */
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct lua_socket {
    struct lua_task *task; /* NULL once closed */
    struct lua_socket *next;
    int fd; /* -1 once closed */
    union address address;
    uint32_t timeout_ms;

    char *input; /* received, not given to the script yet */
    size_t input_length;
    size_t input_size;
    bool ended;    /* the peer has closed its side */
    size_t wanted; /* receive(): this many bytes; 0: a line; SIZE_MAX: all */
    size_t looked; /* bytes of <input> known to hold no line end */
    size_t sent;   /* send(): bytes that have left */
};

struct lua_socket_pool {
    unsigned count;
    struct {
        int fd;
        union address address;
    } kept[POOL_MAX];
};

/* --- addresses and the pool ------------------------------------------------ */

static bool
parse_address(union address *address, const char *host, int port)
{
    memset(address, 0, sizeof *address);
    if (strcmp(host, "localhost") == 0) {
        host = "127.0.0.1";
    }
    if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
}

static socklen_t
address_length(const union address *address)
{
    return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
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
pool_take(struct lua_socket_pool *pool, const union address *address)
{
    for (unsigned index = pool->count; index > 0; index--) {
        if (memcmp(&pool->kept[index - 1].address, address, sizeof *address) != 0) {
            continue;
        }
        int fd = pool->kept[index - 1].fd;
        pool->count--;
        memmove(&pool->kept[index - 1], &pool->kept[index],
                (pool->count - (index - 1)) * sizeof pool->kept[0]);
        if (still_open(fd)) {
            return fd;
        }
        close(fd);
    }
    return -1;
}

/* Keeps <fd>; the oldest one gives way. */
static void
pool_put(struct lua_socket_pool *pool, int fd, const union address *address)
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
    for (unsigned index = 0; host->pool != NULL && index < host->pool->count; index++) {
        close(host->pool->kept[index].fd);
    }
    free(host->pool);
    host->pool = NULL;
}

/* --- life of a socket ------------------------------------------------------ */

/* Lets go of what <socket> holds, except the descriptor. */
static void
detach(struct lua_socket *socket)
{
    struct lua_socket **link = &socket->task->sockets;

    while (*link != socket) {
        link = &(*link)->next;
    }
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
        if (socket->fd != -1) {
            close(socket->fd);
        }
        socket->fd = -1;
    }
}

void
lua_socket_close_all(struct lua_task *task)
{
    while (task->sockets != NULL) {
        close_socket(task->sockets);
    }
}

static int
collect(lua_State *L)
{
    close_socket(lua_touserdata(L, 1));
    return 0;
}

/* Argument 1 as an open socket of the running request. */
static struct lua_socket *
check(lua_State *L)
{
    struct lua_socket *socket = lua_touserdata(L, 1);

    if (socket == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1))) {
        luaL_argerror(L, 1, "socket expected (call as socket:method())");
    }
    lua_pop(L, 1);
    if (socket->task == NULL) {
        luaL_error(L, "this socket is closed");
    }
    if (socket->task != lua_host_here->running) {
        luaL_error(L, "this socket is another request's");
    }
    return socket;
}

static int
failure(lua_State *L, const char *reason)
{
    lua_pushnil(L);
    lua_pushstring(L, reason);
    return 2;
}

static void
set_deadline(struct lua_socket *socket)
{
    socket->task->deadline_ns = lua_task_now_ns() + (int64_t)socket->timeout_ms * 1000000;
    socket->task->waiting = socket;
}

/* Waits for <events>, or gives up when the time is over. */
static int
wait_or_time_out(lua_State *L, struct lua_task *task, short events)
{
    if (lua_task_now_ns() >= task->deadline_ns) {
        return failure(L, "timeout");
    }
    return lua_task_wait(task, task->waiting->fd, events);
}

/* --- connect --------------------------------------------------------------- */

/* The socket is argument 1 of the waiting method. */
static int
connect_step(lua_State *L, struct lua_task *task, short revents)
{
    struct lua_socket *socket = task->waiting;
    int error = 0;
    socklen_t size = sizeof error;

    if (revents == 0) {
        int result = wait_or_time_out(L, task, POLLOUT);
        if (result > 0) {
            close_socket(socket);
        }
        return result;
    }
    getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        close_socket(socket);
        return failure(L, strerror(error));
    }
    lua_pushvalue(task->thread, 1);
    if (L != task->thread) {
        lua_xmove(task->thread, L, 1);
    }
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
    struct lua_task *task = lua_request_check(L);
    const char *host = luaL_checkstring(L, 2);
    int port = luaL_checkint(L, 3);
    lua_Integer timeout_ms = luaL_optinteger(L, 4, TIMEOUT_MS);
    union address address;

    luaL_argcheck(L, port > 0 && port <= 65535, 3, "a port is from 1 to 65535");
    luaL_argcheck(L, timeout_ms > 0 && timeout_ms <= TIMEOUT_MAX_MS, 4, "ms out of range");
    luaL_argcheck(L, parse_address(&address, host, port), 2,
                  "a numeric IPv4 or IPv6 address expected (looking up names would block)");
    struct lua_socket *made = new_socket(L, task);
    made->address = address;
    made->timeout_ms = (uint32_t)timeout_ms;
    made->fd = pool_take(task->host->pool, &address);
    if (made->fd != -1) {
        return 1;
    }
    made->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made->fd == -1 ||
        (connect(made->fd, &address.any, address_length(&address)) == -1 && errno != EINPROGRESS)) {
        int error = errno;
        close_socket(made);
        return failure(L, strerror(error));
    }
    int on = 1;
    setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    set_deadline(made);
    return lua_task_step(L, task, connect_step);
}

/* --- send ------------------------------------------------------------------ */

/* The text is argument 2 of the waiting method. */
static int
send_step(lua_State *L, struct lua_task *task, short revents)
{
    struct lua_socket *socket = task->waiting;
    size_t length = 0;
    const char *text = lua_tolstring(task->thread, 2, &length);

    (void)revents;
    while (socket->sent < length) {
        ssize_t sent = send(socket->fd, text + socket->sent, length - socket->sent, MSG_NOSIGNAL);
        if (sent >= 0) {
            socket->sent += (size_t)sent;
        } else if (errno == EAGAIN) {
            return wait_or_time_out(L, task, POLLOUT);
        } else if (errno != EINTR) {
            bool closed = errno == EPIPE || errno == ECONNRESET;
            return failure(L, closed ? "closed" : strerror(errno));
        }
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* socket:send(text): true, or nil and the reason. */
static int
send_text(lua_State *L)
{
    struct lua_socket *socket = check(L);

    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    socket->sent = 0;
    set_deadline(socket);
    return lua_task_step(L, socket->task, send_step);
}

/* --- receive --------------------------------------------------------------- */

/* Makes room for more input. Returns false at the limit or without memory. */
static bool
grow(struct lua_socket *socket)
{
    if (socket->input_length < socket->input_size) {
        return true;
    }
    size_t size = socket->input_size == 0 ? RECEIVE_MIN : socket->input_size * 2;
    if (size > RECEIVE_MAX + RECEIVE_MIN) {
        size = RECEIVE_MAX + RECEIVE_MIN;
    }
    char *input = size > socket->input_size ? realloc(socket->input, size) : NULL;
    if (input == NULL) {
        return false;
    }
    socket->input = input;
    socket->input_size = size;
    return true;
}

/* Pushes the first <length> bytes of the input; <skip> more are dropped. */
static int
give(lua_State *L, struct lua_socket *socket, size_t length, size_t skip)
{
    lua_pushlstring(L, length > 0 ? socket->input : "", length);
    socket->input_length -= length + skip;
    memmove(socket->input, socket->input + length + skip, socket->input_length);
    return 1;
}

/* Pushes what was asked for, if it is there. Returns the number of results. */
static int
give_wanted(lua_State *L, struct lua_socket *socket)
{
    if (socket->wanted == 0) {
        char *from = socket->input + socket->looked;
        char *end = memchr(from, '\n', socket->input_length - socket->looked);
        socket->looked = socket->input_length;
        if (end == NULL) {
            return 0;
        }
        size_t length = (size_t)(end - socket->input);
        bool carriage_return = length > 0 && end[-1] == '\r';
        return give(L, socket, length - carriage_return, 1 + carriage_return);
    }
    if (socket->wanted <= socket->input_length) {
        return give(L, socket, socket->wanted, 0);
    }
    return socket->wanted == SIZE_MAX && socket->ended ? give(L, socket, socket->input_length, 0)
                                                       : 0;
}

static int
receive_step(lua_State *L, struct lua_task *task, short revents)
{
    struct lua_socket *socket = task->waiting;

    (void)revents;
    for (;;) {
        int results = socket->input_length > 0 || socket->ended ? give_wanted(L, socket) : 0;
        if (results > 0) {
            return results;
        }
        if (socket->ended) {
            return failure(L, "closed");
        }
        if (!grow(socket)) {
            return failure(L, "too long");
        }
        ssize_t got = recv(socket->fd, socket->input + socket->input_length,
                           socket->input_size - socket->input_length, 0);
        if (got > 0) {
            socket->input_length += (size_t)got;
        } else if (got == 0 || errno == ECONNRESET) {
            socket->ended = true;
        } else if (errno == EAGAIN) {
            return wait_or_time_out(L, task, POLLIN);
        } else if (errno != EINTR) {
            return failure(L, strerror(errno));
        }
    }
}

/* socket:receive(what): a number of bytes, "line" (without its end), or "all"
 * until the peer closes. The text, or nil and the reason. */
static int
receive(lua_State *L)
{
    static const char *const words[] = {"line", "all", NULL};
    struct lua_socket *socket = check(L);

    if (lua_type(L, 2) == LUA_TNUMBER) {
        lua_Number size = lua_tonumber(L, 2);
        luaL_argcheck(L, size >= 0 && size <= RECEIVE_MAX, 2, "size out of range");
        socket->wanted = (size_t)size;
        if (socket->wanted == 0) {
            lua_pushliteral(L, "");
            return 1;
        }
    } else {
        socket->wanted = luaL_checkoption(L, 2, "line", words) == 0 ? 0 : SIZE_MAX;
    }
    lua_settop(L, 1);
    socket->looked = 0;
    set_deadline(socket);
    return lua_task_step(L, socket->task, receive_step);
}

/* --- the rest -------------------------------------------------------------- */

/* socket:timeout(ms) for each connect, send and receive from now on. */
static int
set_timeout(lua_State *L)
{
    struct lua_socket *socket = check(L);
    lua_Integer timeout_ms = luaL_checkinteger(L, 2);

    luaL_argcheck(L, timeout_ms > 0 && timeout_ms <= TIMEOUT_MAX_MS, 2, "ms out of range");
    socket->timeout_ms = (uint32_t)timeout_ms;
    return 0;
}

/* socket:close(). Closing again is no error. */
static int
close_method(lua_State *L)
{
    struct lua_socket *socket = lua_touserdata(L, 1);

    if (socket == NULL || socket->task != NULL) {
        check(L);
        close_socket(socket);
    }
    return 0;
}

/* socket:keep(): for the next connect(). Only when nothing is left to be read. */
static int
keep(lua_State *L)
{
    struct lua_socket *socket = check(L);
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
    {"send", send_text},     {"receive", receive}, {"timeout", set_timeout},
    {"close", close_method}, {"keep", keep},
};

void
lua_socket_open(lua_State *L, struct lua_host *host)
{
    host->pool = calloc(1, sizeof *host->pool);
    if (host->pool == NULL) {
        luaL_error(L, "not enough memory");
    }
    lua_newtable(L); /* the metatable */
    lua_newtable(L); /* its methods */
    for (size_t index = 0; index < sizeof methods / sizeof *methods; index++) {
        lua_pushvalue(L, -2);
        lua_pushcclosure(L, methods[index].func, 1);
        lua_setfield(L, -2, methods[index].name);
    }
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushliteral(L, "socket");
    lua_setfield(L, -2, "__metatable");
    host->socket_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}
