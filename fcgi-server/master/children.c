/* SPDX-License-Identifier: MIT */
#include "master/children.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/process.h"
#include "child/child.h"
#include "child/heritage.h"
#include "config/config.h"
#include "status/board.h"
#include "status/child_logs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_WARNING_MS 1000

/* What entering a state sends, and where its deadline leads. */
static const struct {
    int signal;
    enum life next;
    const char *reason; /* for the log, when a deadline led here */
} ladder[] = {
    [LIFE_RETIRING] = {SIGQUIT, LIFE_STOPPING, NULL},
    [LIFE_CLOSING] = {SIGTERM, LIFE_STOPPING, NULL},
    [LIFE_STOPPING] = {SIGUSR2, LIFE_KILLED, "did not finish in time: sent SIGUSR2 to end it"},
    [LIFE_KILLED] = {SIGKILL, LIFE_NONE, "ignored SIGUSR2: killed"},
};

static struct child *
free_place(struct children *children)
{
    for (uint32_t i = 0; i < children->capacity; i++)
        if (children->table[i].life == LIFE_NONE)
            return &children->table[i];
    errno = EAGAIN;
    return NULL;
}

static void
announce(const struct children *children, const struct child *child)
{
    uint64_t index = (uint64_t)(child - children->table);
    struct epoll_event output = {.events = EPOLLIN, .data.u64 = children->output_event + index};
    struct epoll_event log = {.events = EPOLLIN, .data.u64 = children->log_event + index};
    if (child->output.fd != -1)
        epoll_ctl(children->epoll_fd, EPOLL_CTL_ADD, child->output.fd, &output);
    if (child->log_fd != -1)
        epoll_ctl(children->epoll_fd, EPOLL_CTL_ADD, child->log_fd, &log);
}

static int
run_child(void *argument)
{
    return child_live(argument);
}

/* The channels between the master, which has end [0], and one child. Handlers may block on
 * the pipe, since the master always reads; nobody blocks on the socket. */
struct lines {
    int output[2];
    int log[2];
};

static int
open_lines(struct lines *lines)
{
    if (descriptors_pipe(lines->output, 1) == -1)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines->log) == 0)
        return 0;
    int reason = errno;
    close(lines->output[0]);
    close(lines->output[1]);
    errno = reason;
    return -1;
}

static void
close_lines(const struct lines *lines, int end)
{
    close(lines->output[end]);
    close(lines->log[end]);
}

static pid_t
fork_child(const struct children *children, struct board_slot *slot, const struct lines *lines)
{
    const struct channels *channels = &children->channels;
    struct heritage heritage = {
        .config = children->config,
        .board = children->board,
        .slot = slot,
        .master = getpid(),
        .listen_fd = children->listen_fd,
        .handover_fd = {channels->handover[0], channels->handover[1]},
        .notice_fd = channels->notice[1],
        .output_fd = lines->output[1],
        .log_fd = lines->log[1],
        .number = (uint32_t)(slot - children->board->slot),
    };
    return process_start(run_child, &heritage);
}

struct child *
children_start(struct children *children)
{
    struct lines lines;
    struct child *child = free_place(children);
    struct board_slot *slot = child != NULL ? board_take(children->board) : NULL;
    if (slot == NULL) {
        errno = EAGAIN;
        return NULL;
    }
    if (open_lines(&lines) == -1) {
        atomic_store(&slot->state, BOARD_FREE);
        return NULL;
    }
    atomic_store(&slot->generation, children->generation);
    pid_t pid = fork_child(children, slot, &lines);
    int reason = errno;
    close_lines(&lines, 1);
    if (pid == -1) {
        close_lines(&lines, 0);
        atomic_store(&slot->state, BOARD_FREE);
        errno = reason;
        return NULL;
    }
    atomic_store(&slot->pid, pid);
    *child = (struct child){
        .pid = pid,
        .life = LIFE_STARTING,
        .generation = children->generation,
        .slot = slot,
        .output = {.fd = lines.output[0]},
        .log_fd = lines.log[0],
        .started_ms = clock_ms(),
    };
    announce(children, child);
    return child;
}

struct child *
children_inherit(struct children *children, const struct child *former, uint32_t slot)
{
    struct child *child = free_place(children);
    if (child == NULL)
        return NULL;
    *child = *former;
    child->slot = slot < children->board->head->slots ? &children->board->slot[slot] : NULL;
    announce(children, child);
    return child;
}

void
children_order(struct children *children, struct child *child, enum life life)
{
    if (child->life == LIFE_NONE || child->life >= life)
        return;
    child->life = life;
    kill(child->pid, ladder[life].signal);
    int64_t wait_ms =
        life >= LIFE_STOPPING ? LAST_WARNING_MS : (int64_t)children->config->stop_timeout_ms;
    bool forever = life == LIFE_KILLED || (life == LIFE_CLOSING && children->no_deadline);
    child->deadline_ms = forever ? 0 : clock_ms() + wait_ms;
}

uint32_t
children_order_old(struct children *children, enum life life, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < children->capacity && count < most; i++) {
        struct child *child = &children->table[i];
        if (child->life == LIFE_NONE || child->life >= life ||
            child->generation == children->generation)
            continue;
        children_order(children, child, life);
        count++;
    }
    return count;
}

uint32_t
children_order_all(struct children *children, enum life life)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < children->capacity; i++) {
        if (children->table[i].life == LIFE_NONE)
            continue;
        children_order(children, &children->table[i], life);
        count++;
    }
    return count;
}

int64_t
children_ladder(struct children *children, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    for (uint32_t i = 0; i < children->capacity; i++) {
        struct child *child = &children->table[i];
        if (child->life == LIFE_NONE || child->deadline_ms == 0)
            continue;
        if (now_ms >= child->deadline_ms) {
            enum life rung = ladder[child->life].next;
            log_warn("child %d %s", (int)child->pid, ladder[rung].reason);
            if (rung == LIFE_KILLED)
                board_count(&children->board->head->killed);
            children_order(children, child, rung);
        }
        if (child->deadline_ms != 0 && child->deadline_ms < next_ms)
            next_ms = child->deadline_ms;
    }
    return next_ms;
}

struct child *
children_find(struct children *children, pid_t pid)
{
    for (uint32_t i = 0; i < children->capacity; i++)
        if (children->table[i].life != LIFE_NONE && children->table[i].pid == pid)
            return &children->table[i];
    return NULL;
}

void
children_output(struct children *children, uint32_t index)
{
    struct child *child = &children->table[index];
    if (child->life == LIFE_NONE || child->output.fd == -1)
        return;
    if (child_output_read(&child->output, child->pid, children->config->decorate) == -1)
        child_output_close(&child->output, child->pid, children->config->decorate);
}

/* What it printed before it sent a line is logged before that line. */
void
children_log(struct children *children, uint32_t index)
{
    struct child *child = &children->table[index];
    if (child->life == LIFE_NONE || child->log_fd == -1)
        return;
    children_output(children, index);
    if (log_read_child(child->log_fd, child->pid) == 0)
        return;
    close(child->log_fd);
    child->log_fd = -1;
}

void
children_bury(struct children *children, struct child *child)
{
    children_log(children, (uint32_t)(child - children->table));
    child_output_close(&child->output, child->pid, children->config->decorate);
    if (child->log_fd != -1)
        close(child->log_fd);
    if (child->slot != NULL)
        board_release(children->board, child->slot);
    *child = (struct child){.output = {.fd = -1}, .log_fd = -1};
}

void
children_hand_logs(struct children *children, bool renewed)
{
    int fds[CHILD_LOG_COUNT];
    child_logs_descriptors(fds);
    for (uint32_t i = 0; i < children->capacity; i++) {
        struct child *child = &children->table[i];
        if (child->life == LIFE_NONE || child->log_fd == -1 || !(renewed || child->logs_due))
            continue;
        child->logs_due = descriptors_send(child->log_fd, fds, CHILD_LOG_COUNT) == -1;
        if (!child->logs_due)
            kill(child->pid, SIGUSR1);
    }
}

uint32_t
children_count(const struct children *children)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < children->capacity; i++)
        count += children->table[i].life != LIFE_NONE;
    return count;
}

uint32_t
children_old(const struct children *children)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < children->capacity; i++)
        count += children->table[i].life != LIFE_NONE &&
                 children->table[i].generation != children->generation;
    return count;
}

bool
children_current(const struct children *children, const struct child *child)
{
    return (child->life == LIFE_STARTING || child->life == LIFE_SERVING) &&
           child->generation == children->generation;
}
