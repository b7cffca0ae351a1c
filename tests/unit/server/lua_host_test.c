/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/handler/lua_host.c fcgi-server/handler/lua_state.c fcgi-server/handler/lua_wait.c fcgi-server/handler/lua_task.c fcgi-server/handler/lua_request.c */
/* links: fcgi-server/handler/lua_sandbox.c fcgi-server/handler/lua_require.c fcgi-server/handler/lua_socket.c fcgi-server/handler/lua_stream.c */
/* links: fcgi-server/handler/router.c fcgi-server/base/find_file.c fcgi-server/handler/shared_object.c fcgi-server/handler/side_effects.c fcgi-server/request/request.c fcgi-server/request/dispatch.c */
/* links: fcgi-server/request/response.c */
/* links: fcgi-server/request/record.c fcgi-server/request/arena.c fcgi-server/request/query.c */
/* Scripts in the Lua host: how each kind of error ends, what waiting does, what
 * scripts can reach. */
#include "script.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

/* --- answers --------------------------------------------------------------- */

static void
five_lines_are_a_handler(void **state)
{
    (void)state;
    load("return function(request)\n"
         "    request:header('Content-Type', 'text/plain')\n"
         "    request:write('hello world\\n')\n"
         "end\n");
    get("");
    expect(200, "hello world\n");
    assert_string_equal(request.type, "text/plain");
}

static void
a_table_brings_init_and_fini(void **state)
{
    (void)state;
    assert_true(load_with("local text\n"
                          "return {\n"
                          "    init = function(argument) text = argument end,\n"
                          "    fini = function() print('ended', text) end,\n"
                          "    handle = function(request) request:write(text) end,\n"
                          "}\n",
                          "given", (struct lua_options){0}));
    get("");
    expect(200, "given");
    router_free(router);
    router = NULL;
    expect_logged("ended given");
}

static void
the_chunk_gets_the_argument(void **state)
{
    (void)state;
    assert_true(load_with("local text = ... return function(r) r:write(text, 1, 2.5) end", "x",
                          (struct lua_options){0}));
    get("");
    expect(200, "x12.5");
}

static void
methods_mirror_the_c_functions(void **state)
{
    (void)state;
    load("return function(r)\n"
         "    r:status(418)\n"
         "    r:header('X-Test', 'yes')\n"
         "    r:print('%s %s %s %s', r:param('REQUEST_METHOD'), r:query('a'), r:query('b'),\n"
         "            r:read())\n"
         "    r:write(' ', tostring(r:gone()), ' ', tostring(r:param('NONE')))\n"
         "    r:log('seen %d', 7)\n"
         "end\n");
    get("a=1%002");
    assert_int_equal(request.out_length, strlen("GET 1x2 nil nil false nil"));
    assert_memory_equal(request.out, "GET 1\0002 nil nil false nil", request.out_length);
    assert_int_equal(status(), 418);
    expect_logged("script.lua: seen 7");
}

static void
the_body_is_read_in_pieces(void **state)
{
    (void)state;
    load("return function(r)\n"
         "    local sizes = {}\n"
         "    for piece in function() return r:read(20000) end do sizes[#sizes + 1] = #piece end\n"
         "    r:write(table.concat(sizes, ' '))\n"
         "end\n");
    char *body = calloc(1, 50000);
    assert_non_null(body);
    request_reset(&request);
    request.body = (struct request_body){.memory = body, .spool_fd = -1, .length = 50000};
    dispatch_route(&request, router);
    assert_int_equal(dispatch_run(&request), FH_OK);
    expect(200, "20000 20000 10000");
    free(body);
}

static void
returning_false_is_404(void **state)
{
    (void)state;
    load("return function() return false end");
    get("");
    expect(404, "Not Found\n");
    assert_string_equal(logged, "");
}

/* --- errors ---------------------------------------------------------------- */

static void
every_kind_of_error_is_one_500_and_one_line(void **state)
{
    static const struct {
        const char *body;
        const char *logged;
    } cases[] = {
        {"error('boom')", "script.lua:2: boom"},
        {"error('boom', 0)", "script.lua:2: boom"},
        {"error({code = 7})", "script.lua:2: error value is a table"},
        {"error(nil)", "script.lua:2: error value is a nil"},
        {"error(42)", "script.lua:2: 42"},
        {"error()", "script.lua:2: error value is a nil"},
        {"local x = 'a' .. nil", "script.lua:2: attempt to concatenate"},
        {"local function f(n) return 1 + f(n + 1) end f(1)", "script.lua:2: stack overflow"},
        {"local function f() return (('x'):gsub('x', f)) end f()", "script.lua:2: stack overflow"},
        {"request:write('half') error('late')", "script.lua:2: late"},
        {"request:fail('no table %s', 'x')", "script.lua:2: no table x"},
        {"return 42", "script.lua:1: handle returned a number"},
        {"return {}", "script.lua:1: handle returned a table"},
        {"return nil", "script.lua:1: handle returned without an answer"},
        {"leaked = 1", "script.lua:2: global 'leaked' is created while serving"},
        {"rawset(_G, 'leaked', 1)", "global 'leaked' is created while serving"},
        {"coroutine.yield()", "script.lua:1: coroutine.yield outside"},
        {"request:status(99)", "script.lua:2: bad argument #1"},
        {"request:status('x')", "script.lua:2: bad argument #1"},
        {"request:header('X', 'a\\r\\nb')", "script.lua:2: header: refused"},
        {"request:header('X', 'a\\0b')", "script.lua:2: header: refused"},
        {"request:header('X Y', 'a')", "script.lua:2: header: refused"},
        {"request:header('X')", "script.lua:2: bad argument #2"},
        {"request.write('x')", "script.lua:2: bad argument #1"},
        {"request.write(io)", "script.lua:2: bad argument #1"},
        {"request:write({})", "script.lua:2: bad argument #1"},
        {"request:sleep(-1)", "script.lua:2: bad argument #1"},
        {"request:sleep(0/0)", "script.lua:2: bad argument #1"},
        {"request:header('X', 'a\\1b')", "script.lua:2: header: refused"},
        {"request:header('X', 'a\\127b')", "script.lua:2: header: refused"},
        {"request:connect('example.org', {})", "script.lua:2: bad argument #2"},
        {"request:read(-5)", "script.lua:2: bad argument #1"},
        {"coroutine.wrap(function() request:sleep(1) end)()",
         "script.lua:2: waiting inside a coroutine"},
        {"os.exit(3)", "script.lua:2: attempt to call field 'exit' (a nil value)"},
        {"os.execute('true')", "script.lua:2: attempt to call field 'execute' (a nil value)"},
        {"io.popen('true')", "script.lua:2: attempt to index global 'io' (a nil value)"},
        {"require('ffi').C.exit(3)", "script.lua:2: require: there is no \"ffi\""},
        {"require('../x')", "script.lua:2: require: \"../x\" is no module name"},
        {"loadstring(string.dump(function() end))()", "attempt to call a nil value"},
        {"debug.getregistry()", "attempt to call field 'getregistry' (a nil value)"},
        {"setmetatable(_G, {})", "protected metatable"},
        {"getmetatable('').__index = {}", "script.lua:2: attempt to index a string value"},
        {"string.rep = nil error(('x'):rep(2))", "script.lua:2: xx"},
    };
    char text[512];
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "return function(request) if request:query('ok') then return request:write('ok') "
                 "and nil end\n%s\nend\n",
                 cases[i].body);
        load(text);
        for (int round = 0; round < 2; round++) {
            get("");
            expect_failure(cases[i].logged);
            get("ok");
            expect(200, "ok");
        }
    }
}

static void
the_log_names_the_place_once(void **state)
{
    (void)state;
    load("return function(request)\nerror('no cause')\nend\n");
    get("");
    expect_logged("/script.lua:2: no cause (GET /)\n");
    load("local function greet()\n    error('boom')\nend\n"
         "return function(request)\n    greet()\n    request:write('x')\nend\n");
    get("");
    expect_logged("/script.lua:2: boom; in greet < script.lua:5 (GET /)\n");
}

static void
a_module_lies_beside_the_script_or_in_lib(void **state)
{
    char command[160];
    (void)state;
    snprintf(command, sizeof command, "mkdir '%s/lib'", folder);
    assert_int_equal(system(command), 0);
    put_file("lib/shared.lua", "return {name = 'lib'}");
    load("local shared = require('shared')\n"
         "return function(request) request:write(shared.name) end");
    get("");
    expect(200, "lib");
    put_file("shared.lua", "return {name = 'beside'}");
    load("local shared = require('shared')\n"
         "return function(request) request:write(shared.name) end");
    get("");
    expect(200, "beside");
    put_file("loop.lua", "local x = require('loop') return x");
    assert_false(load_with("require('loop')", NULL, (struct lua_options){0}));
    if (strstr(error_text, "/loop.lua:1: require: \"loop\" requires itself") == NULL)
        fail_msg("%s", error_text);
    /* What lies in the folder that the server was started in is not found. */
    assert_false(load_with("require('luarocks.core')", NULL, (struct lua_options){0}));
}

static void
json_is_there(void **state)
{
    (void)state;
    if (!load_with("local json = require('cjson')\n"
                   "return function(request) request:write(json.encode({a = {1, 2.5}}), ' ',\n"
                   "    tostring(json.decode(request:param('HTTP_X')).b)) end",
                   NULL, (struct lua_options){0})) {
        assert_non_null(strstr(error_text, "install the package lua-cjson"));
        skip();
    }
    get_with("", "HTTP_X", "{\"b\": true}");
    expect(200, "{\"a\":[1,2.5]} true");
}

static void
memory_is_bounded_and_comes_back(void **state)
{
    static const char *const bodies[] = {
        "local t = {} for i = 1, 1e8 do t[i] = {i} end",
        "local s = ('x'):rep(1024) while true do s = s .. s end",
        "return ('x'):rep(1e9)",
        "local t = require('table.new')(1e8, 0)",
        "local function f() local r = coroutine.wrap(f)() return r end f()",
    };
    char text[512];
    (void)state;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        snprintf(text, sizeof text,
                 "return function(request) if request:query('ok') then\n"
                 "request:write(collectgarbage('count') < 2000 and 'ok' or 'big') return end\n"
                 "%s\nend\n",
                 bodies[i]);
        assert_true(load_with(text, NULL, (struct lua_options){.memory_max = 16 << 20}));
        for (int round = 0; round < 3; round++) {
            get("");
            expect_failure(": not enough memory");
            assert_null(strstr(logged, "script.lua:0:"));
            get("ok");
            expect(200, "ok");
        }
    }
}

static void
broken_scripts_are_refused_with_file_and_line(void **state)
{
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"return function(request)\n  x = = 1\nend\n", "/script.lua:2: unexpected symbol"},
        {"\n\nerror('at load')", "/script.lua:3: at load"},
        {"return 42", "/script.lua: it returns a number"},
        {"return nil", "/script.lua: it returns a nil"},
        {"return {}", "/script.lua: the table it returns has no function handle"},
        {"return {handle = 1}", "/script.lua: the handle it returns is not a function"},
        {"return {handle = print, init = function() error('no disk') end}",
         "/script.lua:1: no disk"},
        {"return {handle = print, init = function() error({}) end}",
         "/script.lua: an error value that is no text"},
        {"require('absent')", "/script.lua:1: require: there is no \"absent\" in"},
        {"local t = {} for i = 1, 1e8 do t[i] = {i} end", "/script.lua: not enough memory"},
        {"\033LJ\002", "/script.lua: attempt to load chunk with wrong mode"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(load_with(cases[i].text, NULL, (struct lua_options){0}));
        if (strstr(error_text, cases[i].reason) == NULL ||
            strncmp(error_text, folder, strlen(folder)) != 0)
            fail_msg("expected \"%s\" in: %s", cases[i].reason, error_text);
    }
}

static void
a_kept_request_is_an_error_later(void **state)
{
    (void)state;
    load("local kept\n"
         "return function(request)\n"
         "    if kept then kept:write('x') end\n"
         "    kept = request\n"
         "    request:write('first')\n"
         "end\n");
    get("");
    expect(200, "first");
    get("");
    expect_failure("script.lua:3: this request has ended");
}

static void
a_script_may_lose_its_request(void **state)
{
    (void)state;
    load("local function busy(n)\n"
         "    local list = {}\n"
         "    for i = 1, n do list[i] = {i} end\n"
         "    collectgarbage()\n"
         "    error('lost')\n"
         "end\n"
         "return function(request) return busy(1000) end\n");
    for (int round = 0; round < 50; round++) {
        get("");
        expect_failure("script.lua:5: lost");
    }
}

/* --- modules and globals --------------------------------------------------- */

static void
modules_come_from_the_folder_of_the_script(void **state)
{
    char path[128];
    char target[128];
    (void)state;

    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file("sub/part.lua",
             "local count = 0 return function() count = count + 1 return count end");
    put_file("broken.lua", "\nreturn nil + 1");
    load("local part = require('sub.part')\n"
         "return function(r)\n"
         "    if r:query('m') then require(r:query('m')) end\n"
         "    r:write(part(), require('sub.part')(), ' ', require('string.buffer') and 'b')\n"
         "end\n");
    get("");
    expect(200, "12 b");
    get("m=broken");
    expect_failure("/broken.lua:2: attempt to perform arithmetic");

    snprintf(path, sizeof path, "%s/out.lua", folder);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    get("m=out");
    expect_failure("leads out of");
    snprintf(path, sizeof path, "%s/in.lua", folder);
    snprintf(target, sizeof target, "%s/sub/part.lua", folder);
    assert_int_equal(symlink(target, path), 0);
    get("m=in");
    assert_int_equal(status(), 200);
}

static void
buffers_hand_out_no_pointers(void **state)
{
    (void)state;
    load("local buffer = require('string.buffer')\n"
         "return function(r)\n"
         "    local b = buffer.new()\n"
         "    for _, name in ipairs({'reserve', 'commit', 'ref'}) do\n"
         "        r:write(tostring(pcall(function() return b[name](b, 1) end)), ' ')\n"
         "    end\n"
         "    r:write(b:put('text', 1):tostring())\n"
         "end\n");
    get("");
    expect(200, "false false false text1");
}

/* Else the wait is noted, the socket collected, and a yield waits for what is gone. */
static void
a_callback_of_c_code_cannot_wait(void **state)
{
    (void)state;
    load("return function(r)\n"
         "    local good, problem = pcall(string.gsub, 'a', 'a', function() r:sleep(1) end)\n"
         "    r:log('%s', problem)\n"
         "    coroutine.yield()\n"
         "end\n");
    get("");
    expect_logged("waiting inside a callback of table.sort, string.gsub");
    assert_int_equal(status(), 500);
}

static void
two_routes_with_one_script_have_globals_of_their_own(void **state)
{
    static const struct route routes[] = {{"/a", "script.lua", "A", NULL},
                                          {"/b", "script.lua", "B", NULL}};
    static const char *const folders[] = {folder, NULL};
    const struct router_options options = {.routes = routes, .route_count = 2, .folders = folders};
    (void)state;

    router_free(router);
    put_file("script.lua", "shared = ... return function(r) r:write(shared) end");
    router = router_new(&options, error_text, sizeof error_text);
    assert_non_null(router);
    for (int round = 0; round < 4; round++) {
        request_reset(&request);
        assert_int_equal(request_reserve_params(&request, 1), 0);
        add_param("SCRIPT_NAME", round % 2 == 0 ? "/a" : "/b/below");
        dispatch_route(&request, router);
        assert_int_equal(dispatch_run(&request), FH_OK);
        expect(200, round % 2 == 0 ? "A" : "B");
    }
}

static void
the_whole_library_is_there_when_allowed(void **state)
{
    (void)state;
    assert_true(load_with("local ffi = require('ffi')\n"
                          "return function(r) r:write(io.open and ffi.abi('64bit') and "
                          "os.getenv('HOME') and 'all') end",
                          NULL, (struct lua_options){.allow_os = true}));
    get("");
    expect(200, "all");
}

/* --- waiting and interrupting ---------------------------------------------- */

static void
sleeping_lasts_the_whole_time_and_lets_others_run(void **state)
{
    struct request *first = &request;
    static struct request second;
    (void)state;

    load("return function(r)\n"
         "    local ms = tonumber(r:query('ms'))\n"
         "    r:sleep(ms)\n"
         "    r:sleep(0)\n"
         "    r:write('slept ', ms)\n"
         "end\n");
    assert_int_equal(begin("ms=30"), FH_WAIT);
    assert_in_range(first->wait.timeout_ms, 25, 30);
    assert_int_equal(first->wait.fd, -1);

    request_init(&second, &io, NULL);
    assert_int_equal(request_reserve_params(&second, 1), 0);
    request_add_param(&second, (struct request_param){"QUERY_STRING", "ms=0", 12, 4});
    dispatch_route(&second, router);
    assert_int_equal(dispatch_run(&second), FH_OK);
    assert_memory_equal(second.out, "slept 0", 7);
    request_fini(&second);

    assert_int_equal(dispatch_resume(first, 0), FH_WAIT); /* too early: the rest is left */
    enum fh_result result = FH_WAIT;
    while (result == FH_WAIT)
        result = wait_and_resume();
    expect(200, "slept 30");
}

static void
a_cancelled_one_ends_and_others_go_on(void **state)
{
    (void)state;
    load("return function(r)\n"
         "    r:sleep(tonumber(r:query('ms')))\n"
         "    r:write('woke')\n"
         "end\n");
    for (int round = 0; round < 2000; round++) {
        assert_int_equal(begin("ms=1000"), FH_WAIT);
        dispatch_cancel(&request, 0);
    }
    get("ms=1");
    expect(200, "woke");
}

static void
interrupt(int number)
{
    (void)number;
    lua_host_interrupt();
}

/* Loops until the timer's signal. That comes again, in case that the first one
 * comes before the loop has begun. */
static void
interrupted(const char *head, const char *body, bool no_jit)
{
    char text[512];
    const struct itimerval none = {.it_value = {0}};
    const struct itimerval timer = {.it_value = {.tv_usec = 20000},
                                    .it_interval = {.tv_usec = 20000}};
    snprintf(text, sizeof text,
             "%sreturn function(r) if r:query('ok') then r:write('ok') return end\n%s\nend\n", head,
             body);
    assert_true(load_with(text, NULL, (struct lua_options){.no_jit = no_jit}));
    signal(SIGALRM, interrupt);
    setitimer(ITIMER_REAL, &timer, NULL);
    get("");
    setitimer(ITIMER_REAL, &none, NULL);
    expect_failure("script.lua:2: time limit exceeded");
    get("ok");
    expect(200, "ok");
}

static void
the_time_limit_stops_loops(void **state)
{
    (void)state;
    interrupted("", "while true do end", true);
    interrupted("", "while true do pcall(function() while true do end end) end", true);
    interrupted("", "local until_s = os.clock() + 5 while os.clock() < until_s do end", true);
    interrupted("", "while true do r:param('REQUEST_METHOD') end", false);
    interrupted("jit.off(true, true) ", "while true do end", false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_lines_are_a_handler),
        cmocka_unit_test(a_table_brings_init_and_fini),
        cmocka_unit_test(the_chunk_gets_the_argument),
        cmocka_unit_test(methods_mirror_the_c_functions),
        cmocka_unit_test(the_body_is_read_in_pieces),
        cmocka_unit_test(returning_false_is_404),
        cmocka_unit_test(every_kind_of_error_is_one_500_and_one_line),
        cmocka_unit_test(the_log_names_the_place_once),
        cmocka_unit_test(a_module_lies_beside_the_script_or_in_lib),
        cmocka_unit_test(json_is_there),
        cmocka_unit_test(memory_is_bounded_and_comes_back),
        cmocka_unit_test(broken_scripts_are_refused_with_file_and_line),
        cmocka_unit_test(a_kept_request_is_an_error_later),
        cmocka_unit_test(a_script_may_lose_its_request),
        cmocka_unit_test(modules_come_from_the_folder_of_the_script),
        cmocka_unit_test(buffers_hand_out_no_pointers),
        cmocka_unit_test(a_callback_of_c_code_cannot_wait),
        cmocka_unit_test(two_routes_with_one_script_have_globals_of_their_own),
        cmocka_unit_test(the_whole_library_is_there_when_allowed),
        cmocka_unit_test(sleeping_lasts_the_whole_time_and_lets_others_run),
        cmocka_unit_test(a_cancelled_one_ends_and_others_go_on),
        cmocka_unit_test(the_time_limit_stops_loops),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
