/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/handler/lua_host.c fcgi-server/handler/lua_state.c fcgi-server/handler/lua_wait.c fcgi-server/handler/lua_task.c fcgi-server/handler/lua_request.c */
/* links: fcgi-server/handler/lua_sandbox.c fcgi-server/handler/lua_require.c fcgi-server/handler/lua_socket.c fcgi-server/handler/lua_stream.c */
/* links: fcgi-server/handler/router.c fcgi-server/base/find_file.c fcgi-server/handler/shared_object.c fcgi-server/handler/side_effects.c fcgi-server/request/request.c fcgi-server/request/dispatch.c */
/* links: fcgi-server/request/response.c */
/* links: fcgi-server/request/record.c fcgi-server/request/arena.c fcgi-server/request/query.c */
/* Which route answers a path, and which files may be handlers. */
#include "script.h"

#include "base/find_file.h"

#include <limits.h>
#include <sys/stat.h>

static int started;
static int finished;

static int
init(const char *argument, void **handler_state, char *error, size_t error_size)
{
    if (argument != NULL && strcmp(argument, "refuse") == 0) {
        snprintf(error, error_size, "refused on purpose");
        return -1;
    }
    started++;
    *handler_state = (void *)(uintptr_t)argument;
    return 0;
}

static enum fh_result
handle(void *handler_state, struct fh_request *given)
{
    (void)handler_state;
    (void)given;
    return FH_OK;
}

static void
fini(void *handler_state)
{
    (void)handler_state;
    finished++;
}

static const struct fh_handler counter = {FH_ABI,       sizeof(struct fh_handler), .name = "count",
                                          .init = init, .handle = handle,          .fini = fini};

static const struct fh_handler *
builtin(const char *name)
{
    return strcmp(name, "count") == 0 ? &counter : NULL;
}

static struct router *
make(const struct route *routes, size_t count)
{
    static const char *const folders[] = {folder, NULL};
    const struct router_options options = {
        .routes = routes, .route_count = count, .folders = folders, .builtin = builtin};
    return router_new(&options, error_text, sizeof error_text);
}

static void
expect_route(const char *path, const char *expected)
{
    const struct router_entry *entry = router_find(router, path, strlen(path));
    if (expected == NULL) {
        assert_null(entry);
        return;
    }
    assert_non_null(entry);
    assert_string_equal(entry->path, expected);
}

static void
the_longest_prefix_at_a_segment_boundary_wins(void **state)
{
    static const struct route routes[] = {
        {"/lua", "builtin:count", NULL, NULL},
        {"/lua/table/concat", "builtin:count", NULL, NULL},
        {"/lua/table", "builtin:count", NULL, NULL},
        {"/slash/", "builtin:count", NULL, NULL},
    };
    (void)state;

    router = make(routes, 4);
    assert_non_null(router);
    expect_route("/lua", "/lua");
    expect_route("/lua/", "/lua");
    expect_route("/lua/tab", "/lua");
    expect_route("/lua/table", "/lua/table");
    expect_route("/lua/tables", "/lua");
    expect_route("/lua/table/concat/x", "/lua/table/concat");
    expect_route("/luatable", NULL);
    expect_route("/Lua", NULL);
    expect_route("/lu", NULL);
    expect_route("/", NULL);
    expect_route("", NULL);
    expect_route("/slash", NULL);
    expect_route("/slash/x", "/slash/");
    expect_route("/lua\0x", "/lua");
    assert_null(router_find(router, "/lua\0x", 6)); /* a NUL ends nothing */
}

static void
root_takes_what_nobody_else_wants(void **state)
{
    static const struct route routes[] = {{"/", "builtin:count", NULL, NULL},
                                          {"/a", "builtin:count", NULL, NULL}};
    (void)state;

    router_free(router);
    router = make(routes, 2);
    expect_route("/", "/");
    expect_route("/ab", "/");
    expect_route("/a/b", "/a");
}

static void
what_was_started_is_finished(void **state)
{
    static const struct route routes[] = {{"/a", "builtin:count", NULL, NULL},
                                          {"/b", "builtin:count", "x", NULL},
                                          {"/c", "builtin:count", "refuse", "file:7"}};
    (void)state;

    router_free(router);
    started = finished = 0;
    router = make(routes, 2);
    assert_int_equal(started, 2);
    assert_string_equal(router_find(router, "/b", 2)->state, "x");
    router_free(router);
    assert_int_equal(finished, 2);
    router = make(routes, 3);
    assert_null(router);
    assert_string_equal(error_text, "builtin:count: refused on purpose; route of file:7");
    assert_int_equal(started, finished);
}

static void
expect_refused(const char *path, const char *handler, const char *reason)
{
    const struct route route = {path, handler, NULL, NULL};
    router = make(&route, 1);
    assert_null(router);
    if (strstr(error_text, reason) == NULL)
        fail_msg("expected \"%s\" in: %s", reason, error_text);
}

static void
handlers_stay_in_their_folder(void **state)
{
    const char *const folders[] = {"/nowhere", folder, NULL};
    char path[PATH_MAX];
    char found[PATH_MAX];
    (void)state;

    put_file("a.lua", "return function(r) r:write('x') end");
    put_file("a.txt", "");
    put_file("bad.so", "no object, but longer than the header of one would have to be: 64 bytes");
    snprintf(path, sizeof path, "%s/out.lua", folder);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    snprintf(path, sizeof path, "%s/in.lua", folder);
    assert_int_equal(symlink("a.lua", path), 0);

    expect_refused("/x", "../a.lua", "\"..\" is not allowed");
    expect_refused("/x", "sub/../a.lua", "\"..\" is not allowed");
    expect_refused("/x", "..", "\"..\" is not allowed");
    expect_refused("/x", "out.lua", "leads out of");
    snprintf(path, sizeof path, "%s/out.lua", folder);
    expect_refused("/x", path, "leads out of");
    expect_refused("/x", "absent.so", "absent.so: no such file");
    expect_refused("/x", "/absent.so", "/absent.so: no such file");
    expect_refused("/x", "a.txt", "a.txt: a handler is a .so or a .lua file");
    expect_refused("/x", "bad.so", "bad.so: invalid ELF header");
    expect_refused("x", "a.lua", "a path begins with '/'");
    expect_refused("/x", "builtin:none", "builtin:none: no such built-in handler");

    snprintf(path, sizeof path, "%s/a.lua", folder);
    assert_int_equal(find_file("in.lua", folders, found, sizeof found, error_text, 512), 0);
    assert_string_equal(found, path);
    assert_int_equal(find_file("..a.lua", folders, found, sizeof found, error_text, 512), -1);
    assert_non_null(strstr(error_text, "no such file"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_prefix_at_a_segment_boundary_wins),
        cmocka_unit_test(root_takes_what_nobody_else_wants),
        cmocka_unit_test(what_was_started_is_finished),
        cmocka_unit_test(handlers_stay_in_their_folder),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
