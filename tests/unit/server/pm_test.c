/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/master/pm.c fcgi-server/master/respawn.c */
/* How many children there should be, and when dead ones are replaced. */
#include "config/config.h"
#include "master/pm.h"
#include "master/respawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct pm_limits dynamic = {PM_DYNAMIC, 10, 0, 2, 4, 32, 0};
static const struct pm_limits ondemand = {PM_ONDEMAND, 3, 0, 1, 1, 32, 10000};

static void
static_keeps_the_number(void **state)
{
    const struct pm_limits limits = {PM_STATIC, 4, 0, 0, 0, 32, 0};
    struct pm_memory memory = {0};
    (void)state;
    assert_int_equal(pm_initial(&limits), 4);
    struct pm_view view = {.total = 1, .idle = 1};
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 3);
    view.total = 6;
    assert_int_equal(pm_decide(&limits, &view, &memory).retire, 2);
    view.total = 4;
    struct pm_plan plan = pm_decide(&limits, &view, &memory);
    assert_int_equal(plan.start + plan.retire, 0);
}

static void
dynamic_starts_between_the_spares(void **state)
{
    struct pm_limits limits = dynamic;
    (void)state;
    assert_int_equal(pm_initial(&limits), 3);
    limits.start_servers = 7;
    assert_int_equal(pm_initial(&limits), 7);
    limits.max_children = 5;
    assert_int_equal(pm_initial(&limits), 5);
}

static void
dynamic_doubles_while_it_lacks(void **state)
{
    struct pm_limits limits = dynamic;
    struct pm_memory memory = {0};
    (void)state;
    limits.min_spare = 8;
    limits.max_spare = 9;
    limits.max_children = 100;
    struct pm_view view = {.total = 20, .tick = true};
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 1);
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 2);
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 4);
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 8);
    view.idle = 8;
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 0);
    view.idle = 0;
    assert_int_equal(pm_decide(&limits, &view, &memory).start, 1);
}

static void
dynamic_never_exceeds_the_spawn_rate(void **state)
{
    struct pm_limits limits = dynamic;
    struct pm_memory memory = {0};
    (void)state;
    limits = (struct pm_limits){PM_DYNAMIC, 1000, 0, 500, 600, 4, 0};
    struct pm_view view = {.total = 1, .tick = true};
    for (int tick = 0; tick < 8; tick++)
        assert_true(pm_decide(&limits, &view, &memory).start <= 4);
}

static void
dynamic_counts_starting_children_as_spare(void **state)
{
    struct pm_memory memory = {0};
    struct pm_view view = {.total = 4, .starting = 2};
    (void)state;
    assert_int_equal(pm_decide(&dynamic, &view, &memory).start, 0);
}

static void
dynamic_reports_the_limit_once(void **state)
{
    struct pm_memory memory = {0};
    struct pm_view view = {.total = 10, .tick = true};
    (void)state;
    assert_true(pm_decide(&dynamic, &view, &memory).at_limit);
    assert_false(pm_decide(&dynamic, &view, &memory).at_limit);
    view.idle = 3;
    pm_decide(&dynamic, &view, &memory);
    view.idle = 0;
    assert_true(pm_decide(&dynamic, &view, &memory).at_limit);
}

static void
dynamic_retires_one_a_second(void **state)
{
    struct pm_memory memory = {0};
    struct pm_view view = {.total = 9, .idle = 9, .tick = true};
    (void)state;
    assert_int_equal(pm_decide(&dynamic, &view, &memory).retire, 1);
    view.tick = false;
    assert_int_equal(pm_decide(&dynamic, &view, &memory).retire, 0);
}

static void
ondemand_starts_for_waiting_work_only(void **state)
{
    struct pm_memory memory = {0};
    struct pm_view view = {.tick = true};
    (void)state;
    assert_int_equal(pm_initial(&ondemand), 0);
    assert_int_equal(pm_decide(&ondemand, &view, &memory).start, 0);
    view.demand = true;
    assert_int_equal(pm_decide(&ondemand, &view, &memory).start, 1);
    view.total = view.starting = 1;
    assert_int_equal(pm_decide(&ondemand, &view, &memory).start, 0);
    view.starting = 0;
    assert_int_equal(pm_decide(&ondemand, &view, &memory).start, 1);
    view.total = 3;
    struct pm_plan plan = pm_decide(&ondemand, &view, &memory);
    assert_int_equal(plan.start, 0);
    assert_true(plan.at_limit);
}

static void
ondemand_retires_after_the_idle_time(void **state)
{
    struct pm_memory memory = {0};
    struct pm_view view = {.total = 1, .idle = 1, .tick = true, .longest_idle_ms = 9999};
    (void)state;
    assert_int_equal(pm_decide(&ondemand, &view, &memory).retire, 0);
    view.longest_idle_ms = 10000;
    assert_int_equal(pm_decide(&ondemand, &view, &memory).retire, 1);
}

/* --- respawn ------------------------------------------------------------------------------- */

static void
useful_children_are_replaced_at_once(void **state)
{
    struct respawn respawn = {0};
    (void)state;
    assert_false(respawn_death(&respawn, 100000, 99000, true, 4));
    assert_int_equal(respawn_allowed(&respawn, 100000, 1, 0), 1);
}

static void
but_not_more_often_than_there_are_places(void **state)
{
    struct respawn respawn = {0};
    (void)state;
    for (int death = 0; death < 4; death++)
        respawn_death(&respawn, 100000 + death, 99000, true, 4);
    assert_int_equal(respawn_allowed(&respawn, 100010, 1, 0), 1);
    respawn_death(&respawn, 100010, 99000, true, 4);
    assert_int_equal(respawn_allowed(&respawn, 100011, 1, 0), 0);
    assert_int_equal(respawn_allowed(&respawn, 101000, 5, 0), 5);
}

static void
many_deaths_at_once_are_one_wave(void **state)
{
    struct respawn respawn = {0};
    (void)state;
    assert_true(respawn_death(&respawn, 1000, 500, false, 4));
    assert_false(respawn_death(&respawn, 1000, 500, false, 4));
    assert_false(respawn_death(&respawn, 1001, 500, false, 4));
    assert_int_equal(respawn.level, 1);
    assert_int_equal(respawn_allowed(&respawn, 1099, 4, 0), 0);
    assert_int_equal(respawn_allowed(&respawn, 1100, 4, 0), 4);
}

/* Children that die 200 ms after their start, for ten seconds. */
static void
a_crash_loop_is_slow_and_goes_on(void **state)
{
    struct respawn respawn = {0};
    int64_t started[4] = {0};
    uint32_t alive = 4;
    int starts = 0;
    int late_starts = 0;
    (void)state;
    for (int64_t now = 0; now < 60000; now += 10) {
        for (int i = 0; i < 4; i++) {
            if (started[i] >= 0 && now - started[i] >= 200) {
                respawn_death(&respawn, now, started[i], false, 4);
                started[i] = -1;
                alive--;
            }
        }
        uint32_t allowed = respawn_allowed(&respawn, now, 4 - alive, alive);
        for (int i = 0; i < 4 && allowed > 0; i++) {
            if (started[i] != -1)
                continue;
            started[i] = now;
            alive++;
            allowed--;
            starts += now < 10000;
            late_starts += now >= 50000;
        }
    }
    assert_in_range(starts, 4, 12);
    assert_in_range(late_starts, 1, 3);
}

static void
one_goes_ahead_until_it_has_proved_itself(void **state)
{
    struct respawn respawn = {0};
    (void)state;
    respawn_death(&respawn, 1000, 900, false, 4);
    respawn_death(&respawn, 1300, 1100, false, 4);
    assert_int_equal(respawn.level, 2);
    assert_int_equal(respawn_allowed(&respawn, 1500, 4, 0), 1);
    assert_int_equal(respawn_allowed(&respawn, 1510, 3, 1), 0);
    respawn_proof(&respawn, 2510, 1500, false);
    assert_int_equal(respawn_allowed(&respawn, 2510, 3, 1), 3);
    respawn_proof(&respawn, 1300 + RESPAWN_FORGET_MS, 1500, true);
    assert_int_equal(respawn.level, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_keeps_the_number),
        cmocka_unit_test(dynamic_starts_between_the_spares),
        cmocka_unit_test(dynamic_doubles_while_it_lacks),
        cmocka_unit_test(dynamic_never_exceeds_the_spawn_rate),
        cmocka_unit_test(dynamic_counts_starting_children_as_spare),
        cmocka_unit_test(dynamic_reports_the_limit_once),
        cmocka_unit_test(dynamic_retires_one_a_second),
        cmocka_unit_test(ondemand_starts_for_waiting_work_only),
        cmocka_unit_test(ondemand_retires_after_the_idle_time),
        cmocka_unit_test(useful_children_are_replaced_at_once),
        cmocka_unit_test(but_not_more_often_than_there_are_places),
        cmocka_unit_test(many_deaths_at_once_are_one_wave),
        cmocka_unit_test(a_crash_loop_is_slow_and_goes_on),
        cmocka_unit_test(one_goes_ahead_until_it_has_proved_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
