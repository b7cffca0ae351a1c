/* SPDX-License-Identifier: MIT */
/*
 * Requests as coroutines. A finished coroutine is used again; one that failed or
 * was cancelled is left to the garbage collector.
 */
#include "handler/lua_task.h"
#include "base/log.h"
#include "handler/lua_request.h"
#include "handler/lua_socket.h"
#include "status/slow_log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1024,  /* longest error text in the log, in bytes */
    FRAMES_MAX = 384, /* of which for where it happened */
    /* Places on the main stack, filled by lua_task_open(). */
    AT_START = 1,
    AT_STEP = 2,
    AT_COLLECT = 3,
};

/* --- errors ---------------------------------------------------------------- */

/* The error value as text. Only a string is read as it is: converting others
 * could allocate, and this runs unprotected. */
static const char *
error_text(lua_State *L, char *text, size_t size)
{
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        return lua_tostring(L, -1);
    case LUA_TNUMBER:
        snprintf(text, size, "error value %.14g", lua_tonumber(L, -1));
        return text;
    default:
        snprintf(text, size, "error value is a %s", lua_typename(L, lua_type(L, -1)));
        return text;
    }
}

/* The line at which <frame> is; 0 in a C function. Once an error has ended it, only the line
 * where the innermost function begins is known. */
static int
line_of(const lua_Debug *frame)
{
    if (frame->currentline > 0)
        return frame->currentline;
    return frame->linedefined > 0 ? frame->linedefined : 0;
}

/* Appends where each of the innermost functions is: "<begin>hello.lua:12 greet < hello.lua:20".
 * <ended>: an error did, whose message has the line: of the innermost only the name is told. */
static void
append_frames(lua_State *L, char *text, size_t size, const char *begin, bool ended)
{
    enum { LEVELS = 12 };
    lua_Debug frame;
    size_t length = strlen(text);
    for (int level = 0; level < LEVELS && length < size && lua_getstack(L, level, &frame);
         level++) {
        char place[FRAMES_MAX] = "";
        lua_getinfo(L, "nSl", &frame);
        if (line_of(&frame) == 0)
            continue;
        if (!ended)
            snprintf(place, sizeof place, "%s:%d", frame.short_src, line_of(&frame));
        if (frame.name != NULL || !ended) {
            length += (size_t)snprintf(text + length, size - length, "%s%s%s%s", begin, place,
                                       frame.name != NULL && !ended ? " " : "",
                                       frame.name != NULL ? frame.name : "");
            begin = " < ";
        }
        ended = false;
    }
}

int
lua_task_folder_length(const struct lua_script *script, const char *message)
{
    return message[0] == '/' || message[0] == '.' ? 0 : (int)(script->name - script->file);
}

const char *
lua_task_split(const char *message, int *line, int *name_length)
{
    *line = 0;
    for (const char *colon = strchr(message, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        char *end = NULL;
        long number = strtol(colon + 1, &end, 10);
        if (number > 0 && end[0] == ':' && end[1] == ' ') {
            *line = (int)number;
            *name_length = (int)(colon - message);
            return end + 2;
        }
    }
    return message;
}

/* Logs why <task> failed, with the place that the message names or else the
 * innermost line of Lua. */
static enum fh_result
report(struct lua_task *task)
{
    lua_State *L = task->thread;
    const char *path = task->script->file;
    char text[TEXT_MAX];
    char value[64];
    char file[PATH_MAX];
    lua_Debug frame;
    int line = 0;
    int name_length = 0;
    const char *message = error_text(L, value, sizeof value);
    const char *rest = lua_task_split(message, &line, &name_length);
    bool line_known = line > 0;
    int folder_length = lua_task_folder_length(task->script, message);
    if (line > 0) {
        snprintf(file, sizeof file, "%.*s%.*s", folder_length, path, name_length, message);
        path = file;
    }
    for (int level = 0; line == 0 && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        line = line_of(&frame);
    }
    line = line > 0 ? line : task->script->line;
    snprintf(text, sizeof text - FRAMES_MAX, "%s", rest);
    append_frames(L, text, sizeof text, "; in ", line_known);
    return fh_fail_at(task->request, path, line, "%s", text);
}

void
lua_task_log_slow(struct lua_task *task, lua_State *L, uint32_t elapsed_ms)
{
    const char *method = fh_param(task->request, "REQUEST_METHOD", NULL);
    const char *path = fh_param(task->request, "SCRIPT_NAME", NULL);
    char what[300];
    char text[FRAMES_MAX] = "    runs";
    snprintf(what, sizeof what, "%s %s", method == NULL ? "-" : method, path == NULL ? "-" : path);
    append_frames(L, text, sizeof text, "; in ", false);
    slow_log_write(what, task->script->file, elapsed_ms, text);
}

/* --- life ------------------------------------------------------------------ */

/* lua_pcall()ed: takes an idle task or makes one, and puts the script's function
 * and the request on the stack of its thread. */
static int
start(lua_State *L)
{
    struct lua_host *host = lua_state_here;
    struct lua_script *script = host->loading;
    if (host->idle == NULL) {
        struct lua_task *task = calloc(1, sizeof *task);
        if (task == NULL)
            return luaL_error(L, "not enough memory");
        task->host = host;
        task->thread_ref = LUA_NOREF;
        host->idle = task; /* found there again if the next lines fail */
    }
    struct lua_task *task = host->idle;
    if (task->thread_ref == LUA_NOREF) {
        task->thread = lua_newthread(L);
        task->thread_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, script->handle_ref);
    lua_request_push(L, task);
    lua_settop(task->thread, 0);
    lua_xmove(L, task->thread, 2);

    host->idle = task->next_free;
    host->task = task;
    return 0;
}

/* lua_pcall()ed: goes on with what a task waits for. The results stay on the
 * stack for the task. */
static int
step(lua_State *L)
{
    struct lua_host *host = lua_state_here;
    struct lua_task *task = host->task;
    int results = task->step(L, task, host->revents);
    return results > 0 ? results : 0;
}

/* lua_pcall()ed, since finalizers may fail: collects until nothing more is let
 * go (LuaJIT only halves its largest buffer each time). */
static int
collect(lua_State *L)
{
    size_t before;
    do {
        before = lua_state_here->used;
        lua_gc(L, LUA_GCCOLLECT, 0);
    } while (lua_state_here->used < before - before / 8);
    return 0;
}

void
lua_task_open(lua_State *L)
{
    lua_settop(L, 0);
    lua_pushcfunction(L, start);
    lua_pushcfunction(L, step);
    lua_pushcfunction(L, collect);
}

/* Calls one of the functions above; its results are left on the stack. */
static int
call(struct lua_host *host, int place)
{
    lua_State *L = host->main;
    lua_settop(L, AT_COLLECT);
    lua_pushvalue(L, place);
    return lua_pcall(L, 0, LUA_MULTRET, 0);
}

/* After memory ran out: the next request is to start as the first one did. */
static void
recover(struct lua_host *host)
{
    if (host->exhausted) {
        host->exhausted = false;
        call(host, AT_COLLECT);
    }
}

/* Ends <task>; <reusable> says that its coroutine has come to its end. */
static void
finish(struct lua_task *task, bool reusable)
{
    struct lua_host *host = task->host;
    lua_socket_close_all(task);
    task->serial++;
    task->request = NULL;
    task->step = NULL;
    if (reusable) {
        lua_settop(task->thread, 0);
    } else {
        luaL_unref(host->main, LUA_REGISTRYINDEX, task->thread_ref);
        task->thread_ref = LUA_NOREF;
        task->thread = NULL;
    }
    task->next_free = host->idle;
    host->idle = task;
    recover(host);
}

/* What handle() in the script returned. */
static enum fh_result
verdict(struct lua_task *task)
{
    lua_State *L = task->thread;
    const char *file = task->script->file;
    int line = task->script->line;
    if (lua_gettop(L) > 0 && lua_type(L, 1) == LUA_TBOOLEAN && !lua_toboolean(L, 1))
        return FH_NOT_FOUND;
    if (lua_gettop(L) > 0 && !lua_isnil(L, 1)) {
        return fh_fail_at(task->request, file, line,
                          "handle returned a %s; it may return nothing, or false for 404",
                          lua_typename(L, lua_type(L, 1)));
    }
    if (!task->answered) {
        return fh_fail_at(task->request, file, line,
                          "handle returned without an answer: no status, header or write");
    }
    return FH_OK;
}

static enum fh_result
wait_again(struct lua_task *task)
{
    enum fh_result result =
        fh_wait(task->request, task->wait_fd, task->wait_events, task->wait_timeout_ms);
    if (result != FH_WAIT)
        finish(task, false);
    return result;
}

/* Ends <task> with the error value on its stack. */
static enum fh_result
fail(struct lua_task *task)
{
    enum fh_result result = report(task);
    finish(task, false);
    return result;
}

/* Lets the coroutine run until it waits, ends or fails. */
static enum fh_result
run(struct lua_task *task, int arguments)
{
    struct lua_host *host = task->host;
    host->running = task;
    int status = lua_resume(task->thread, arguments);
    host->running = NULL;
    if (host->interrupted || host->slow_ms > 0) {
        lua_sethook(host->main, NULL, 0, 0);
        host->interrupted = false;
        host->slow_ms = 0;
    }
    if (status == LUA_YIELD && task->step != NULL)
        return wait_again(task);
    if (status == LUA_YIELD) {
        enum fh_result result =
            fh_fail_at(task->request, task->script->file, task->script->line,
                       "coroutine.yield outside of a coroutine of the script's own");
        finish(task, false);
        return result;
    }
    if (status != 0)
        return fail(task);
    enum fh_result result = verdict(task);
    finish(task, true);
    return result;
}

enum fh_result
lua_task_handle(void *state, struct fh_request *request)
{
    struct lua_script *script = state;
    struct lua_host *host = script->host;
    host->loading = script;
    if (call(host, AT_START) != 0) {
        char value[64];
        fh_fail_at(request, script->file, script->line, "%s",
                   error_text(host->main, value, sizeof value));
        recover(host);
        return FH_ERROR;
    }
    struct lua_task *task = host->task;
    task->script = script;
    task->request = request;
    task->answered = false;
    *fh_slot(request) = task;
    return run(task, 1);
}

enum fh_result
lua_task_resume(void *state, struct fh_request *request, short revents)
{
    struct lua_task *task = *fh_slot(request);
    struct lua_host *host = task->host;
    lua_State *L = host->main;
    (void)state;
    host->task = task;
    host->revents = revents;
    task->wait_fd = -2;
    if (call(host, AT_STEP) != 0) {
        lua_settop(task->thread, 0);
        lua_xmove(L, task->thread, 1);
        return fail(task);
    }
    if (task->wait_fd != -2)
        return wait_again(task);
    int results = lua_gettop(L) - AT_COLLECT;
    task->step = NULL;
    lua_settop(task->thread, 0);
    lua_xmove(L, task->thread, results);
    return run(task, results);
}

void
lua_task_cancel(void *state, struct fh_request *request)
{
    (void)state;
    finish(*fh_slot(request), false);
}

void
lua_task_close(struct lua_host *host)
{
    while (host->idle != NULL) {
        struct lua_task *task = host->idle;
        host->idle = task->next_free;
        free(task);
    }
}
