/* SPDX-License-Identifier: MIT */
#include "handler/lua_wait.h"
#include "base/clock.h"

int
lua_wait_step(lua_State *L, struct lua_task *task,
              int (*next)(lua_State *L, struct lua_task *task, short revents))
{
    if (L != task->thread)
        return luaL_error(L, "waiting inside a coroutine of the script's own is not possible");
    if (!lua_isyieldable(L)) { /* else lua_yield() fails when the wait has been noted already */
        return luaL_error(L, "waiting inside a callback of table.sort, string.gsub and the like "
                             "is not possible");
    }
    task->wait_fd = -2;
    int results = next(L, task, 0);
    if (task->wait_fd == -2)
        return results;
    task->step = next;
    return lua_yield(L, lua_gettop(L)); /* all of them, so that they stay in place */
}

int
lua_wait_for(struct lua_task *task, int fd, short events)
{
    int64_t left_ns = task->deadline_ns - clock_ns();
    task->wait_fd = fd;
    task->wait_events = events;
    task->wait_timeout_ms = left_ns > 0 ? (uint32_t)((left_ns + 999999) / 1000000) : 0;
    return 0;
}
