/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/request/query.c */
/* The rules of the query string, one row each. */
#include "request/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LITERAL(text) text, sizeof(text) - 1

/* <text> holds a pair <key> with the value <expected>; NULL: there is none. Both
 * stand in blocks of exactly their size, so that a checker sees a step too far. */
static void
expect(const char *text, const char *key, const char *expected, size_t expected_length)
{
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    struct query_pair pair = {0};
    assert_non_null(copy);
    memmove(copy + 1, text, length); /* the last byte of the block is the last of the text */
    bool found = query_find(copy + 1, length, key, strlen(key), &pair);
    assert_int_equal(found, expected != NULL);
    if (found) {
        char *value = malloc(pair.value_length + (pair.value_length == 0));
        assert_non_null(value);
        size_t decoded = query_decode(value, pair.value, pair.value_length);
        assert_int_equal(decoded, expected_length);
        assert_memory_equal(value, expected, decoded);
        free(value);
    }
    free(copy);
}

static void
expect_name(const char *text, const char *expected)
{
    expect(text, "name", expected, expected == NULL ? 0 : strlen(expected));
}

static void
plus_is_a_space_and_escapes_are_bytes(void **state)
{
    (void)state;
    expect_name("name=a+b", "a b");
    expect_name("name=a%2Bb", "a+b");
    expect_name("name=a%2bb", "a+b");
    expect_name("name=%C3%A9", "\xc3\xa9");
    expect_name("name=a%26b%3Dc", "a&b=c");
    expect("name=a%00b", "name", LITERAL("a\0b"));
}

static void
broken_escapes_stay(void **state)
{
    (void)state;
    expect_name("name=%", "%");
    expect_name("name=%2", "%2");
    expect_name("name=abc%", "abc%");
    expect_name("name=%zz", "%zz");
    expect_name("name=%5G", "%5G");
    expect_name("name=%%41", "%A");
    expect_name("name=%4%31", "%41");
    expect_name("name=%&x=41", "%");
}

static void
pairs_are_split_at_ampersand_and_first_equals(void **state)
{
    (void)state;
    expect_name("", NULL);
    expect_name("&", NULL);
    expect_name("name", "");
    expect_name("name=", "");
    expect_name("&&name=x&", "x");
    expect_name("fa&name=x", "x");
    expect_name("name=a=b", "a=b");
    expect_name("name=a;b", "a;b");
    expect("=x&name=y", "", "x", 1);
}

static void
the_first_of_two_counts(void **state)
{
    (void)state;
    expect_name("name=a&name=b", "a");
    expect_name("name&name=b", "");
}

static void
keys_are_decoded_whole_and_case_sensitive(void **state)
{
    (void)state;
    expect_name("xname=bad&name=good", "good");
    expect_name("names=bad&nam=bad&name=good", "good");
    expect_name("NAME=x", NULL);
    expect_name("n%61me=x", "x");
    expect_name("n%6=x", NULL);
    expect("a+b=x", "a b", "x", 1);
    expect("a%00b=x&a=y", "a", "y", 1);
}

static void
a_long_run_of_broken_escapes_is_kept(void **state)
{
    enum { LENGTH = 60000 };
    char *text = malloc(LENGTH);
    (void)state;

    assert_non_null(text);
    memset(text, '%', LENGTH);
    assert_int_equal(query_decode(text, text, LENGTH), LENGTH);
    assert_int_equal(text[0], '%');
    assert_int_equal(text[LENGTH - 1], '%');
    free(text);
}

/* Whatever the bytes: no result is longer than the text, and pairs lie in order
 * inside it. A fixed seed, so that a failure comes again. */
static void
random_bytes_stay_inside(void **state)
{
    static const char alphabet[] = "%&=+aAfF09zZ;\0\xff";
    uint32_t seed = 1;
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char text[24];
        char decoded[24];
        size_t length = (size_t)round % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = alphabet[(seed >> 16) % sizeof alphabet];
        }
        const char *cursor = text;
        const char *before = text;
        struct query_pair pair;
        while (query_next(&cursor, text + length, &pair)) {
            assert_true(pair.key >= before && pair.value + pair.value_length <= text + length);
            assert_true(pair.value >= pair.key + pair.key_length && cursor > before);
            before = cursor;
        }
        assert_true(query_decode(decoded, text, length) <= length);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plus_is_a_space_and_escapes_are_bytes),
        cmocka_unit_test(broken_escapes_stay),
        cmocka_unit_test(pairs_are_split_at_ampersand_and_first_equals),
        cmocka_unit_test(the_first_of_two_counts),
        cmocka_unit_test(keys_are_decoded_whole_and_case_sensitive),
        cmocka_unit_test(a_long_run_of_broken_escapes_is_kept),
        cmocka_unit_test(random_bytes_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
