/* SPDX-License-Identifier: MIT */
/*
 * The methods of a request, the mirror of fcgi-handler.h. Each checks its
 * arguments; what the C functions refuse is a Lua error here.
 */
#include "handler/lua_request.h"
#include "base/clock.h"
#include "base/log.h"
#include "handler/lua_socket.h"
#include "handler/lua_wait.h"

#include <string.h>

enum {
    READ_SIZE = 65536,    /* read() without a size, in bytes */
    READ_MAX = 16 << 20,  /* most that one read() gives, in bytes */
    SLEEP_MAX = 86400000, /* ms */
};

/* Every method is a closure over the metatable (see lua_state_task()) and string.format. */
enum { UP_FORMAT = 2 };

static int
push_value(lua_State *L, const char *value, size_t length)
{
    if (value != NULL)
        lua_pushlstring(L, value, length);
    else
        lua_pushnil(L);
    return 1;
}

static int
param(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    size_t length = 0;
    const char *value = fh_param(task->request, luaL_checkstring(L, 2), &length);
    return push_value(L, value, length);
}

static int
query(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    size_t length = 0;
    const char *value = fh_query(task->request, luaL_checkstring(L, 2), &length);
    return push_value(L, value, length);
}

static int
read_body(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    lua_Integer size = luaL_optinteger(L, 2, READ_SIZE);
    luaL_argcheck(L, size > 0 && size <= READ_MAX, 2, "size out of range");
    luaL_Buffer buffer;
    size_t taken = 0;

    luaL_buffinit(L, &buffer);
    while (taken < (size_t)size) {
        size_t wanted = (size_t)size - taken;
        char *room = luaL_prepbuffer(&buffer);
        ptrdiff_t got =
            fh_read(task->request, room, wanted < LUAL_BUFFERSIZE ? wanted : LUAL_BUFFERSIZE);
        if (got < 0)
            return luaL_error(L, "the request body was cut off");
        if (got == 0)
            break;
        luaL_addsize(&buffer, (size_t)got);
        taken += (size_t)got;
    }
    luaL_pushresult(&buffer);
    if (taken == 0)
        lua_pushnil(L);
    return 1;
}

static int
status(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    int code = luaL_checkint(L, 2);
    luaL_argcheck(L, code >= 200 && code <= 599, 2, "a status is from 200 to 599");
    if (fh_status(task->request, code) == -1)
        return luaL_error(L, "status: the head of the answer has left already");
    task->answered = true;
    return 0;
}

static int
header(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    size_t name_length = 0;
    size_t value_length = 0;
    const char *name = luaL_checklstring(L, 2, &name_length);
    const char *value = luaL_checklstring(L, 3, &value_length);
    if (strlen(name) != name_length || strlen(value) != value_length ||
        fh_header(task->request, name, value) == -1) {
        return luaL_error(L, "header: refused: not a header name or one of the web server's, or a "
                             "control character in it, or the head is full or has left already");
    }
    task->answered = true;
    return 0;
}

/* Writes the strings from argument 2 on. true, or nothing when nobody reads. */
static int
write_all(lua_State *L, struct lua_task *task)
{
    int count = lua_gettop(L);
    task->answered = true;
    for (int i = 2; i <= count; i++) {
        size_t length = 0;
        const char *text = luaL_checklstring(L, i, &length);
        if (fh_write(task->request, text, length) == -1)
            return 0;
    }
    lua_pushboolean(L, 1);
    return 1;
}

static int
write_body(lua_State *L)
{
    return write_all(L, lua_state_task(L));
}

/* Replaces the arguments from 2 on by string.format() of them. */
static void
format(lua_State *L)
{
    luaL_checkstring(L, 2);
    lua_pushvalue(L, lua_upvalueindex(UP_FORMAT));
    lua_insert(L, 2);
    lua_call(L, lua_gettop(L) - 2, 1);
}

static int
print(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    format(L);
    return write_all(L, task);
}

static int
log_text(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    format(L);
    log_notice("%s: %s", task->script->name, lua_tostring(L, 2));
    return 0;
}

static int
fail(lua_State *L)
{
    lua_state_task(L);
    format(L);
    luaL_where(L, 1);
    lua_insert(L, 2);
    lua_concat(L, 2);
    return lua_error(L);
}

static int
gone(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    lua_pushboolean(L, fh_gone(task->request));
    return 1;
}

static int
sleep_step(lua_State *L, struct lua_task *task, short revents)
{
    (void)L;
    (void)revents;
    return clock_ns() >= task->deadline_ns ? 0 : lua_wait_for(task, -1, 0);
}

static int
sleep_ms(lua_State *L)
{
    struct lua_task *task = lua_state_task(L);
    lua_Number ms = luaL_checknumber(L, 2);
    luaL_argcheck(L, ms >= 0 && ms <= SLEEP_MAX, 2, "ms out of range");
    task->deadline_ns = clock_ns() + (int64_t)(ms * 1e6);
    return lua_wait_step(L, task, sleep_step);
}

static const luaL_Reg methods[] = {
    {"param", param},   {"query", query},      {"read", read_body}, {"status", status},
    {"header", header}, {"write", write_body}, {"print", print},    {"fail", fail},
    {"log", log_text},  {"gone", gone},        {"sleep", sleep_ms}, {"connect", lua_socket_connect},
};

void
lua_request_open(lua_State *L, struct lua_host *host)
{
    lua_newtable(L); /* the metatable */
    lua_newtable(L); /* its methods */
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        lua_pushvalue(L, -2);
        lua_getglobal(L, "string");
        lua_getfield(L, -1, "format");
        lua_remove(L, -2);
        lua_pushcclosure(L, methods[i].func, 2);
        lua_setfield(L, -2, methods[i].name);
    }
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "request");
    lua_setfield(L, -2, "__metatable");
    host->request_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* A new one for each request, on purpose: a script that keeps it gets an error
 * later, and never the request of somebody else. */
void
lua_request_push(lua_State *L, struct lua_task *task)
{
    struct lua_handle *handle = lua_newuserdata(L, sizeof *handle);
    *handle = (struct lua_handle){.task = task, .serial = task->serial};
    lua_rawgeti(L, LUA_REGISTRYINDEX, task->host->request_ref);
    lua_setmetatable(L, -2);
}
