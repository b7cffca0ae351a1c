/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/protocol/digest.c */
/* A digest tells bodies apart, however they arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "protocol/digest.h"

static void
a_digest_depends_on_the_bytes_and_not_on_the_cuts(void **state)
{
    (void)state;
    char bytes[100];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37);
    struct digest whole = {0};
    digest_add(&whole, bytes, sizeof(bytes));
    for (size_t a = 0; a <= sizeof(bytes); a++) {
        for (size_t b = a; b <= sizeof(bytes); b++) {
            struct digest d = {0};
            digest_add(&d, bytes, a);
            digest_add(&d, bytes + a, b - a);
            digest_add(&d, bytes + b, sizeof(bytes) - b);
            assert_int_equal(digest_value(&d), digest_value(&whole));
        }
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        struct digest d = {0};
        bytes[i] ^= 1;
        digest_add(&d, bytes, sizeof(bytes));
        bytes[i] ^= 1;
        assert_int_not_equal(digest_value(&d), digest_value(&whole));
    }
    struct digest shorter = {0}, zeros = {0}, nothing = {0};
    digest_add(&shorter, bytes, sizeof(bytes) - 1);
    digest_add(&zeros, "\0", 1);
    assert_int_not_equal(digest_value(&shorter), digest_value(&whole));
    assert_int_not_equal(digest_value(&zeros), digest_value(&nothing));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_depends_on_the_bytes_and_not_on_the_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
