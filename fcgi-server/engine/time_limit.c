/* SPDX-License-Identifier: MIT */
#include "engine/time_limit.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/answer.h"
#include "handler/lua_host.h"
#include "handler/router.h"
#include "handler/side_effects.h"
#include "request/request.h"
#include "status/board.h"

#include <signal.h>
#include <stddef.h>

/* Its default action is "ignore", so a late one is harmless. */
#define INTERRUPT SIGURG

/* How long an interrupted handler may take to return. */
#define GRACE_NS INT64_C(500000000)

static struct request *_Atomic running;

/* Runs in the serving thread. The signal may come when its handler has just returned: only a
 * marked request is interrupted. */
static void
on_interrupt(int number)
{
    (void)number;
    const struct request *request = running;
    if (request == NULL)
        return;
    if (request->timed_out)
        lua_host_interrupt();
    else if (request->told_slow)
        lua_host_log_slow((uint32_t)((clock_ns() - request->start_ns) / 1000000));
}

/* Without SA_RESTART, so that a C handler that blocks in a system call returns
 * from it, and can ask fh_gone(). */
void
time_limit_prepare(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigaction(INTERRUPT, &action, NULL);
    side_effects_own_signal(INTERRUPT);
    sigemptyset(&set);
    sigaddset(&set, INTERRUPT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void
time_limit_run(struct request *request)
{
    running = request;
}

struct request *
time_limit_running(void)
{
    return running;
}

int64_t
time_limit_keep(const struct config *config, const struct slow_watch *watch, int64_t now_ns)
{
    struct request *request = running;
    int64_t slow_at_ns = request->start_ns + (int64_t)config->slow_ms * 1000000;
    int64_t limit_at_ns = request->start_ns + (int64_t)config->request_timeout_ms * 1000000;
    int64_t next_ns = INT64_MAX;
    if (config->slow_ms > 0 && !request->told_slow) {
        if (now_ns >= slow_at_ns) {
            request->told_slow = true;
            pthread_kill(watch->serving, INTERRUPT);
        } else {
            next_ns = slow_at_ns;
        }
    }
    if (config->request_timeout_ms == 0)
        return next_ns;
    if (now_ns < limit_at_ns)
        return next_ns < limit_at_ns ? next_ns : limit_at_ns;
    if (!request->timed_out) {
        request->timed_out = true;
        request->stopped_ns = now_ns;
        pthread_kill(watch->serving, INTERRUPT);
    } else if (now_ns - request->stopped_ns >= GRACE_NS) {
        return TIME_LIMIT_OVER;
    }
    return request->stopped_ns + GRACE_NS;
}

void
time_limit_give_up(struct board_slot *slot, const struct request *request, int fd)
{
    log_error("%s: did not return within request_timeout: answered 504, this child ends",
              request->entry->file);
    board_count(&slot->timed_out);
    answer_briefly(request, fd, 504);
}
