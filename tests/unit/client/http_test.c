/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/protocol/http.c bench/load-client/protocol/chunk.c */
/* links: bench/load-client/protocol/digest.c bench/load-client/protocol/bytes.c */
/* links: llhttp */
/* Every form of HTTP answer is understood the same wherever the network cuts it: in two pieces at
 * each byte, and byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "protocol/http.h"

#define LIMIT 4096

static const struct form {
    const char *name, *bytes, *body;
    enum answer_state state;
    int fault;
    unsigned status;
    bool keep, head, ends; /* ends: the server closes behind the bytes */
} forms[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", ANSWER_DONE, 0, 200,
     true, false, false},
    {"no space after the colon", "HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", "hello",
     ANSWER_DONE, 0, 200, true, false, false},
    {"spaces around the value", "HTTP/1.1 200 OK\r\nCONTENT-LENGTH:    5   \r\n\r\nhello", "hello",
     ANSWER_DONE, 0, 200, true, false, false},
    {"a header whose name ends alike",
     "HTTP/1.1 200 OK\r\nX-Content-Length: 9\r\nContent-Length: 2\r\n\r\nhi", "hi", ANSWER_DONE, 0,
     200, true, false, false},
    {"empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", ANSWER_DONE, 0, 200, true,
     false, false},
    {"chunks",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
     "hello", ANSWER_DONE, 0, 200, true, false, false},
    {"chunks with extensions and trailers",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     "5;name=value;q=\"x\"\r\nhello\r\n0;last\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
     "hello", ANSWER_DONE, 0, 200, true, false, false},
    {"chunks with blanks around extensions",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     "5 ; a = b; c ;d=\"x;y\"\r\nhello\r\n0 \r\n\r\n",
     "hello", ANSWER_DONE, 0, 200, true, false, false},
    {"a chunk longer than it says",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n", "", ANSWER_BAD,
     FAULT_MALFORMED, 200, false, false, false},
    {"a chunk size of 17 digits",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", "", ANSWER_BAD,
     FAULT_MALFORMED, 200, false, false, false},
    {"chunks with long lengths",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
     "00000005\r\nhello\r\n000\r\n\r\n",
     "hello", ANSWER_DONE, 0, 200, true, false, false},
    {"1.1, ended by close", "HTTP/1.1 200 OK\r\n\r\nhello", "hello", ANSWER_DONE, 0, 200, false,
     false, true},
    {"1.0, ended by close", "HTTP/1.0 200 OK\r\n\r\nhello", "hello", ANSWER_DONE, 0, 200, false,
     false, true},
    {"ended by close, nothing in it", "HTTP/1.0 200 OK\r\n\r\n", "", ANSWER_DONE, 0, 200, false,
     false, true},
    {"1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", ANSWER_DONE,
     0, 200, false, false, false},
    {"1.0 that stays open",
     "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello", "hello",
     ANSWER_DONE, 0, 200, true, false, false},
    {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", "hi",
     ANSWER_DONE, 0, 200, false, false, false},
    {"close among others", "HTTP/1.1 200 OK\r\nConnection: Close, x\r\nContent-Length: 2\r\n\r\nhi",
     "hi", ANSWER_DONE, 0, 200, false, false, false},
    {"100 first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
     "hi", ANSWER_DONE, 0, 200, true, false, false},
    {"103 twice",
     "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
     "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
     "no", ANSWER_DONE, 0, 404, true, false, false},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", "", ANSWER_DONE, 0, 204, true, false, false},
    {"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", "", ANSWER_DONE,
     0, 204, true, false, false},
    {"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "", ANSWER_DONE,
     0, 304, true, false, false},
    {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", "", ANSWER_DONE, 0, 200, true, true,
     false},
    {"HEAD of chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "", ANSWER_DONE, 0,
     200, true, true, false},
    {"an upgrade offered only",
     "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"
     "Content-Length: 2\r\n\r\nhi",
     "hi", ANSWER_DONE, 0, 200, true, false, false},
    {"cut body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "hello", ANSWER_BAD,
     FAULT_CUT, 200, false, false, true},
    {"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "hello",
     ANSWER_BAD, FAULT_CUT, 200, false, false, true},
    {"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
     "hello", ANSWER_BAD, FAULT_CUT, 200, false, false, true},
    {"cut header", "HTTP/1.1 200 OK\r\nContent-Le", "", ANSWER_BAD, FAULT_CUT, 0, false, false,
     true},
    {"nothing", "", "", ANSWER_BAD, FAULT_EMPTY, 0, false, false, true},
    {"only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", "", ANSWER_BAD, FAULT_CUT, 0, false,
     false, true},
    {"switching protocols", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
     "", ANSWER_BAD, FAULT_MALFORMED, 0, false, false, false},
    {"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "", ANSWER_BAD,
     FAULT_MALFORMED, 0, false, false, false},
    {"length in words", "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", "", ANSWER_BAD,
     FAULT_MALFORMED, 0, false, false, false},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "",
     ANSWER_BAD, FAULT_MALFORMED, 0, false, false, false},
    {"no chunk length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "",
     ANSWER_BAD, FAULT_MALFORMED, 200, false, false, false},
    {"not HTTP", "SSH-2.0-OpenSSH_9.2p1\r\n", "", ANSWER_BAD, FAULT_MALFORMED, 0, false, false,
     false},
};

/* Feeds <n> bytes; an answer that is done must have used all there is. */
static enum answer_state
feed(struct http *h, const char *bytes, size_t n, size_t left)
{
    enum answer_state state = n > 0 ? http_feed(h, bytes, n) : ANSWER_MORE;
    if (state == ANSWER_DONE)
        assert_int_equal(left, 0);
    return state;
}

static void
check(const struct form *f, const struct answer *a, enum answer_state state, size_t cut)
{
    if (state != f->state || a->fault != f->fault)
        print_message("# %s, cut at %zu: state %d, fault %d\n", f->name, cut, state, a->fault);
    assert_int_equal(state, f->state);
    assert_int_equal(a->fault, f->fault);
    if (state == ANSWER_BAD)
        assert_non_null(a->reason);
    if (state != ANSWER_DONE)
        return;
    struct digest expected = {0};
    digest_add(&expected, f->body, strlen(f->body));
    assert_int_equal(a->status, f->status);
    assert_int_equal(a->keep, f->keep);
    assert_int_equal(a->body.length, strlen(f->body));
    assert_int_equal(digest_value(&a->body), digest_value(&expected));
    assert_int_equal(a->excerpt_length, strlen(f->body));
    assert_memory_equal(a->excerpt, f->body, strlen(f->body));
}

static void
every_form_cut_in_two_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct form *f = &forms[i];
        size_t n = strlen(f->bytes);
        for (size_t cut = 0; cut <= n; cut++) {
            struct http h;
            struct answer a;
            http_start(&h, &a, f->head, LIMIT);
            enum answer_state s = feed(&h, f->bytes, cut, n - cut);
            if (s == ANSWER_MORE)
                s = feed(&h, f->bytes + cut, n - cut, 0);
            if (s == ANSWER_MORE && f->ends)
                s = http_end(&h);
            check(f, &a, s, cut);
        }
    }
}

static void
every_form_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct form *f = &forms[i];
        size_t n = strlen(f->bytes);
        struct http h;
        struct answer a;
        enum answer_state s = ANSWER_MORE;
        http_start(&h, &a, f->head, LIMIT);
        for (size_t k = 0; k < n && s == ANSWER_MORE; k++)
            s = feed(&h, f->bytes + k, 1, n - k - 1);
        if (s == ANSWER_MORE && f->ends)
            s = http_end(&h);
        check(f, &a, s, n);
    }
}

static void
surplus_bytes_are_a_fault_wherever_they_begin(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        char bytes[200];
        size_t n = (size_t)snprintf(bytes, sizeof(bytes), "%sx", answers[i]);
        for (size_t cut = 0; cut < n - 1; cut++) {
            struct http h;
            struct answer a;
            http_start(&h, &a, false, LIMIT);
            if (cut > 0)
                assert_int_equal(http_feed(&h, bytes, cut), ANSWER_MORE);
            assert_int_equal(http_feed(&h, bytes + cut, n - cut), ANSWER_BAD);
            assert_int_equal(a.fault, FAULT_SURPLUS);
        }
    }
}

static void
a_body_for_head_is_surplus(void **state)
{
    (void)state;
    const char *bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    struct http h;
    struct answer a;
    http_start(&h, &a, true, LIMIT);
    assert_int_equal(http_feed(&h, bytes, strlen(bytes)), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_SURPLUS);
}

static void
the_header_limit_holds_to_the_byte(void **state)
{
    (void)state;
    const char *bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    size_t header = strlen(bytes) - 2;
    for (size_t limit = header - 1; limit <= header; limit++) {
        for (size_t cut = 0; cut < header - 2; cut++) {
            struct http h;
            struct answer a;
            http_start(&h, &a, false, (uint32_t)limit);
            enum answer_state s = cut ? http_feed(&h, bytes, cut) : ANSWER_MORE;
            assert_int_equal(s, ANSWER_MORE);
            s = http_feed(&h, bytes + cut, strlen(bytes) - cut);
            assert_int_equal(s, limit == header ? ANSWER_DONE : ANSWER_BAD);
            assert_int_equal(a.fault, limit == header ? FAULT_NONE : FAULT_BIG_HEADER);
        }
    }
}

static void
a_header_is_found_by_its_whole_name(void **state)
{
    (void)state;
    const char *bytes =
        "HTTP/1.1 200 OK\r\nX-Server: no\r\nserver:  nginx/1.22.1\r\n\r\nServer: body";
    char value[64];
    assert_true(http_header(bytes, strlen(bytes), "Server", value, sizeof(value)));
    assert_string_equal(value, "nginx/1.22.1");
    assert_false(http_header(bytes, strlen(bytes), "Via", value, sizeof(value)));
    assert_true(http_header(bytes, strlen(bytes), "Server", value, 4));
    assert_string_equal(value, "ngi");
}

static void
a_request_has_the_headers_it_needs_once(void **state)
{
    (void)state;
    struct bytes out = {0};
    char *headers[] = {"HOST: other", "X-A: b"};
    struct http_request request = {.method = "POST",
                                   .target = "/p?q",
                                   .host = "here:81",
                                   .headers = headers,
                                   .header_count = 2,
                                   .content_type = "text/x",
                                   .body = "abc",
                                   .body_length = 3,
                                   .keep_alive = false};
    http_request_bytes(&out, &request);
    assert_string_equal(out.data, "POST /p?q HTTP/1.1\r\nConnection: close\r\n"
                                  "Content-Type: text/x\r\nContent-Length: 3\r\nHOST: other\r\n"
                                  "X-A: b\r\n\r\nabc");
    bytes_free(&out);
    request = (struct http_request){
        .method = "GET", .target = "/", .host = "[::1]:81", .keep_alive = true};
    http_request_bytes(&out, &request);
    assert_string_equal(out.data, "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n");
    bytes_free(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_cut_in_two_at_every_byte),
        cmocka_unit_test(every_form_byte_by_byte),
        cmocka_unit_test(surplus_bytes_are_a_fault_wherever_they_begin),
        cmocka_unit_test(a_body_for_head_is_surplus),
        cmocka_unit_test(the_header_limit_holds_to_the_byte),
        cmocka_unit_test(a_header_is_found_by_its_whole_name),
        cmocka_unit_test(a_request_has_the_headers_it_needs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
