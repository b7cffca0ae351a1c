/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/request/record.c */
/* Records as bytes: headers, pairs with every form of length, management replies. */
#include "request/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
a_header_survives_its_way(void **state)
{
    static const uint16_t ids[] = {0, 1, 255, 256, 65535};
    char bytes[RECORD_HEADER_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        record_encode_header(bytes, RECORD_STDOUT, ids[i], 65535, 255);
        struct record_header header = record_decode_header(bytes);
        assert_int_equal(header.version, 1);
        assert_int_equal(header.type, RECORD_STDOUT);
        assert_int_equal(header.id, ids[i]);
        assert_int_equal(header.content_length, 65535);
        assert_int_equal(header.padding_length, 255);
        assert_int_equal(bytes[7], 0);
    }
}

/* Writes a pair into an allocation of its very size, so that a sanitizer sees every
 * byte read too far. */
static char *
make_pair(size_t name_length, size_t value_length, size_t *length)
{
    size_t head = record_encode_lengths(NULL, (uint32_t)name_length, (uint32_t)value_length);
    *length = head + name_length + value_length;
    char *bytes = malloc(*length);
    assert_non_null(bytes);
    record_encode_lengths(bytes, (uint32_t)name_length, (uint32_t)value_length);
    memset(bytes + head, 'n', name_length);
    memset(bytes + head + name_length, 'v', value_length);
    return bytes;
}

static void
pairs_of_every_length_come_back_and_cut_ones_do_not(void **state)
{
    static const size_t lengths[] = {0, 1, 126, 127, 128, 255, 256, 70000};
    (void)state;
    for (size_t name = 0; name < 7; name++) {
        for (size_t value = 0; value < 8; value++) {
            size_t length;
            char *bytes = make_pair(lengths[name], lengths[value], &length);
            const char *cursor = bytes;
            struct record_pair pair;
            assert_int_equal(record_next_pair(&cursor, bytes + length, &pair), 1);
            assert_int_equal(pair.name_length, lengths[name]);
            assert_int_equal(pair.value_length, lengths[value]);
            assert_int_equal(record_next_pair(&cursor, bytes + length, &pair), 0);
            for (size_t cut = 1; cut < length && cut < 600; cut++) {
                cursor = bytes;
                assert_int_equal(record_next_pair(&cursor, bytes + cut, &pair), -1);
                assert_ptr_equal(cursor, bytes);
            }
            free(bytes);
        }
    }
}

static void
the_long_form_may_hold_a_short_length(void **state)
{
    static const char bytes[] = "\x80\0\0\1\x80\0\0\2nvv";
    const char *cursor = bytes;
    struct record_pair pair;
    (void)state;
    assert_int_equal(record_next_pair(&cursor, bytes + sizeof bytes - 1, &pair), 1);
    assert_memory_equal(pair.name, "n", 1);
    assert_memory_equal(pair.value, "vv", 2);
}

static void
lengths_that_would_overflow_are_malformed(void **state)
{
    static const char bytes[] = "\xff\xff\xff\xff\xff\xff\xff\xff.";
    const char *cursor = bytes;
    struct record_pair pair;
    (void)state;
    assert_int_equal(record_next_pair(&cursor, bytes + sizeof bytes - 1, &pair), -1);
}

static void
each_known_variable_is_told_once(void **state)
{
    char query[4096];
    size_t length = 0;
    char reply[RECORD_VALUES_SIZE];
    (void)state;
    static const char *const names[] = {"FCGI_MAX_REQS", "FCGI_NONE", "FCGI_MAX_CONNS",
                                        "FCGI_MPXS_CONNS"};
    for (int round = 0; round < 40; round++) {
        const char *name = names[round % 4];
        length += record_encode_lengths(query + length, (uint32_t)strlen(name), 0);
        memcpy(query + length, name, strlen(name));
        length += strlen(name);
    }
    size_t total = record_encode_values(reply, query, length, UINT32_MAX, UINT32_MAX);
    assert_true(total <= sizeof reply);
    struct record_header header = record_decode_header(reply);
    assert_int_equal(header.type, RECORD_GET_VALUES_RESULT);
    assert_int_equal(header.id, 0);
    assert_int_equal(total, 8 + header.content_length + header.padding_length);
    static const char wanted[] = "\x0e\x0a"
                                 "FCGI_MAX_CONNS4294967295"
                                 "\x0d\x0a"
                                 "FCGI_MAX_REQS4294967295"
                                 "\x0f\x01"
                                 "FCGI_MPXS_CONNS0";
    assert_int_equal(header.content_length, sizeof wanted - 1);
    assert_memory_equal(reply + 8, wanted, sizeof wanted - 1);
}

static void
a_query_that_is_cut_is_answered_as_far_as_it_goes(void **state)
{
    char reply[RECORD_VALUES_SIZE];
    (void)state;
    size_t total = record_encode_values(reply, "\x0f\0FCGI_MPXS_CONNS\x7f", 18, 1, 1);
    assert_int_equal(record_decode_header(reply).content_length, 18);
    assert_int_equal(total, 8 + 18 + 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_survives_its_way),
        cmocka_unit_test(pairs_of_every_length_come_back_and_cut_ones_do_not),
        cmocka_unit_test(the_long_form_may_hold_a_short_length),
        cmocka_unit_test(lengths_that_would_overflow_are_malformed),
        cmocka_unit_test(each_known_variable_is_told_once),
        cmocka_unit_test(a_query_that_is_cut_is_answered_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
