/* SPDX-License-Identifier: MIT */
/* lua_wait.h - methods that wait while the child serves others. */
#ifndef LUA_WAIT_H
#define LUA_WAIT_H

#include "handler/lua_state.h"

/* Called by a method that may have to wait: runs <step> at once, and again each
 * time that what it waits for has come, until it returns a number of results.
 * <step> gets the state to push results on, which is not always the task's; the
 * method's arguments stay at their places on the stack of task->thread. To wait,
 * it returns lua_wait_for(). Use as `return lua_wait_step(L, task, step)`. */
int lua_wait_step(lua_State *L, struct lua_task *task,
                  int (*step)(lua_State *L, struct lua_task *task, short revents));

/* Stores what a step waits for: <fd> (-1: only the time) until task->deadline_ns.
 * Returns what the step returns. */
int lua_wait_for(struct lua_task *task, int fd, short events);

#endif
