/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/protocol/fcgi.c bench/load-client/protocol/digest.c bench/load-client/protocol/bytes.c */
/* FastCGI answers are understood the same wherever records and the network cut them; requests have
 * the bytes of the specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/fcgi.h"

#define LIMIT 1024

enum { END = 3, OUT = 6, ERR = 7 };

static void
record(struct bytes *to, int type, const char *content, size_t n, size_t padding)
{
    static const char zeros[255];
    const char head[8] = {1, (char)type, 0, 1, (char)(n >> 8), (char)n, (char)padding, 0};
    bytes_add(to, head, 8);
    bytes_add(to, content, n);
    bytes_add(to, zeros, padding);
}

static void
text(struct bytes *to, int type, const char *content, size_t padding)
{
    record(to, type, content, strlen(content), padding);
}

static void
end(struct bytes *to, unsigned char app_status, unsigned char protocol_status)
{
    const char body[8] = {0, 0, 0, (char)app_status, (char)protocol_status, 0, 0, 0};
    record(to, END, body, 8, 0);
}

/* Feeds <bytes> in two pieces, cut at <cut>, or byte by byte when <cut> is past the end. */
static enum answer_state
parse(const struct bytes *bytes, size_t cut, struct answer *a)
{
    struct fcgi f;
    enum answer_state state = ANSWER_MORE;
    size_t at = 0;
    fcgi_start(&f, a, LIMIT);
    while (at < bytes->length && state == ANSWER_MORE) {
        size_t n = cut > bytes->length ? 1 : at < cut ? cut - at : bytes->length - at;
        state = fcgi_feed(&f, bytes->data + at, n);
        at += n;
    }
    if (state == ANSWER_DONE)
        assert_int_equal(at, bytes->length);
    return state == ANSWER_MORE ? fcgi_end(&f) : state;
}

/* The answer is the same for every cut; its state is returned and the answer left in <a>. */
static enum answer_state
every_cut(struct bytes *bytes, struct answer *a)
{
    enum answer_state first = parse(bytes, 0, a);
    for (size_t cut = 1; cut <= bytes->length + 1; cut++) {
        struct answer other;
        assert_int_equal(parse(bytes, cut, &other), first);
        assert_int_equal(other.fault, a->fault);
        assert_int_equal(other.status, a->status);
        assert_int_equal(other.stderr_bytes, a->stderr_bytes);
        assert_int_equal(digest_value(&other.body), digest_value(&a->body));
    }
    bytes_free(bytes);
    return first;
}

static void
an_answer_in_one_record(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct answer a;
    text(&b, OUT, "Content-Type: text/plain\r\n\r\nhello", 0);
    text(&b, OUT, "", 0);
    end(&b, 0, 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_DONE);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.length, 5);
    assert_memory_equal(a.excerpt, "hello", 5);
    assert_true(a.keep);
    assert_false(a.app_status);
}

static void
records_of_one_byte_with_padding_and_errors_between(void **state)
{
    (void)state;
    const char *content = "Status: 404 Not Found\nX: y\n\nnot here";
    struct bytes b = {0};
    struct answer a;
    for (const char *c = content; *c; c++) {
        record(&b, OUT, c, 1, (size_t)(c - content) * 7 % 256);
        if ((c - content) % 9 == 0)
            text(&b, ERR, "warning\n", 3);
    }
    end(&b, 0, 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_DONE);
    assert_int_equal(a.status, 404);
    assert_int_equal(a.body.length, 8);
    assert_int_equal(a.stderr_bytes, 8 * 4);
}

static void
status_and_location(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        unsigned status;
        enum answer_state state;
    } rows[] = {
        {"status:   201 Made\r\n\r\n", 201, ANSWER_DONE},
        {"Status:204\r\n\r\n", 204, ANSWER_DONE},
        {"Location: /x\r\n\r\n", 302, ANSWER_DONE},
        {"Location: /x\r\nStatus: 301 Moved\r\n\r\n", 301, ANSWER_DONE},
        {"Status: 307 T\r\nLocation: /x\r\n\r\n", 307, ANSWER_DONE},
        {"\r\n", 200, ANSWER_DONE},
        {"X-Status: 500\r\n\r\n", 200, ANSWER_DONE},
        {"Status: none\r\n\r\n", 0, ANSWER_BAD},
        {"Status: 99999\r\n\r\n", 0, ANSWER_BAD},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bytes b = {0};
        struct answer a;
        text(&b, OUT, rows[i].header, 1);
        end(&b, 0, 0);
        assert_int_equal(every_cut(&b, &a), rows[i].state);
        assert_int_equal(a.status, rows[i].status);
    }
}

static void
end_request_says_how_it_went(void **state)
{
    (void)state;
    static const int faults[] = {FAULT_NONE, FAULT_REFUSED, FAULT_OVERLOADED, FAULT_REFUSED};
    for (unsigned char status = 0; status < 4; status++) {
        struct bytes b = {0};
        struct answer a;
        if (status == 0)
            text(&b, OUT, "\r\n", 0);
        end(&b, 3, status);
        assert_int_equal(every_cut(&b, &a), status ? ANSWER_BAD : ANSWER_DONE);
        assert_int_equal(a.fault, faults[status]);
        assert_true(status || a.app_status);
    }
}

static void
faults_are_named(void **state)
{
    (void)state;
    struct answer a;
    struct bytes b = {0};
    bytes_add(&b, "HTTP/1.1 200 OK\r\n", 17);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_MALFORMED);
    text(&b, OUT, "A: b\r\n\r\nx", 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_CUT);
    assert_int_equal(parse(&b, 0, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_EMPTY);
    end(&b, 0, 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_MALFORMED); /* no header */
    bytes_add(&b, "\1\6\0\2\0\0\0\0", 8);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_MALFORMED); /* another request's */
    record(&b, END, "", 0, 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_MALFORMED); /* END_REQUEST without its 8 bytes */
    record(&b, 4, "", 0, 0);
    assert_int_equal(every_cut(&b, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_MALFORMED); /* a type that only web servers send */
}

static void
surplus_after_end_request(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct answer a;
    text(&b, OUT, "\r\n", 0);
    end(&b, 0, 0);
    bytes_add(&b, "x", 1);
    assert_int_equal(parse(&b, 0, &a), ANSWER_BAD);
    assert_int_equal(a.fault, FAULT_SURPLUS);
    bytes_free(&b);
}

static void
the_header_limit_holds_to_the_byte(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        char header[LIMIT + 2];
        struct bytes b = {0};
        struct answer a;
        memset(header, 'x', sizeof(header));
        memcpy(header, "A: ", 3);
        memcpy(header + LIMIT + more - 4, "\r\n\r\n", 4);
        record(&b, OUT, header, LIMIT + more, 0);
        end(&b, 0, 0);
        assert_int_equal(parse(&b, 0, &a), more ? ANSWER_BAD : ANSWER_DONE);
        assert_int_equal(a.fault, more ? FAULT_BIG_HEADER : FAULT_NONE);
        bytes_free(&b);
    }
}

static void
a_request_is_what_the_specification_says(void **state)
{
    (void)state;
    struct fcgi_params p = {0};
    struct bytes b = {0};
    assert_int_equal(fcgi_param(&p, "A", "old"), 0);
    assert_int_equal(fcgi_param(&p, "A", "bc"), 0);
    fcgi_request_bytes(&b, &p, "xyz", 3, true);
    static const char expected[] = "\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0"    /* BEGIN, keep */
                                   "\1\4\0\1\0\5\0\0\1\2Abc"              /* one pair */
                                   "\1\4\0\1\0\0\0\0"                     /* end of them */
                                   "\1\5\0\1\0\3\0\0xyz\1\5\0\1\0\0\0\0"; /* body, its end */
    assert_int_equal(b.length, sizeof(expected) - 1);
    assert_memory_equal(b.data, expected, sizeof(expected) - 1);
    bytes_free(&b);
    fcgi_params_free(&p);
}

static void
long_values_and_bodies_are_cut_into_records(void **state)
{
    (void)state;
    struct fcgi_params p = {0};
    struct bytes b = {0};
    char *value = calloc(1, 128 + 1), *body = calloc(1, 70000);
    assert_true(value && body);
    memset(value, 'v', 128);
    assert_int_equal(fcgi_param(&p, "N", value), 0);
    fcgi_request_bytes(&b, &p, body, 70000, false);
    /* BEGIN 16, PARAMS 8 + (1 + 4 + 1 + 128), empty 8, STDIN 8 + 65535, 8 + 4465, empty 8 */
    assert_int_equal(b.length, 16 + 8 + 134 + 8 + 8 + 65535 + 8 + 4465 + 8);
    assert_memory_equal(b.data + 24, "\1\x80\0\0\x80Nv", 7);
    assert_int_equal(b.data[10], 0);
    bytes_free(&b);
    fcgi_params_free(&p);
    free(value);
    free(body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_in_one_record),
        cmocka_unit_test(records_of_one_byte_with_padding_and_errors_between),
        cmocka_unit_test(status_and_location),
        cmocka_unit_test(end_request_says_how_it_went),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(surplus_after_end_request),
        cmocka_unit_test(the_header_limit_holds_to_the_byte),
        cmocka_unit_test(a_request_is_what_the_specification_says),
        cmocka_unit_test(long_values_and_bodies_are_cut_into_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
