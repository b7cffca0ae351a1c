/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/status/board.c */
/* Slots, counters, the histogram and the guarded text of the scoreboard. */
#include "status/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct board board;

static int
set_up(void **state)
{
    (void)state;
    return board_open(&board, 3, -1);
}

static void
slots_are_taken_and_released(void **state)
{
    struct board_slot *slot[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        slot[i] = board_take(&board);
        assert_non_null(slot[i]);
        assert_int_equal(slot[i]->state, BOARD_STARTING);
    }
    assert_null(board_take(&board));
    board_count(&slot[1]->aborted);
    board_release(&board, slot[1]);
    assert_int_equal(board.head->retired.aborted, 1);
    assert_ptr_equal(board_take(&board), slot[1]);
    assert_int_equal(slot[1]->aborted, 0);
    for (int i = 0; i < 3; i++)
        board_release(&board, slot[i]);
}

static void
latencies_fall_into_their_buckets(void **state)
{
    static const struct {
        int64_t latency_us;
        int bucket;
    } rows[] = {{0, 0}, {1, 1},     {2, 2},     {3, 2},
                {4, 3}, {1023, 10}, {1024, 11}, {INT64_C(1) << 50, BOARD_BUCKETS - 1},
                {-5, 0}};
    struct board_slot *slot = board_take(&board);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t before = slot->latency[rows[i].bucket];
        board_request_begin(slot, 1000000, "GET", "/", 1, "x", 0);
        assert_int_equal(slot->in_flight, 1);
        board_request_end(slot, 1000000 + rows[i].latency_us * 1000, 1000000, i == 0 ? 500 : 200);
        assert_int_equal(slot->latency[rows[i].bucket], before + 1);
    }
    assert_int_equal(slot->requests, sizeof rows / sizeof *rows);
    assert_int_equal(slot->failed, 1);
    assert_int_equal(slot->in_flight, 0);
    board_release(&board, slot);
}

static void
texts_are_bounded_and_harmless(void **state)
{
    struct board_request request;
    char uri[1000];
    struct board_slot *slot = board_take(&board);
    (void)state;
    memset(uri, 'a', sizeof uri);
    memcpy(uri, "/\"\\\n\x80", 5);
    board_request_begin(slot, 1, "A-METHOD-THAT-IS-TOO-LONG", uri, sizeof uri, NULL, 42);
    assert_true(board_text(slot, &request));
    assert_int_equal(strlen(request.uri), BOARD_URI_SIZE - 1);
    assert_memory_equal(request.uri, "/????a", 6);
    assert_string_equal(request.method, "A-METHOD-THAT-I");
    assert_string_equal(request.handler, "");
    assert_int_equal(request.content_length, 42);
    board_error(slot, "failed: \"x\"");
    assert_true(board_text(slot, &request));
    assert_string_equal(request.error, "failed: ?x?");
    slot->sequence++; /* a writer that died in the middle */
    assert_false(board_text(slot, &request));
    assert_string_equal(request.uri, "");
    board_release(&board, slot);
}

/* A reader never sees half of one text and half of another. */
static void
texts_are_never_torn(void **state)
{
    struct board_slot *slot = board_take(&board);
    char one[200];
    char two[200];
    int seen = 0;
    (void)state;
    memset(one, '1', sizeof one);
    memset(two, '2', sizeof two);
    pid_t writer = fork();
    if (writer == 0) {
        for (int i = 0; i < 200000; i++)
            board_request_begin(slot, 1, "GET", i % 2 ? one : two, sizeof one, "h", 0);
        _exit(0);
    }
    while (waitpid(writer, NULL, WNOHANG) == 0) {
        struct board_request request;
        if (!board_text(slot, &request) || request.uri[0] == '\0')
            continue;
        seen++;
        assert_int_equal(strspn(request.uri, (char[]){request.uri[0], '\0'}), sizeof one);
    }
    assert_true(seen > 0);
    board_release(&board, slot);
}

static void
a_board_is_taken_over_if_it_fits(void **state)
{
    struct board same;
    struct board larger;
    (void)state;
    assert_int_equal(board_open(&same, 2, board.fd), 0);
    assert_int_equal(same.fd, board.fd);
    same.head->reloads = 7;
    assert_int_equal(board.head->reloads, 7);
    assert_int_equal(board_open(&larger, 100, board.fd), 0);
    assert_int_not_equal(larger.fd, board.fd);
    assert_int_equal(larger.head->slots, 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_taken_and_released),
        cmocka_unit_test(latencies_fall_into_their_buckets),
        cmocka_unit_test(texts_are_bounded_and_harmless),
        cmocka_unit_test(texts_are_never_torn),
        cmocka_unit_test(a_board_is_taken_over_if_it_fits),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
