/* SPDX-License-Identifier: MIT */
/*
 * The two directions of a socket. Input is collected until what the script asked
 * for is there; what lies behind it stays for the next receive().
 */
#include "handler/lua_stream.h"
#include "handler/lua_socket.h"
#include "handler/lua_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECEIVE_MIN = 4096,     /* first size of the input buffer, in bytes */
    RECEIVE_MAX = 16 << 20, /* most that one receive() gives, in bytes */
};

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
            return lua_socket_wait(L, task, POLLOUT);
        } else if (errno != EINTR) {
            bool closed = errno == EPIPE || errno == ECONNRESET;
            return lua_socket_failure(L, closed ? "closed" : strerror(errno));
        }
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* socket:send(text): true, or nil and the reason. */
static int
send_text(lua_State *L)
{
    struct lua_socket *socket = lua_socket_check(L);
    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    socket->sent = 0;
    lua_socket_set_deadline(socket);
    return lua_wait_step(L, socket->task, send_step);
}

/* --- receive --------------------------------------------------------------- */

/* Makes room for more input. Returns false at the limit or without memory. */
static bool
grow(struct lua_socket *socket)
{
    if (socket->input_length < socket->input_size)
        return true;
    size_t size = socket->input_size == 0 ? RECEIVE_MIN : socket->input_size * 2;
    if (size > RECEIVE_MAX + RECEIVE_MIN)
        size = RECEIVE_MAX + RECEIVE_MIN;
    char *input = size > socket->input_size ? realloc(socket->input, size) : NULL;
    if (input == NULL)
        return false;
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
        if (end == NULL)
            return 0;
        size_t length = (size_t)(end - socket->input);
        bool carriage_return = length > 0 && end[-1] == '\r';
        return give(L, socket, length - carriage_return, 1 + carriage_return);
    }
    if (socket->wanted <= socket->input_length)
        return give(L, socket, socket->wanted, 0);
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
        if (results > 0)
            return results;
        if (socket->ended)
            return lua_socket_failure(L, "closed");
        if (!grow(socket))
            return lua_socket_failure(L, "too long");
        ssize_t got = recv(socket->fd, socket->input + socket->input_length,
                           socket->input_size - socket->input_length, 0);
        if (got > 0)
            socket->input_length += (size_t)got;
        else if (got == 0 || errno == ECONNRESET)
            socket->ended = true;
        else if (errno == EAGAIN)
            return lua_socket_wait(L, task, POLLIN);
        else if (errno != EINTR)
            return lua_socket_failure(L, strerror(errno));
    }
}

/* socket:receive(what): a number of bytes, "line" (without its end), or "all"
 * until the peer closes. The text, or nil and the reason. */
static int
receive(lua_State *L)
{
    static const char *const words[] = {"line", "all", NULL};
    struct lua_socket *socket = lua_socket_check(L);
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
    lua_socket_set_deadline(socket);
    return lua_wait_step(L, socket->task, receive_step);
}

void
lua_stream_open(lua_State *L, struct lua_host *host)
{
    lua_socket_add(L, host, "send", send_text);
    lua_socket_add(L, host, "receive", receive);
}
