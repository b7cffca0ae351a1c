/* SPDX-License-Identifier: MIT */
#include "master/pool_size.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "master/children.h"
#include "master/master_state.h"
#include "master/respawn.h"

#include <errno.h>
#include <string.h>

/* Idle for the process manager means: takes more work. */
static bool
takes_work(const struct child *child)
{
    uint32_t state = atomic_load_explicit(&child->slot->state, memory_order_relaxed);
    return child->life == LIFE_SERVING && (state == BOARD_IDLE || state == BOARD_WAITING);
}

static struct child *
longest_idle(struct master *master)
{
    struct child *longest = NULL;
    int64_t since_ns = INT64_MAX;
    for (uint32_t i = 0; i < master->children.capacity; i++) {
        struct child *child = &master->children.table[i];
        if (!children_current(&master->children, child) || !takes_work(child))
            continue;
        int64_t start_ns = atomic_load_explicit(&child->slot->state_since_ns, memory_order_relaxed);
        if (start_ns < since_ns) {
            since_ns = start_ns;
            longest = child;
        }
    }
    return longest;
}

struct pm_view
pool_size_view(struct master *master)
{
    struct pm_view view = {.demand = master->demand};
    for (uint32_t i = 0; i < master->children.capacity; i++) {
        const struct child *child = &master->children.table[i];
        if (!children_current(&master->children, child))
            continue;
        view.total++;
        view.starting += child->life == LIFE_STARTING;
        view.idle += takes_work(child);
    }
    return view;
}

static void
start_children(struct master *master, uint32_t wanted)
{
    int64_t now_ms = clock_ms();
    uint32_t unproved = 0;
    for (uint32_t i = 0; i < master->children.capacity; i++) {
        const struct child *child = &master->children.table[i];
        unproved += children_current(&master->children, child) &&
                    child->started_ms >= master->respawn.wave_ms &&
                    atomic_load(&child->slot->requests) == 0;
    }
    uint32_t allowed = respawn_allowed(&master->respawn, now_ms, wanted, unproved);
    for (uint32_t i = 0; i < allowed; i++) {
        if (children_start(&master->children) != NULL)
            continue;
        log_error("cannot start a child: %s; next attempt in a second", strerror(errno));
        master->respawn.not_before_ms = now_ms + 1000;
        return;
    }
}

static void
retire_children(struct master *master, uint32_t count)
{
    for (; count > 0; count--) {
        struct child *child = longest_idle(master);
        for (uint32_t i = 0; child == NULL && i < master->children.capacity; i++)
            if (children_current(&master->children, &master->children.table[i]))
                child = &master->children.table[i];
        if (child == NULL)
            return;
        /* The last child has no other child to give its connections to. */
        bool last = pool_size_view(master).total == 1;
        children_order(&master->children, child, last ? LIFE_CLOSING : LIFE_RETIRING);
    }
}

void
pool_size_adjust(struct master *master, bool tick)
{
    if (master->stage != STAGE_RUNNING)
        return;
    struct pm_view view = pool_size_view(master);
    struct child *idle = tick && master->limits.kind == PM_ONDEMAND ? longest_idle(master) : NULL;
    view.tick = tick;
    if (idle != NULL)
        view.longest_idle_ms = (clock_ns() - atomic_load(&idle->slot->state_since_ns)) / 1000000;
    if (!master->begun) { /* the first children, whatever the kind */
        uint32_t initial = pm_initial(&master->limits);
        if (view.total < initial)
            start_children(master, initial - view.total);
        return;
    }
    struct pm_plan plan = pm_decide(&master->limits, &view, &master->memory);
    if (plan.at_limit) {
        log_warn("all %u children are busy and connections are waiting: children (max_children) "
                 "may be too low",
                 master->limits.max_children);
        board_count(&master->board.head->max_children_reached);
    }
    if (plan.start > 0)
        start_children(master, plan.start);
    if (plan.retire > 0)
        retire_children(master, plan.retire);
}
