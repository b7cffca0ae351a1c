/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/handler/lua_host.c fcgi-server/handler/lua_state.c fcgi-server/handler/lua_wait.c fcgi-server/handler/lua_task.c fcgi-server/handler/lua_request.c */
/* links: fcgi-server/handler/lua_sandbox.c fcgi-server/handler/lua_require.c fcgi-server/handler/lua_socket.c fcgi-server/handler/lua_stream.c */
/* links: fcgi-server/handler/router.c fcgi-server/base/find_file.c fcgi-server/handler/shared_object.c fcgi-server/handler/side_effects.c fcgi-server/request/request.c fcgi-server/request/dispatch.c */
/* links: fcgi-server/request/response.c */
/* links: fcgi-server/request/record.c fcgi-server/request/arena.c fcgi-server/request/query.c */
/* The TCP sockets of scripts, against a peer in a process of its own that does
 * what the test says. */
#include "script.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* What the peer does with one connection after the other. */
struct step {
    const char *expect; /* reads until it has this; NULL: nothing */
    const char *answer; /* then sends this */
    int pause_ms;       /* between the bytes */
    bool close;
};

static pid_t peer;
static int port;

static void
play(int fd, const struct step *step)
{
    char input[256];
    size_t length = 0;
    size_t wanted = step->expect == NULL ? 0 : strlen(step->expect);
    while (length < wanted) {
        ssize_t got = read(fd, input + length, wanted - length);
        if (got <= 0)
            _exit(1);
        length += (size_t)got;
    }
    if (wanted > 0 && memcmp(input, step->expect, wanted) != 0)
        _exit(2);
    for (const char *byte = step->answer; *byte != '\0'; byte++) {
        size_t part = step->pause_ms == 0 ? strlen(byte) : 1;
        if (write(fd, byte, part) != (ssize_t)part)
            _exit(3);
        byte += part - 1;
        usleep((useconds_t)step->pause_ms * 1000);
    }
}

static void
serve(int listener, const struct step *step)
{
    int fd = -1;
    signal(SIGPIPE, SIG_IGN);
    for (; step->answer != NULL; step++) {
        if (fd == -1)
            fd = accept(listener, NULL, NULL);
        play(fd, step);
        if (step->close) {
            close(fd);
            fd = -1;
        }
    }
    pause();
}

static void
start_peer(const struct step *list)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    port = ntohs(address.sin_port);
    peer = fork();
    if (peer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a test fails before stop_peer() */
        serve(listener, list);
    }
    close(listener);
}

/* Ends the peer; it must not have ended by itself, which means that it saw bytes
 * that it did not expect. */
static void
stop_peer(void)
{
    int how = 0;
    kill(peer, SIGTERM);
    waitpid(peer, &how, 0);
    assert_true(WIFSIGNALED(how));
}

/* Loads a script whose handle has <body> and the variables <r> and <port>. */
static void
load_body(const char *body)
{
    char text[2048];
    char argument[16];
    snprintf(argument, sizeof argument, "%d", port);
    snprintf(text, sizeof text, "local port = tonumber(...)\nreturn function(r)\n%s\nend\n", body);
    assert_true(load_with(text, argument, (struct lua_options){0}));
}

static int
descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += dup2(fd, fd) == fd;
    return count;
}

static void
lines_numbers_and_the_rest_are_received(void **state)
{
    static const struct step list[] = {
        {.expect = "hello\n", .answer = "one\r\ntwo\nABCDE\nrest", .close = true}, {0}};
    (void)state;

    start_peer(list);
    load_body("local s = assert(r:connect('127.0.0.1', port))\n"
              "assert(s:send('hello\\n'))\n"
              "r:write(table.concat({s:receive(), s:receive('line'), s:receive(3), s:receive(0),\n"
              "    s:receive(), s:receive('all')}, '|'))\n"
              "local text, reason = s:receive('all')\n"
              "r:write('|', tostring(text), tostring(reason))");
    get("");
    expect(200, "one|two|ABC||DE|rest|nil");
    stop_peer();
}

static void
bytes_may_come_one_by_one(void **state)
{
    static const struct step list[] = {{.answer = "5\nabcde", .pause_ms = 2}, {0}};
    (void)state;

    start_peer(list);
    load_body("local s = assert(r:connect('127.0.0.1', port))\n"
              "r:write(s:receive(tonumber(s:receive())))");
    get("");
    expect(200, "abcde");
    stop_peer();
}

static void
a_kept_connection_is_used_again(void **state)
{
    static const struct step list[] = {{.expect = "a", .answer = "1"},
                                       {.expect = "b", .answer = "2"},
                                       {.expect = "c", .answer = "3", .close = true},
                                       {.expect = "d", .answer = "4"},
                                       {0}};
    (void)state;

    start_peer(list);
    load_body("local s = assert(r:connect('127.0.0.1', port))\n"
              "assert(s:send(r:query('x')))\n"
              "r:write(s:receive(1))\n"
              "s:keep()\n"
              "if r:query('x') == 'a' then assert(not pcall(s.send, s, 'x')) end\n");
    get("x=a");
    expect(200, "1");
    get("x=b");
    expect(200, "2");
    get("x=c");
    expect(200, "3");
    usleep(20000); /* the peer closes; if that is still on its way, the next line shows it */
    get("x=d");
    expect(200, "4");
    stop_peer();
}

static void
time_limits_and_refusals_have_names(void **state)
{
    static const struct step list[] = {{.answer = "ab"}, {0}};
    (void)state;

    start_peer(list);
    load_body("local s = assert(r:connect('127.0.0.1', port, 20))\n"
              "r:write(select(2, s:receive(3)), ' ', s:receive(2), ' ')\n"
              "s:timeout(10)\n"
              "r:write(select(2, s:receive('line')), ' ')\n"
              "r:write(select(2, r:connect('127.0.0.1', 1)), '\\n')");
    get("");
    expect(200, "timeout ab timeout Connection refused\n");
    stop_peer();
}

static void
a_big_text_is_sent_while_the_peer_is_slow(void **state)
{
    static char expected[4096];
    static struct step list[] = {{.expect = expected, .answer = "seen"}, {0}};
    (void)state;

    memset(expected, 'x', 200);
    start_peer(list);
    load_body("local s = assert(r:connect('127.0.0.1', port, 200))\n"
              "local sent, reason = s:send(('x'):rep(16 * 1024 * 1024))\n"
              "r:write(tostring(sent), ' ', reason, ' ', s:receive(4))");
    get("");
    expect(200, "nil timeout seen");
    stop_peer();
}

static void
sockets_end_with_their_request(void **state)
{
    static const struct step list[] = {{.answer = "", .close = true},
                                       {.answer = "", .close = true},
                                       {.answer = "", .close = true},
                                       {.answer = ""},
                                       {0}};
    int before = 0;
    (void)state;

    start_peer(list);
    load_body("local how = r:query('how')\n"
              "local s = assert(r:connect('127.0.0.1', port))\n"
              "if how == 'error' then error('x') end\n"
              "if how == 'wait' then r:sleep(10000) end\n"
              "r:write('ok')");
    before = descriptors();
    get("how=end");
    expect(200, "ok");
    assert_int_equal(descriptors(), before);
    get("how=error");
    assert_int_equal(descriptors(), before);
    enum fh_result result = begin("how=wait");
    assert_int_equal(result, FH_WAIT);
    dispatch_cancel(&request, 0);
    assert_int_equal(descriptors(), before);
    stop_peer();
}

static void
wrong_arguments_are_errors(void **state)
{
    static const struct {
        const char *body;
        const char *logged;
    } cases[] = {
        {"r:connect('127.0.0.1', 1, 0)", "bad argument"},
        {"r:connect('127.0.0.1')", "bad argument"},
        {"r:connect({}, 1)", "bad argument"},
        {"r:connect('127.0.0.1', port):send({})", "bad argument"},
        {"r:connect('127.0.0.1', port):receive(-1)", "bad argument"},
        {"r:connect('127.0.0.1', port):receive('word')", "bad argument"},
        {"r:connect('127.0.0.1', port).send(r, 'x')", "bad argument"},
        {"local s = r:connect('127.0.0.1', port) s:close() s:close() s:send('x')",
         "this socket is closed"},
    };
    static const struct step list[] = {{0}};
    (void)state;

    start_peer(list);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        load_body(cases[i].body);
        get("");
        expect_failure(cases[i].logged);
    }
    stop_peer();
}

static void
bad_addresses_are_nil_and_a_reason(void **state)
{
    static const struct {
        const char *arguments;
        const char *reason;
    } cases[] = {
        {"'host.name', 1", "'host.name': expected a numeric IPv4 or IPv6 address, localhost, or "
                           "unix:/path (looking up names would block)"},
        {"'', 1", "'': expected a numeric IPv4 or IPv6 address, localhost, or unix:/path (looking "
                  "up names would block)"},
        {"'127.0.0.1', 0", "port 0: expected 1 to 65535"},
        {"'127.0.0.1', 70000", "port 70000: expected 1 to 65535"},
        {"'unix:'", "the path in 'unix:' has 0 bytes; expected 1 to 107"},
        {"'unix:/nowhere/socket'", "No such file or directory"},
        {"'unix:/nowhere/socket', 50", "No such file or directory"},
        {"'unix:/nowhere/socket', nil, 50", "No such file or directory"},
    };
    char body[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(body, sizeof body,
                 "local s, reason = r:connect(%s) r:write(tostring(s), ' ', reason)",
                 cases[i].arguments);
        load_body(body);
        get("");
        char expected[256];
        snprintf(expected, sizeof expected, "nil %s", cases[i].reason);
        expect(200, expected);
    }
}

static void
localhost_is_an_address(void **state)
{
    static const struct step list[] = {{.answer = "x", .close = true}, {0}};
    (void)state;
    start_peer(list);
    load_body("r:write(assert(r:connect('localhost', port)):receive('all'))");
    get("");
    expect(200, "x");
    stop_peer();
}

/* Listens at a path in the folder with room for one connection that nobody takes. */
static int
listen_at(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "%s/peer", folder);
    unlink(address->sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)address, sizeof *address), 0);
    assert_int_equal(listen(listener, 0), 0);
    return listener;
}

static void
unix_sockets_are_peers_too(void **state)
{
    char body[512];
    struct sockaddr_un address;
    int listener = listen_at(&address);
    (void)state;
    snprintf(body, sizeof body,
             "local s, reason = r:connect('unix:%s', 60) if not s then r:write(reason) return end\n"
             "assert(s:send('ping')) r:write(s:receive(4)) s:keep()",
             address.sun_path);
    load_body(body);
    enum fh_result result = begin("");
    int fd = accept(listener, NULL, NULL);
    assert_int_equal(write(fd, "pong", 4), 4);
    while (result == FH_WAIT)
        result = wait_and_resume();
    expect(200, "pong");
    assert_int_equal(write(fd, "more", 0), 0);
    /* Kept, so the next one comes on the same connection. */
    char input[8];
    assert_int_equal(read(fd, input, sizeof input), 4);
    result = begin("");
    assert_int_equal(write(fd, "pong", 4), 4);
    while (result == FH_WAIT)
        result = wait_and_resume();
    expect(200, "pong");
    close(fd);
    /* A full queue: waits for room, and says when the time is over. */
    int filler = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(filler, (struct sockaddr *)&address, sizeof address), 0);
    get("");
    expect(200, "timeout");
    close(filler);
    close(listener);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_numbers_and_the_rest_are_received),
        cmocka_unit_test(bytes_may_come_one_by_one),
        cmocka_unit_test(a_kept_connection_is_used_again),
        cmocka_unit_test(time_limits_and_refusals_have_names),
        cmocka_unit_test(a_big_text_is_sent_while_the_peer_is_slow),
        cmocka_unit_test(sockets_end_with_their_request),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(bad_addresses_are_nil_and_a_reason),
        cmocka_unit_test(localhost_is_an_address),
        cmocka_unit_test(unix_sockets_are_peers_too),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
