/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/engine/event/timers.c fcgi-server/request/arena.c */
/* Deadlines come out in order whatever is set again or taken out; an arena keeps its
 * limit and its first block. */
#include "engine/event/timers.h"
#include "request/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
deadlines_come_in_order(void **state)
{
    static struct timer timer[1000];
    struct timers timers = {0};
    uint32_t seed = 1;
    (void)state;
    memset(timer, 0, sizeof timer);
    for (int round = 0; round < 20000; round++) {
        seed = seed * 1664525 + 1013904223;
        struct timer *one = &timer[seed >> 8 & 0x3ff ? (seed >> 8) % 1000 : 0];
        if (seed >> 28 < 4) {
            timers_clear(&timers, one);
            assert_int_equal(one->place, 0);
        } else {
            assert_int_equal(timers_set(&timers, one, seed & 0xffff), 0);
        }
    }
    int64_t last = 0;
    struct timer *first;
    size_t left = timers.count;
    while ((first = timers_first(&timers)) != NULL) {
        assert_true(first->at_ns >= last);
        last = first->at_ns;
        timers_clear(&timers, first);
        left--;
    }
    assert_int_equal(left, 0);
    timers_free(&timers);
}

static void
an_arena_keeps_its_limit(void **state)
{
    struct arena arena;
    size_t total = 0;
    (void)state;
    arena_init(&arena, 100000);
    assert_null(arena_alloc(&arena, 100001));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    while (arena_alloc(&arena, 1000) != NULL)
        total += 1000;
    assert_true(total > 80000 && total <= 100000);
    arena_free(&arena);
}

static void
an_arena_gives_the_same_memory_again(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena, 1 << 20);
    char *first = arena_alloc(&arena, 1);
    for (int i = 0; i < 100; i++) {
        char *memory = arena_alloc(&arena, 777);
        assert_int_equal((uintptr_t)memory % 16, 0);
        memset(memory, i, 777);
    }
    arena_reset(&arena);
    assert_ptr_equal(arena_alloc(&arena, 1), first);
    arena_free(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_come_in_order),
        cmocka_unit_test(an_arena_keeps_its_limit),
        cmocka_unit_test(an_arena_gives_the_same_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
