/* SPDX-License-Identifier: MIT */
#include "master/reaper.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "master/children.h"
#include "master/master_state.h"
#include "master/pool_size.h"
#include "master/reload.h"
#include "master/respawn.h"

#include <sys/wait.h>

static void
report_death(struct master *master, const struct child *child, int status)
{
    char how[64];
    int64_t now_ms = clock_ms();
    uint64_t requests = child->slot != NULL ? atomic_load(&child->slot->requests) : 0;
    /* Status 0 before any request is not an orderly end: a handler called exit(). */
    bool orderly = WIFEXITED(status) && WEXITSTATUS(status) == 0 && requests > 0;
    bool told = child->life >= LIFE_RETIRING;
    process_describe(status, how, sizeof how);
    if (orderly || (told && (status == 0 || child->life >= LIFE_STOPPING)))
        log_info("child %d %s after %.3f s, %llu requests", (int)child->pid, how,
                 (double)(now_ms - child->started_ms) / 1000, (unsigned long long)requests);
    else
        log_warn("child %d %s after %.3f s, %llu requests", (int)child->pid, how,
                 (double)(now_ms - child->started_ms) / 1000, (unsigned long long)requests);
    if (orderly && !told)
        board_count(&master->board.head->recycled);
    if (told || orderly || child->generation != master->children.generation)
        return;
    board_count(&master->board.head->restarts);
    if (respawn_death(&master->respawn, now_ms, child->started_ms, requests > 0,
                      master->limits.max_children) &&
        master->respawn.level > 1)
        log_warn("children die before they answer a request: waiting %lld ms before the next start",
                 (long long)(master->respawn.not_before_ms - now_ms));
}

void
reaper_run(struct master *master)
{
    int status;
    pid_t pid;
    while ((pid = process_reap(&status)) != 0) {
        struct child *child = children_find(&master->children, pid);
        if (child == NULL) {
            reload_ended(master, pid, status);
            continue;
        }
        report_death(master, child, status);
        children_bury(&master->children, child);
    }
    pool_size_adjust(master, false);
    reload_retry(master);
}
