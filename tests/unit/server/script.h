/* SPDX-License-Identifier: MIT */
/*
 * script.h - for the tests of the Lua host: loads a script and sends it requests,
 * with the real request and router on top and no socket below.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "base/log.h"
#include "handler/lua_host.h"
#include "handler/router.h"
#include "request/dispatch.h"
#include "request/request.h"
#include "status/slow_log.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- what the server would bring ------------------------------------------- */

static char logged[16384];

void
log_line(enum log_level level, const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(logged);
    (void)level;

    va_start(arguments, format);
    vsnprintf(logged + length, sizeof logged - length - 1, format, arguments);
    va_end(arguments);
    strcat(logged, "\n");
}

void
slow_log_write(const char *what, const char *handler, uint64_t elapsed_ms, const char *trace)
{
    log_warn("slow: %s took %d ms in %s: %s", what, (int)elapsed_ms, handler, trace);
}

__attribute__((unused)) static int
never_gone(struct request *request)
{
    (void)request;
    return 0;
}

__attribute__((unused)) static int
swallow(struct request *request)
{
    request->out_length = 0;
    request->head_sent = true;
    return 0;
}

static const struct request_io io = {.flush = swallow, .gone = never_gone};

/* --- a script and its requests --------------------------------------------- */

static char folder[64];
static struct router *router;
static struct request request;
static char error_text[512];

__attribute__((unused)) static void
put_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

/* Loads <text> as the handler of all paths. */
__attribute__((unused)) static bool
load_with(const char *text, const char *argument, struct lua_options options)
{
    const struct route route = {"/", "script.lua", argument, NULL};
    static const char *const folders[] = {folder, NULL};
    const struct router_options all = {
        .routes = &route, .route_count = 1, .folders = folders, .lua = options};
    router_free(router);
    put_file("script.lua", text);
    logged[0] = '\0';
    router = router_new(&all, error_text, sizeof error_text);
    return router != NULL;
}

__attribute__((unused)) static void
load(const char *text)
{
    if (!load_with(text, NULL, (struct lua_options){0}))
        fail_msg("%s", error_text);
}

__attribute__((unused)) static void
add_param(const char *name, const char *value)
{
    request_add_param(&request, (struct request_param){name, value, (uint32_t)strlen(name),
                                                       (uint32_t)strlen(value)});
}

/* Begins a request with one parameter more, such as "HTTP_COOKIE" (NULL: none); FH_OK once
 * it is answered. */
__attribute__((unused)) static enum fh_result
begin_with(const char *query, const char *name, const char *value)
{
    request_reset(&request);
    assert_int_equal(request_reserve_params(&request, 4), 0);
    if (name != NULL)
        add_param(name, value);
    add_param("REQUEST_METHOD", "GET");
    add_param("SCRIPT_NAME", "/");
    add_param("QUERY_STRING", query);
    dispatch_route(&request, router);
    return dispatch_run(&request);
}

__attribute__((unused)) static enum fh_result
begin(const char *query)
{
    return begin_with(query, NULL, NULL);
}

__attribute__((unused)) static enum fh_result
wait_and_resume(void)
{
    struct pollfd waited = {.fd = request.wait.fd, .events = request.wait.events};
    int ready = poll(&waited, 1, (int)request.wait.timeout_ms);
    return dispatch_resume(&request, ready > 0 ? waited.revents : 0);
}

__attribute__((unused)) static void
get_with(const char *query, const char *name, const char *value)
{
    logged[0] = '\0';
    enum fh_result result = begin_with(query, name, value);
    while (result == FH_WAIT)
        result = wait_and_resume();
    assert_int_equal(result, FH_OK);
}

__attribute__((unused)) static void
get(const char *query)
{
    get_with(query, NULL, NULL);
}

__attribute__((unused)) static int
status(void)
{
    return request.status == 0 ? 200 : request.status;
}

__attribute__((unused)) static void
expect(int code, const char *body)
{
    assert_int_equal(status(), code);
    assert_int_equal(request.out_length, strlen(body));
    assert_memory_equal(request.out, body, strlen(body));
}

__attribute__((unused)) static void
expect_logged(const char *text)
{
    if (strstr(logged, text) == NULL)
        fail_msg("expected \"%s\" in: %s", text, logged);
}

/* A 500 without any of the error's text, and one line that names <place>. */
__attribute__((unused)) static void
expect_failure(const char *place)
{
    expect(500, "Internal Server Error\n");
    expect_logged(place);
    assert_ptr_equal(strchr(logged, '\n'), logged + strlen(logged) - 1);
}

__attribute__((unused)) static int
setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/lua-host-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    request_init(&request, &io, NULL);
    return 0;
}

__attribute__((unused)) static int
teardown(void **state)
{
    char command[128];
    (void)state;

    router_free(router);
    router = NULL;
    request_fini(&request);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
