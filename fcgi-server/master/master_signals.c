/* SPDX-License-Identifier: MIT */
#include "master/master_signals.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process_title.h"
#include "base/signals.h"
#include "config/config.h"
#include "master/children.h"
#include "master/master_state.h"
#include "master/notify.h"
#include "master/pool_size.h"
#include "master/reaper.h"
#include "master/reload.h"
#include "status/child_logs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static void
stop(struct master *master, enum stage stage)
{
    static const char *const words[] = {
        [STAGE_GRACEFUL] = "stopping after all requests that have arrived",
        [STAGE_STOPPING] = "stopping; requests have stop_timeout to finish",
        [STAGE_KILLING] = "stopping at once",
    };
    if (stage <= master->stage)
        stage = STAGE_KILLING;
    master->stage = stage;
    log_notice("%s", words[stage]);
    notify_systemd("STOPPING=1\nSTATUS=%s", words[stage]);
    process_title_set("master, stopping");
    master->children.no_deadline = stage == STAGE_GRACEFUL;
    if (stage == STAGE_STOPPING) { /* stop_timeout starts now, also after a graceful stop */
        for (uint32_t i = 0; i < master->children.capacity; i++) {
            struct child *child = &master->children.table[i];
            if (child->life == LIFE_CLOSING)
                child->deadline_ms = clock_ms() + (int64_t)master->config->stop_timeout_ms;
        }
    }
    children_order_all(&master->children, stage == STAGE_KILLING ? LIFE_KILLED : LIFE_CLOSING);
}

static void
on_stop(struct master *master, int number)
{
    stop(master, number == SIGQUIT ? STAGE_GRACEFUL : STAGE_STOPPING);
}

static void
on_reload(struct master *master, int number)
{
    if (master->stage == STAGE_RUNNING)
        reload_begin(master, number == SIGUSR2);
}

static void
on_reopen(struct master *master, int number)
{
    char error[512];
    (void)number;
    if (log_reopen(error, sizeof error) == -1)
        log_error("%s; continuing with the old log", error);
    if (child_logs_reopen(error, sizeof error) == -1)
        log_error("%s; continuing with the old log", error);
    children_hand_logs(&master->children, true);
    log_notice("reopened the logs");
}

static void
on_resize(struct master *master, int number)
{
    struct pm_limits *limits = &master->limits;
    uint32_t most = master->children.capacity - PLACES_EXTRA;
    if (number == SIGTTIN && limits->max_children < most)
        limits->max_children++;
    else if (number == SIGTTOU && limits->max_children > 1)
        limits->max_children--;
    atomic_store(&master->board.head->max_children, limits->max_children);
    log_notice("limit is now %u children, until the next reload", limits->max_children);
    pool_size_adjust(master, false);
}

static void
on_child(struct master *master, int number)
{
    (void)number;
    reaper_run(master);
}

static const struct {
    int number;
    void (*act)(struct master *master, int number);
} reactions[] = {
    {SIGCHLD, on_child},  {SIGTERM, on_stop},   {SIGINT, on_stop},
    {SIGQUIT, on_stop},   {SIGHUP, on_reload},  {SIGUSR2, on_reload},
    {SIGUSR1, on_reopen}, {SIGTTIN, on_resize}, {SIGTTOU, on_resize},
};

#define REACTION_COUNT (sizeof reactions / sizeof *reactions)

int
master_signals_open(void)
{
    int numbers[REACTION_COUNT];
    for (size_t i = 0; i < REACTION_COUNT; i++)
        numbers[i] = reactions[i].number;
    return signals_open(numbers, REACTION_COUNT);
}

void
master_signals_read(struct master *master)
{
    int number;
    while ((number = signals_read(master->signal_fd)) != 0) {
        if (number != SIGCHLD)
            log_info("received SIG%s", signals_name(number));
        for (size_t i = 0; i < REACTION_COUNT; i++)
            if (reactions[i].number == number)
                reactions[i].act(master, number);
    }
}
