/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/load/histogram.c */
/* The histogram keeps every value within 0.1 %, merges exactly, and gives the percentiles that a
 * sorted list would give, within a slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/histogram.h"

static struct histogram *
new_histogram(void)
{
    struct histogram *h = calloc(1, sizeof(*h));
    assert_non_null(h);
    return h;
}

static void
slots_cover_the_range_without_gaps(void **state)
{
    (void)state;
    for (size_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
        uint64_t low = histogram_slot_low(slot), high = histogram_slot_high(slot);
        assert_int_equal(histogram_slot(low), slot);
        assert_int_equal(histogram_slot(high), slot);
        assert_true(high >= low);
        assert_true((double)(high - low) <= (double)low / 1024);
        if (slot > 0)
            assert_int_equal(low, histogram_slot_high(slot - 1) + 1);
    }
    assert_int_equal(histogram_slot_high(HISTOGRAM_SLOTS - 1),
                     (UINT64_C(1) << HISTOGRAM_MAX_BITS) - 1);
}

static void
values_beyond_the_range_are_kept_in_the_last_slot(void **state)
{
    (void)state;
    struct histogram *h = new_histogram();
    histogram_record(h, UINT64_MAX / 2);
    assert_int_equal(histogram_count(h), 1);
    assert_int_equal(histogram_max(h), UINT64_MAX / 2);
    assert_int_equal(histogram_quantile(h, 0.5), UINT64_MAX / 2);
    free(h);
}

static void
an_empty_one_says_zero(void **state)
{
    (void)state;
    struct histogram *h = new_histogram();
    assert_int_equal(histogram_quantile(h, 0.99), 0);
    assert_int_equal(histogram_min(h), 0);
    assert_int_equal(histogram_max(h), 0);
    assert_true(histogram_mean(h) == 0 && histogram_stdev(h) == 0);
    assert_false(histogram_knows(h, 0.5));
    free(h);
}

static int
by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Log-uniform values from 10 ns to 100 s, always the same ones. */
static void
fill(uint64_t *values, size_t count)
{
    uint64_t seed = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        values[i] = (uint64_t)(10 * pow(10, (double)(seed % 100000) / 10000));
    }
}

enum { COUNT = 20000 };
static uint64_t values[COUNT];

static void
percentiles_are_those_of_the_sorted_list_within_a_slot(void **state)
{
    (void)state;
    struct histogram *h = new_histogram();
    fill(values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        histogram_record(h, values[i]);
    qsort(values, COUNT, sizeof(values[0]), by_value);
    static const double quantiles[] = {0, .25, .5, .75, .9, .95, .99, .999, .9999, 1};
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        size_t rank = (size_t)ceil(quantiles[i] * COUNT);
        uint64_t exact = values[rank > 0 ? rank - 1 : 0];
        uint64_t found = histogram_quantile(h, quantiles[i]);
        assert_true(found >= exact);
        assert_true((double)(found - exact) <= (double)exact * 0.001);
    }
    assert_int_equal(histogram_min(h), values[0]);
    assert_int_equal(histogram_max(h), values[COUNT - 1]);
    free(h);
}

static void
mean_is_exact_and_stdev_within_a_thousandth(void **state)
{
    (void)state;
    struct histogram *h = new_histogram();
    double sum = 0, squares = 0;
    fill(values, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        histogram_record(h, values[i]);
        sum += (double)values[i];
    }
    for (size_t i = 0; i < COUNT; i++)
        squares += pow((double)values[i] - sum / COUNT, 2);
    double stdev = sqrt(squares / COUNT);
    assert_true(fabs(histogram_mean(h) - sum / COUNT) < 1);
    assert_true(fabs(histogram_stdev(h) - stdev) < stdev / 1000);
    free(h);
}

static void
merging_parts_equals_recording_all(void **state)
{
    (void)state;
    struct histogram *whole = new_histogram(), *part[3];
    fill(values, COUNT);
    for (size_t k = 0; k < 3; k++)
        part[k] = new_histogram();
    for (size_t i = 0; i < COUNT; i++) {
        histogram_record(whole, values[i]);
        histogram_record(part[i % 3], values[i]);
    }
    histogram_add(part[0], part[1]);
    histogram_add(part[0], part[2]);
    assert_memory_equal(part[0], whole, sizeof(*whole));
    for (size_t k = 0; k < 3; k++)
        free(part[k]);
    free(whole);
}

static void
a_difference_holds_what_came_between(void **state)
{
    (void)state;
    struct histogram *before = new_histogram(), *now = new_histogram(), *d = new_histogram();
    histogram_record(before, 5);
    histogram_record(now, 5);
    histogram_record(now, 700);
    histogram_record(now, 900);
    histogram_subtract(d, now, before);
    assert_int_equal(histogram_count(d), 2);
    assert_int_equal(histogram_min(d), 700);
    assert_int_equal(histogram_max(d), 900);
    assert_int_equal(histogram_quantile(d, 0.5), 700);
    free(before);
    free(now);
    free(d);
}

static void
a_percentile_needs_ten_values_above_it(void **state)
{
    (void)state;
    struct histogram *h = new_histogram();
    for (int i = 0; i < 999; i++)
        histogram_record(h, 1000);
    assert_false(histogram_knows(h, 0.99));
    histogram_record(h, 1000);
    assert_true(histogram_knows(h, 0.99));
    assert_false(histogram_knows(h, 0.999));
    free(h);
}

/* The estimate of Kaplan and Meier, by hand: of five, one is cut off at 25. Of its fifth, half
 * goes to 30 and half to 40. */
static void
what_was_cut_off_counts_as_one_of_the_longer_ones(void **state)
{
    (void)state;
    struct histogram *h = calloc(1, sizeof(*h)), *cut = calloc(1, sizeof(*cut));
    struct histogram_bounds bounds = {0};
    for (uint64_t value = 10; value <= 40; value += 10)
        histogram_record_many(h, value, 1000);
    histogram_record_many(cut, 25, 1000);
    histogram_add_cut(h, cut, &bounds);
    assert_int_equal(histogram_count(h), 5000);
    assert_int_equal(counter_get(&h->slot[25]), 0);
    assert_int_equal(counter_get(&h->slot[30]), 1500);
    assert_int_equal(counter_get(&h->slot[40]), 1500);
    assert_int_equal(histogram_quantile(h, 0.4), 20);
    assert_int_equal(histogram_quantile(h, 0.7), 30);
    assert_int_equal(histogram_quantile(h, 0.71), 40);
    assert_true(histogram_mean(h) == (10 + 20 + 1.5 * 30 + 1.5 * 40) / 5);
    assert_int_equal(bounds.count, 0);
    free(h);
    free(cut);
}

static void
what_outlasted_all_counts_with_its_age(void **state)
{
    (void)state;
    struct histogram *h = calloc(1, sizeof(*h)), *cut = calloc(1, sizeof(*cut));
    struct histogram_bounds bounds = {0};
    histogram_record_many(h, 10, 90);
    for (uint64_t i = 0; i < 10; i++)
        histogram_record(cut, 100 + i);
    histogram_add_cut(h, cut, &bounds);
    assert_int_equal(histogram_quantile(h, 0.90), 10);
    assert_int_equal(histogram_quantile(h, 0.95), 104);
    assert_int_equal(histogram_max(h), 109);
    assert_int_equal(bounds.count, 10);
    assert_true(bounds.sum_ns == 1045);
    free(h);
    free(cut);
}

/* Ages below every whole time say nothing, whatever their number. */
static void
young_ages_change_no_percentile(void **state)
{
    (void)state;
    struct histogram *h = calloc(1, sizeof(*h)), *cut = calloc(1, sizeof(*cut));
    struct histogram_bounds bounds = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        histogram_record(h, 1000 + i);
        histogram_record_many(cut, i, 7);
    }
    histogram_add_cut(h, cut, &bounds);
    assert_int_equal(histogram_count(h), 8000);
    assert_int_equal(histogram_min(h), 1000);
    for (int p = 1; p < 100; p++)
        assert_in_range(histogram_quantile(h, p / 100.0), 1000 + (uint64_t)p * 10 - 3,
                        1000 + (uint64_t)p * 10 + 3);
    free(h);
    free(cut);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_cover_the_range_without_gaps),
        cmocka_unit_test(values_beyond_the_range_are_kept_in_the_last_slot),
        cmocka_unit_test(an_empty_one_says_zero),
        cmocka_unit_test(percentiles_are_those_of_the_sorted_list_within_a_slot),
        cmocka_unit_test(mean_is_exact_and_stdev_within_a_thousandth),
        cmocka_unit_test(merging_parts_equals_recording_all),
        cmocka_unit_test(a_difference_holds_what_came_between),
        cmocka_unit_test(a_percentile_needs_ten_values_above_it),
        cmocka_unit_test(what_was_cut_off_counts_as_one_of_the_longer_ones),
        cmocka_unit_test(what_outlasted_all_counts_with_its_age),
        cmocka_unit_test(young_ages_change_no_percentile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
