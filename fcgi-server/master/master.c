/* SPDX-License-Identifier: MIT */
#include "master/master.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "base/process_title.h"
#include "child/heritage.h"
#include "config/config.h"
#include "master/children.h"
#include "master/control.h"
#include "master/master_signals.h"
#include "master/master_state.h"
#include "master/notify.h"
#include "master/pid_file.h"
#include "master/pm.h"
#include "master/pool_size.h"
#include "master/reload.h"
#include "master/respawn.h"
#include "master/standby.h"
#include "master/succession.h"
#include "status/child_logs.h"
#include "status/listen_queue.h"
#include "status/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define FLUSH_MS       10 /* how often kept log lines are written to a slow reader */
#define DEMAND_REST_MS 20 /* how soon waiting work may wake the master again */
#define MEMORY_CHECKS  16 /* children whose memory is checked in one second */

/* Tells the starter once all the first children of this configuration serve. */
static void
check_begun(struct master *master)
{
    struct pm_view view = pool_size_view(master);
    if (master->begun || view.starting > 0 || view.total < pm_initial(&master->limits))
        return;
    master->begun = true;
    children_order_old(&master->children, LIFE_RETIRING, UINT32_MAX);
    notify_ready_fd(master->ready_fd);
    master->ready_fd = -1;
    notify_systemd("READY=1\nSTATUS=%u children serve %s", view.total, master->listener->name);
    log_notice("ready: %u children serve %s", view.total, master->listener->name);
    reload_retry(master);
}

/* --- notices from children
 * ------------------------------------------------------------------------ */

static void
on_notice(struct master *master)
{
    struct child_notice notice;
    while (read(master->children.channels.notice[0], &notice, sizeof notice) ==
           (ssize_t)sizeof notice) {
        struct child *child = children_find(&master->children, notice.pid);
        if (child == NULL)
            continue;
        if (notice.kind == NOTICE_READY && child->life == LIFE_STARTING) {
            child->life = LIFE_SERVING;
            if (!master->begun && children_current(&master->children, child))
                children_order_old(&master->children, LIFE_RETIRING, 1);
        } else if (notice.kind == NOTICE_RETIRING) {
            if (child->life < LIFE_RETIRING)
                board_count(&master->board.head->recycled);
            children_order(&master->children, child, LIFE_RETIRING);
        } else if (notice.kind == NOTICE_LOG_GONE) {
            master->log_gone = true;
        }
    }
    check_begun(master);
    pool_size_adjust(master, false); /* a retiring child may take long: start its successor now */
}

/* --- every second ---------------------------------------------------------------------------- */

static void
check_memory(struct master *master)
{
    struct children *children = &master->children;
    if (master->config->memory_limit == 0)
        return;
    for (uint32_t checks = 0; checks < MEMORY_CHECKS && checks < children->capacity; checks++) {
        struct child *child = &children->table[master->memory_turn++ % children->capacity];
        if (!children_current(children, child) || child->life != LIFE_SERVING)
            continue;
        long kib = process_private_kib(child->pid);
        if (kib < 0 && !master->memory_unknown) {
            master->memory_unknown = true;
            log_warn("memory_limit has no effect: cannot read /proc/%d/smaps_rollup: %s",
                     (int)child->pid, strerror(errno));
        }
        if (kib < 0 || (uint64_t)kib * 1024 <= master->config->memory_limit)
            continue;
        log_notice("child %d uses %ld KiB of private memory, more than memory_limit: replacing it",
                   (int)child->pid, kib);
        board_count(&master->board.head->recycled);
        children_order(children, child, LIFE_RETIRING);
    }
}

static void
take_samples(struct master *master)
{
    struct board_head *head = master->board.head;
    int64_t now_ms = clock_ms();
    uint32_t active = 0;
    for (uint32_t i = 0; i < master->children.capacity; i++) {
        const struct child *child = &master->children.table[i];
        if (!children_current(&master->children, child) || child->life != LIFE_SERVING)
            continue;
        active += atomic_load(&child->slot->in_flight) > 0;
        respawn_proof(&master->respawn, now_ms, child->started_ms,
                      atomic_load(&child->slot->requests) > 0);
    }
    int64_t queue = listen_queue_length(master->listener->fd);
    if (queue > 0 && (uint64_t)queue > atomic_load(&head->max_listen_queue))
        atomic_store(&head->max_listen_queue, (uint64_t)queue);
    if (active > atomic_load(&head->max_active))
        atomic_store(&head->max_active, active);
}

/* Logs nothing: the child that lost lines has reported it. */
static void
look_after_logs(struct master *master)
{
    char ignored[256];
    if (master->log_gone)
        child_logs_reopen(ignored, sizeof ignored);
    children_hand_logs(&master->children, master->log_gone);
    master->log_gone = false;
    atomic_store(&master->board.head->log_lost, log_lost());
}

static void
look_after_socket(struct master *master)
{
    bool present = listener_present(master->listener);
    if (!present && !master->socket_missed)
        log_warn(
            "%s: its file was removed or replaced, so nobody can connect; send HUP to bind again",
            master->listener->name);
    master->socket_missed = !present;
}

static void
on_tick(struct master *master)
{
    look_after_logs(master);
    look_after_socket(master);
    take_samples(master);
    check_memory(master);
    pool_size_adjust(master, true);
    if (notify_watchdog_ms() > 0)
        notify_systemd("WATCHDOG=1");
}

/* --- waiting work (dynamic, ondemand) -------------------------------------------------------- */

static void
arm_demand(struct master *master, int operation)
{
    const int fds[] = {master->listener->fd, master->children.channels.handover[0]};
    for (size_t i = 0; master->limits.kind != PM_STATIC && i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                    .data.u64 = MASTER_EVENT_DEMAND};
        epoll_ctl(master->epoll_fd, operation, fds[i], &event);
    }
}

static void
on_demand(struct master *master)
{
    master->demand = true;
    pool_size_adjust(master, false);
    master->demand = false;
    master->rearm_ms = clock_ms() + DEMAND_REST_MS;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void
dispatch(struct master *master, uint64_t event)
{
    switch (event & MASTER_EVENT_KIND) {
    case MASTER_EVENT_SIGNAL:
        master_signals_read(master);
        break;
    case MASTER_EVENT_NOTICE:
        on_notice(master);
        break;
    case MASTER_EVENT_OUTPUT:
        children_output(&master->children, (uint32_t)event);
        break;
    case MASTER_EVENT_LOG:
        children_log(&master->children, (uint32_t)event);
        break;
    case MASTER_EVENT_CHECK:
        reload_output(master);
        break;
    case MASTER_EVENT_CONTROL:
        control_event(&master->control, (uint32_t)event);
        break;
    case MASTER_EVENT_DEMAND:
        on_demand(master);
        break;
    }
}

/* Does what is due by the clock. Returns how long to sleep. */
static int
on_time(struct master *master)
{
    int64_t now_ms = clock_ms();
    int64_t next_ms = children_ladder(&master->children, now_ms);
    if (now_ms >= master->tick_ms) {
        on_tick(master);
        master->tick_ms = now_ms + PM_TICK_MS;
    }
    if (master->rearm_ms != 0 && now_ms >= master->rearm_ms) {
        arm_demand(master, EPOLL_CTL_MOD);
        master->rearm_ms = 0;
    }
    if (master->respawn.not_before_ms != 0 && now_ms >= master->respawn.not_before_ms) {
        master->respawn.not_before_ms = 0;
        pool_size_adjust(master, false);
    }
    const int64_t dates[] = {master->tick_ms, master->rearm_ms, master->respawn.not_before_ms,
                             control_deadline_ms(&master->control), reload_ladder(master, now_ms)};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
        if (dates[i] != 0 && dates[i] < next_ms)
            next_ms = dates[i];
    control_expire(&master->control, now_ms);
    if (!log_flush() && next_ms > now_ms + FLUSH_MS)
        next_ms = now_ms + FLUSH_MS;
    return next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}

static void
loop(struct master *master)
{
    struct epoll_event events[64];
    while (master->stage == STAGE_RUNNING || children_count(&master->children) > 0) {
        int count = epoll_wait(master->epoll_fd, events, 64, on_time(master));
        for (int i = 0; i < count; i++)
            dispatch(master, events[i].data.u64);
    }
}

/* --- begin and end --------------------------------------------------------------------------- */

static int
announce(struct master *master, int fd, uint64_t data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};
    return epoll_ctl(master->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int
open_descriptors(struct master *master, const struct succession *left)
{
    if (left != NULL)
        master->children.channels = left->channels;
    else if (channels_open(&master->children.channels) == -1)
        return -1;
    master->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    master->signal_fd = master_signals_open();
    if (master->epoll_fd == -1 || master->signal_fd == -1)
        return -1;
    return announce(master, master->signal_fd, MASTER_EVENT_SIGNAL) == -1 ||
                   announce(master, master->children.channels.notice[0], MASTER_EVENT_NOTICE) == -1
               ? -1
               : 0;
}

static int
open_table(struct master *master, const struct succession *left)
{
    struct children *children = &master->children;
    uint32_t capacity = 2 * (uint32_t)master->config->children + PLACES_EXTRA;
    if (board_open(&master->board, capacity, left != NULL ? left->board_fd : -1) == -1)
        return -1;
    if (left != NULL && master->board.fd != left->board_fd)
        close(left->board_fd);
    capacity += left != NULL ? left->child_count : 0;
    children->table = calloc(capacity, sizeof *children->table);
    if (children->table == NULL)
        return -1;
    children->config = master->config;
    children->board = &master->board;
    children->listen_fd = master->listener->fd;
    children->epoll_fd = master->epoll_fd;
    children->output_event = MASTER_EVENT_OUTPUT;
    children->log_event = MASTER_EVENT_LOG;
    children->capacity = capacity;
    return 0;
}

/* Takes over the children of the former image; they end as new ones get ready. */
static void
inherit_children(struct master *master, const struct succession *left)
{
    struct children *children = &master->children;
    if (left == NULL)
        return;
    children->generation = left->generation + 1;
    for (uint32_t i = 0; i < left->child_count; i++) {
        const struct succession_child *former = &left->child[i];
        uint32_t slot = master->board.fd == left->board_fd ? former->slot : UINT32_MAX;
        children_inherit(children, &former->child, slot);
    }
    if (left->pid_file[0] != '\0' &&
        (master->config->pid_file == NULL || strcmp(left->pid_file, master->config->pid_file) != 0))
        pid_file_remove(left->pid_file);
    board_count(&master->board.head->reloads);
}

static void
fill_head(struct master *master)
{
    struct board_head *head = master->board.head;
    atomic_store(&head->master_pid, getpid());
    atomic_store(&head->generation, master->children.generation);
    atomic_store(&head->pm, master->config->pm);
    atomic_store(&head->max_children, master->limits.max_children);
    atomic_store(&head->backlog, master->listener->backlog);
}

static int
failed(const char *what)
{
    log_error("%s: %s", what, strerror(errno));
    return 111;
}

int
master_run(const struct config *config, struct listener *listener, struct succession *left,
           char **argv)
{
    struct master master = {
        .config = config,
        .listener = listener,
        .argv = argv,
        .ready_fd = left == NULL ? config->ready_fd : -1,
        .limits = {config->pm, (uint32_t)config->children, config->start_servers, config->min_spare,
                   config->max_spare, config->spawn_rate, (int64_t)config->idle_timeout_ms},
        .check = {.output = {.fd = -1}, .config_fd = -1},
    };
    if (open_descriptors(&master, left) == -1 || open_table(&master, left) == -1) {
        int status = failed("cannot start");
        listener_close(listener);
        return status;
    }
    inherit_children(&master, left);
    fill_head(&master);
    status_setup(config, &master.board, listener->fd);
    char error[512];
    if (control_open(&master.control, config, master.epoll_fd, MASTER_EVENT_CONTROL, error,
                     sizeof error) == -1)
        log_error("%s; continuing without it", error);
    if (pid_file_write(config->pid_file, error, sizeof error) == -1)
        log_error("%s; continuing without it", error);
    arm_demand(&master, EPOLL_CTL_ADD);
    process_title_set("master");
    if (left != NULL)
        standby_release(&left->standby);
    pool_size_adjust(&master, false);
    check_begun(&master);
    loop(&master);
    reload_abandon(&master);
    control_close(&master.control);
    pid_file_remove(config->pid_file);
    listener_close(listener);
    log_notice("stopped");
    return 0;
}
