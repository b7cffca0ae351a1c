/* SPDX-License-Identifier: MIT */
#include "status/child_logs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_target.h"
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GONE_MS 1000

static struct {
    struct log_target target[CHILD_LOG_COUNT];
    _Atomic uint64_t *lost;
    void (*gone)(void);
    int64_t gone_ms; /* when gone() may be called again */
} state = {.target = {LOG_TARGET_NONE, LOG_TARGET_NONE}};

static const char *const names[] = {"access log", "slow log"};

int
child_logs_open(const struct config *config, char *error, size_t error_size)
{
    const char *const paths[] = {config->access_log, config->slow_log};
    int result = 0;
    for (size_t i = 0; i < CHILD_LOG_COUNT; i++)
        if (log_target_open(&state.target[i], paths[i], 0, error, error_size) == -1)
            result = -1;
    return result;
}

int
child_logs_reopen(char *error, size_t error_size)
{
    int result = 0;
    for (size_t i = 0; i < CHILD_LOG_COUNT; i++)
        if (log_target_reopen(&state.target[i], error, error_size) == -1)
            result = -1;
    return result;
}

void
child_logs_setup(_Atomic uint64_t *lost, void (*gone)(void))
{
    state.lost = lost;
    state.gone = gone;
}

void
child_logs_descriptors(int fds[static CHILD_LOG_COUNT])
{
    for (size_t i = 0; i < CHILD_LOG_COUNT; i++)
        fds[i] = state.target[i].fd;
}

void
child_logs_take(const int fds[static CHILD_LOG_COUNT])
{
    for (size_t i = 0; i < CHILD_LOG_COUNT; i++)
        log_target_take(&state.target[i], fds[i]);
}

bool
child_logs_wanted(enum child_log which)
{
    return state.target[which].name != NULL;
}

static void
tell_end(enum child_log which)
{
    struct log_target *target = &state.target[which];
    if (target->lost > 0)
        log_warn("%s: %llu lines were lost: %s", names[which], (unsigned long long)target->lost,
                 strerror(target->reason));
    target->lost = 0;
}

static void
on_loss(enum child_log which, uint64_t before)
{
    const struct log_target *target = &state.target[which];
    int64_t now_ms = clock_ms();
    if (state.lost != NULL)
        *state.lost += target->lost - before;
    if (before == 0)
        log_warn("%s %s: %s; lost lines are counted in the status", names[which], target->name,
                 strerror(target->reason));
    if ((target->broken || target->fd == -1) && state.gone != NULL && now_ms >= state.gone_ms) {
        state.gone_ms = now_ms + GONE_MS;
        state.gone();
    }
}

void
child_logs_put(enum child_log which, const char *line, size_t length)
{
    struct log_target *target = &state.target[which];
    uint64_t before = target->lost;
    if (log_target_put(target, line, length))
        tell_end(which);
    else
        on_loss(which, before);
}

void
child_logs_tell(void)
{
    for (size_t i = 0; i < CHILD_LOG_COUNT; i++)
        tell_end((enum child_log)i);
}
