/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/request/intake.c fcgi-server/request/record.c */
/* Requests put together from bytes that are cut anywhere; what is refused, and what
 * is only ignored. */
#include "request/intake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct intake_limits limits = {.spool_folder = "/tmp",
                                            .params_max = 262144,
                                            .body_max = 1 << 20,
                                            .connections = 7,
                                            .requests = 9};

/* --- a stream to feed ------------------------------------------------------------- */

static struct {
    char bytes[2 << 20];
    size_t length;
} wire;

static void
record(uint8_t type, uint16_t id, const void *content, size_t length, uint8_t padding)
{
    record_encode_header(wire.bytes + wire.length, (enum record_type)type, id, (uint16_t)length,
                         padding);
    wire.length += RECORD_HEADER_SIZE;
    if (length > 0)
        memcpy(wire.bytes + wire.length, content, length);
    memset(wire.bytes + wire.length + length, 'p', padding);
    wire.length += length + padding;
}

static void
begin(uint16_t id, uint8_t role, uint8_t flags)
{
    char content[8] = {0, (char)role, (char)flags};
    record(RECORD_BEGIN_REQUEST, id, content, sizeof content, 0);
}

static void
whole_request(uint16_t id, const char *params, const char *body, uint8_t padding)
{
    begin(id, RECORD_RESPONDER, RECORD_KEEP_CONNECTION);
    record(RECORD_PARAMS, id, params, strlen(params) / 2, padding);
    record(RECORD_PARAMS, id, params + strlen(params) / 2, strlen(params) - strlen(params) / 2,
           padding);
    record(RECORD_PARAMS, id, NULL, 0, padding);
    if (*body != '\0') {
        record(RECORD_STDIN, id, body, 1, padding);
        record(RECORD_STDIN, id, body + 1, strlen(body) - 1, padding);
    }
    record(RECORD_STDIN, id, NULL, 0, padding);
}

/* Feeds at most <piece> bytes a read, <left> of the wire. Returns the first result
 * that is not INTAKE_MORE, or INTAKE_MORE at the end. */
static enum intake_result
feed(struct intake *intake, size_t *at, size_t piece)
{
    for (;;) {
        enum intake_result result = intake_next(intake);
        if (result != INTAKE_MORE || *at == wire.length)
            return result;
        char *room;
        size_t size = intake_room(intake, &room);
        assert_true(size >= INTAKE_ROOM);
        size = size < piece ? size : piece;
        size = size < wire.length - *at ? size : wire.length - *at;
        memcpy(room, wire.bytes + *at, size);
        intake_filled(intake, size);
        *at += size;
    }
}

static enum intake_result
feed_all(struct intake *intake)
{
    size_t at = 0;
    return feed(intake, &at, SIZE_MAX);
}

static int
start(void **state)
{
    static struct intake intake;
    intake_init(&intake, &limits);
    wire.length = 0;
    *state = &intake;
    return 0;
}

static int
end(void **state)
{
    intake_fini(*state);
    return 0;
}

static void
expect(struct intake *intake, uint16_t id, const char *params, const char *body)
{
    assert_int_equal(intake->id, id);
    assert_int_equal(intake->params_end - intake->params, strlen(params));
    assert_memory_equal(intake->buffer + intake->params, params, strlen(params));
    assert_int_equal(intake->body_length, strlen(body));
    assert_memory_equal(intake->buffer + intake->body, body, strlen(body));
}

/* --- what is right ------------------------------------------------------------------ */

static void
requests_cut_at_every_size_are_whole(void **state)
{
    struct intake *intake = *state;
    whole_request(1, "parameters", "the body", 0);
    whole_request(65535, "pq", "", 255);
    whole_request(256, "other parameters", "b1", 7);
    for (size_t piece = 1; piece <= wire.length; piece++) {
        size_t at = 0;
        assert_int_equal(feed(intake, &at, piece), INTAKE_REQUEST);
        expect(intake, 1, "parameters", "the body");
        intake_reset(intake);
        assert_int_equal(feed(intake, &at, piece), INTAKE_REQUEST);
        expect(intake, 65535, "pq", "");
        intake_reset(intake);
        assert_int_equal(feed(intake, &at, piece), INTAKE_REQUEST);
        expect(intake, 256, "other parameters", "b1");
        intake_reset(intake);
        assert_int_equal(feed(intake, &at, piece), INTAKE_MORE);
        assert_true(intake_is_empty(intake));
    }
}

static void
a_request_in_one_piece_is_not_moved(void **state)
{
    struct intake *intake = *state;
    begin(1, RECORD_RESPONDER, 0);
    record(RECORD_PARAMS, 1, "parameters", 10, 6);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    record(RECORD_STDIN, 1, NULL, 0, 0);
    assert_int_equal(feed_all(intake), INTAKE_REQUEST);
    assert_int_equal(intake->params, 24);
    assert_false(intake->keep);
}

static void
a_long_body_is_in_a_file(void **state)
{
    struct intake *intake = *state;
    static char body[65535];
    static char back[65535];
    size_t total = 0;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i * 31);
    begin(1, RECORD_RESPONDER, 0);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    for (; total < 500000; total += sizeof body)
        record(RECORD_STDIN, 1, body, sizeof body, 1);
    record(RECORD_STDIN, 1, NULL, 0, 0);
    size_t at = 0;
    assert_int_equal(feed(intake, &at, 1000), INTAKE_REQUEST);
    assert_int_equal(intake->body_length, total);
    assert_true(intake->spool_fd != -1);
    assert_true(intake->size <= 262144);
    for (size_t offset = 0; offset < total; offset += sizeof body) {
        assert_int_equal(pread(intake->spool_fd, back, sizeof back, (off_t)offset), sizeof back);
        assert_memory_equal(back, body, sizeof body);
    }
}

static void
parameters_up_to_the_limit_pass(void **state)
{
    struct intake *intake = *state;
    static char params[65535];
    memset(params, 'x', sizeof params);
    begin(1, RECORD_RESPONDER, 0);
    for (int i = 0; i < 4; i++)
        record(RECORD_PARAMS, 1, params, sizeof params, 0);
    record(RECORD_PARAMS, 1, params, 4, 0);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    record(RECORD_STDIN, 1, NULL, 0, 0);
    assert_int_equal(feed_all(intake), INTAKE_REQUEST);
    assert_int_equal(intake->params_end - intake->params, limits.params_max);
}

/* --- what is answered at once --------------------------------------------------------- */

static void
management_is_answered_between_records(void **state)
{
    struct intake *intake = *state;
    static const char query[] = "\x0d\0FCGI_MAX_REQS";
    size_t at = 0;
    begin(1, RECORD_RESPONDER, 0);
    record(RECORD_GET_VALUES, 0, query, sizeof query - 1, 3);
    record(42, 0, "?", 1, 0);
    record(RECORD_UNKNOWN_TYPE, 0, "12345678", 8, 0);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    record(RECORD_STDIN, 1, NULL, 0, 0);
    assert_int_equal(feed(intake, &at, 1), INTAKE_REPLY);
    assert_int_equal(intake->reply[1], RECORD_GET_VALUES_RESULT);
    assert_memory_equal(intake->reply + 8,
                        "\x0d\x01"
                        "FCGI_MAX_REQS9",
                        16);
    assert_int_equal(feed(intake, &at, 1), INTAKE_REPLY);
    assert_int_equal(intake->reply[1], RECORD_UNKNOWN_TYPE);
    assert_int_equal(intake->reply[8], 42);
    assert_int_equal(feed(intake, &at, 1), INTAKE_REQUEST);
}

static void
a_second_id_is_told_that_it_cannot_be_multiplexed(void **state)
{
    struct intake *intake = *state;
    size_t at = 0;
    begin(1, RECORD_RESPONDER, 1);
    begin(2, RECORD_RESPONDER, 1);
    record(RECORD_PARAMS, 2, "other", 5, 0);
    record(RECORD_PARAMS, 1, "own", 3, 0);
    record(RECORD_PARAMS, 2, NULL, 0, 0);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    record(RECORD_STDIN, 1, NULL, 0, 0);
    assert_int_equal(feed(intake, &at, SIZE_MAX), INTAKE_REPLY);
    assert_int_equal(intake->reply[3], 2);
    assert_int_equal(intake->reply[12], RECORD_CANT_MPX_CONN);
    assert_int_equal(feed(intake, &at, SIZE_MAX), INTAKE_REQUEST);
    expect(intake, 1, "own", "");
}

static void
other_roles_are_unknown(void **state)
{
    struct intake *intake = *state;
    size_t at = 0;
    begin(3, RECORD_AUTHORIZER, 1);
    record(RECORD_PARAMS, 3, "x", 1, 0);
    begin(4, 9, 0);
    assert_int_equal(feed(intake, &at, SIZE_MAX), INTAKE_REPLY);
    assert_int_equal(intake->reply[12], RECORD_UNKNOWN_ROLE);
    assert_false(intake->closing);
    assert_int_equal(feed(intake, &at, SIZE_MAX), INTAKE_REPLY);
    assert_true(intake->closing);
}

/* --- what ends a request or the connection --------------------------------------------- */

static void
an_abort_ends_a_request_wherever_it_comes(void **state)
{
    struct intake *intake = *state;
    whole_request(5, "parameters", "the body", 0);
    size_t length = wire.length;
    /* behind each record, and behind the whole: offsets where a record begins */
    for (size_t at = 16; at <= length;
         at += 8 + record_decode_header(wire.bytes + at).content_length) {
        wire.length = at;
        record(RECORD_ABORT_REQUEST, 5, NULL, 0, 0);
        assert_int_equal(feed_all(intake), INTAKE_ABORTED);
        assert_int_equal(intake->reply[1], RECORD_END_REQUEST);
        assert_int_equal(intake->reply[3], 5);
        assert_int_equal(intake_next(intake), INTAKE_MORE);
        assert_true(intake_is_empty(intake));
        wire.length = 0;
        whole_request(5, "parameters", "the body", 0);
        if (at == length)
            break;
    }
}

static void
too_much_is_refused(void **state)
{
    struct intake *intake = *state;
    static char content[65535];
    begin(1, RECORD_RESPONDER, 0);
    for (int i = 0; i < 5; i++)
        record(RECORD_PARAMS, 1, content, sizeof content, 0);
    assert_int_equal(feed_all(intake), INTAKE_REFUSED);
    assert_int_equal(intake->refused, 431);
    intake_drop(intake);
    wire.length = 0;
    begin(1, RECORD_RESPONDER, 0);
    record(RECORD_PARAMS, 1, NULL, 0, 0);
    for (int i = 0; i < 17; i++)
        record(RECORD_STDIN, 1, content, sizeof content, 0);
    assert_int_equal(feed_all(intake), INTAKE_REFUSED);
    assert_int_equal(intake->refused, 413);
}

static void
nothing_malformed_is_let_through(void **state)
{
    struct intake *intake = *state;
    static const char eight[8] = {0, RECORD_RESPONDER};
    for (int form = 0; form < 13; form++) {
        wire.length = 0;
        if (form >= 6)
            begin(1, RECORD_RESPONDER, 1);
        switch (form) {
        case 0: /* an HTTP client */
            memcpy(wire.bytes, "GET / HTTP/1.1\r\n", 16);
            wire.length = 16;
            break;
        case 1:
            begin(1, RECORD_RESPONDER, 0);
            wire.bytes[0] = 9; /* version */
            break;
        case 2:
            begin(0, RECORD_RESPONDER, 0); /* id 0 */
            break;
        case 3:
            record(RECORD_BEGIN_REQUEST, 1, eight, 7, 1);
            break;
        case 4:
            record(RECORD_PARAMS, 0, "x", 1, 0);
            break;
        case 5:
            record(RECORD_STDOUT, 1, "x", 1, 0);
            break;
        case 6:
            begin(1, RECORD_RESPONDER, 1); /* the same id again */
            break;
        case 7:
            record(RECORD_STDIN, 1, "x", 1, 0); /* before the end of the parameters */
            break;
        case 8:
            record(77, 1, "x", 1, 0);
            break;
        case 9:
            record(RECORD_DATA, 1, "x", 1, 0);
            break;
        case 10:
            record(RECORD_PARAMS, 1, NULL, 0, 0);
            record(RECORD_PARAMS, 1, "x", 1, 0); /* after their end */
            break;
        case 11:
            record(RECORD_GET_VALUES, 1, NULL, 0, 0); /* management with an id */
            break;
        case 12:
            record(RECORD_END_REQUEST, 1, eight, 8, 0);
            break;
        default:
            break;
        }
        assert_int_equal(feed_all(intake), INTAKE_BROKEN);
        intake_fini(intake);
        intake_init(intake, &limits);
    }
}

static void
records_of_closed_ids_are_ignored(void **state)
{
    struct intake *intake = *state;
    record(RECORD_STDIN, 9, "left over", 9, 2);
    record(RECORD_ABORT_REQUEST, 9, NULL, 0, 0);
    record(RECORD_PARAMS, 9, NULL, 0, 0);
    whole_request(1, "own", "", 0);
    assert_int_equal(feed_all(intake), INTAKE_REQUEST);
    expect(intake, 1, "own", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_cut_at_every_size_are_whole),
        TEST(a_request_in_one_piece_is_not_moved),
        TEST(a_long_body_is_in_a_file),
        TEST(parameters_up_to_the_limit_pass),
        TEST(management_is_answered_between_records),
        TEST(a_second_id_is_told_that_it_cannot_be_multiplexed),
        TEST(other_roles_are_unknown),
        TEST(an_abort_ends_a_request_wherever_it_comes),
        TEST(too_much_is_refused),
        TEST(nothing_malformed_is_let_through),
        TEST(records_of_closed_ids_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
