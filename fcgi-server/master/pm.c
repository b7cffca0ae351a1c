/* SPDX-License-Identifier: MIT */
#include "master/pm.h"
#include "config/config.h"

static uint32_t
least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t
pm_initial(const struct pm_limits *limits)
{
    switch (limits->kind) {
    case PM_STATIC:
        return limits->max_children;
    case PM_DYNAMIC:
        return least(limits->max_children, limits->start_servers > 0
                                               ? limits->start_servers
                                               : (limits->min_spare + limits->max_spare) / 2);
    default:
        return 0;
    }
}

/* Plans to start <wanted> children, as far as the limit allows, and reports the limit once. */
static void
start(const struct pm_limits *limits, const struct pm_view *view, struct pm_memory *memory,
      uint32_t wanted, struct pm_plan *plan)
{
    uint32_t room = view->total < limits->max_children ? limits->max_children - view->total : 0;
    plan->start = least(least(wanted, limits->spawn_rate), room);
    if (wanted > room && !memory->complained) {
        memory->complained = true;
        plan->at_limit = true;
    }
}

static struct pm_plan
decide_static(const struct pm_limits *limits, const struct pm_view *view)
{
    struct pm_plan plan = {0};
    if (view->total < limits->max_children)
        plan.start = limits->max_children - view->total;
    else
        plan.retire = view->total - limits->max_children;
    return plan;
}

static struct pm_plan
decide_dynamic(const struct pm_limits *limits, const struct pm_view *view, struct pm_memory *memory)
{
    struct pm_plan plan = {0};
    uint32_t spare = view->idle + view->starting;
    if (view->total > limits->max_children) {
        plan.retire = view->total - limits->max_children;
    } else if (spare < limits->min_spare) {
        if (memory->rate == 0)
            memory->rate = 1;
        start(limits, view, memory, least(memory->rate, limits->min_spare - spare), &plan);
        if (view->tick && memory->rate < limits->spawn_rate)
            memory->rate *= 2;
    } else if (view->tick) {
        memory->rate = 0;
        memory->complained = false;
        plan.retire = view->idle > limits->max_spare ? 1 : 0;
    }
    return plan;
}

static struct pm_plan
decide_ondemand(const struct pm_limits *limits, const struct pm_view *view,
                struct pm_memory *memory)
{
    struct pm_plan plan = {0};
    if (view->total > limits->max_children) {
        plan.retire = view->total - limits->max_children;
    } else if (view->demand && view->idle + view->starting == 0) {
        start(limits, view, memory, 1, &plan);
    } else if (view->tick && view->idle > 0) {
        memory->complained = false;
        plan.retire = view->longest_idle_ms >= limits->idle_timeout_ms ? 1 : 0;
    }
    return plan;
}

struct pm_plan
pm_decide(const struct pm_limits *limits, const struct pm_view *view, struct pm_memory *memory)
{
    switch (limits->kind) {
    case PM_STATIC:
        return decide_static(limits, view);
    case PM_DYNAMIC:
        return decide_dynamic(limits, view, memory);
    default:
        return decide_ondemand(limits, view, memory);
    }
}
