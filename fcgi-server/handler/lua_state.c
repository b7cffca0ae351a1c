/* SPDX-License-Identifier: MIT */
#include "handler/lua_state.h"

struct lua_host *lua_state_here;

struct lua_task *
lua_state_task(lua_State *L)
{
    struct lua_handle *handle = lua_touserdata(L, 1);
    if (handle == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1)))
        luaL_argerror(L, 1, "request expected (call as request:method())");
    lua_pop(L, 1);
    if (handle->serial != handle->task->serial)
        luaL_error(L, "this request has ended");
    if (handle->task != lua_state_here->running)
        luaL_error(L, "this request is another one's");
    return handle->task;
}
