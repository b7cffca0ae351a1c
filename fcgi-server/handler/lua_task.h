/* SPDX-License-Identifier: MIT */
/* lua_task.h - requests as coroutines: start, continue, end; and their errors. */
#ifndef LUA_TASK_H
#define LUA_TASK_H

#include "handler/lua_state.h"

/* The functions of the handler that stands for a script. */
enum fh_result lua_task_handle(void *state, struct fh_request *request);
enum fh_result lua_task_resume(void *state, struct fh_request *request, short revents);
void lua_task_cancel(void *state, struct fh_request *request);

/* Puts the functions that lua_task.c calls under protection on the main stack,
 * where they stay. Called once, before anything else uses that stack. */
void lua_task_open(lua_State *L);

/* Splits Lua's "name:line: text": stores <line> (0 if there is none) and the
 * length of the name, and returns the text. */
const char *lua_task_split(const char *message, int *line, int *name_length);

/* How much of script->file goes before <message> to make its name a path: the folder; 0 if the
 * name is that of a module from elsewhere, by its path (of which Lua shows the end). */
int lua_task_folder_length(const struct lua_script *script, const char *message);

/* Logs where the running <task> is; <L> is the coroutine that runs. */
void lua_task_log_slow(struct lua_task *task, lua_State *L, uint32_t elapsed_ms);

/* Frees the idle ones. */
void lua_task_close(struct lua_host *host);

#endif
