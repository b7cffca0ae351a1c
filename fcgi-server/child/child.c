/* SPDX-License-Identifier: MIT */
#include "child/child.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/process.h"
#include "base/process_title.h"
#include "base/signals.h"
#include "child/heritage.h"
#include "child/privileges.h"
#include "config/config.h"
#include "config/engines.h"
#include "engine/engine.h"
#include "handler/router.h"
#include "handler/side_effects.h"
#include "status/child_logs.h"
#include "status/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

static struct {
    const struct heritage *heritage;
    int order_fd;
    enum child_order order;
    struct router *router;
    const struct engine *engine;
    struct engine_context context;
} self = {.order_fd = -1};

/* --- orders -------------------------------------------------------------------------- */

static void
raise_order(enum child_order order)
{
    if (order > self.order) {
        self.order = order;
        board_state(self.heritage->slot, BOARD_DRAINING);
        process_title_set("child, ending");
    }
}

static void
tell_master(enum child_notice_kind kind)
{
    struct child_notice notice = {getpid(), kind};
    ssize_t written;
    if (self.heritage->notice_fd == -1)
        return;
    do
        written = write(self.heritage->notice_fd, &notice, sizeof notice);
    while (written == -1 && errno == EINTR);
}

static void
retiring(void)
{
    board_state(self.heritage->slot, BOARD_DRAINING);
    tell_master(NOTICE_RETIRING);
}

/* The master, if there is one, opens the logs and sends their descriptors. */
static void
renew_logs(void)
{
    char error[512];
    int fds[CHILD_LOG_COUNT];
    if (self.heritage->master == 0) {
        if (log_reopen(error, sizeof error) == -1)
            log_error("%s; continuing with the old log", error);
        if (child_logs_reopen(error, sizeof error) == -1)
            log_error("%s; continuing with the old log", error);
    }
    while (descriptors_receive(self.heritage->log_fd, fds, CHILD_LOG_COUNT) == 1)
        child_logs_take(fds);
}

static void
on_log_gone(void)
{
    char ignored[512];
    if (self.heritage->master != 0)
        tell_master(NOTICE_LOG_GONE);
    else
        child_logs_reopen(ignored, sizeof ignored);
}

static void
on_signal(int number)
{
    bool alone = self.heritage->master == 0;
    switch (number) {
    case SIGQUIT:
        raise_order(alone ? CHILD_CLOSE : CHILD_DRAIN);
        break;
    case SIGTERM:
    case SIGINT:
        raise_order(self.order < CHILD_CLOSE ? CHILD_CLOSE : CHILD_STOP);
        break;
    case SIGUSR2:
        raise_order(CHILD_STOP);
        break;
    case SIGHUP: /* on_master_death() */
        raise_order(CHILD_CLOSE);
        break;
    case SIGUSR1:
        renew_logs();
        break;
    }
}

static enum child_order
order(void)
{
    int number;
    while ((number = signals_read(self.order_fd)) != 0)
        on_signal(number);
    return self.order;
}

/* --- the steps after the fork ----------------------------------------------------------- */

static int
fail(const char *what)
{
    log_error("child: %s: %s", what, strerror(errno));
    return -1;
}

/* Between requests the order is read like any other. A handler that is running gets as
 * long as a stop would give it. */
static void
on_master_death(int number)
{
    (void)number;
    kill(getpid(), SIGHUP);
    signal(SIGALRM, SIG_DFL);
    side_effects_keep_alarm();
    alarm((unsigned)(self.heritage->config->stop_timeout_ms / 1000 + 1));
}

static int
take_descriptors(void)
{
    const struct heritage *heritage = self.heritage;
    if (heritage->output_fd != -1 && (dup2(heritage->output_fd, STDOUT_FILENO) == -1 ||
                                      dup2(heritage->output_fd, STDERR_FILENO) == -1))
        return fail("dup2");
    int keep[DESCRIPTORS_KEEP_MAX] = {heritage->listen_fd, heritage->handover_fd[0],
                                      heritage->handover_fd[1], heritage->notice_fd,
                                      heritage->log_fd};
    size_t count = 5;
    child_logs_descriptors(keep + count);
    count += CHILD_LOG_COUNT;
    if (heritage->master != 0 && descriptors_close_others(keep, count) == -1)
        return fail("close_range");
    if (heritage->master != 0 && heritage->listen_fd != STDIN_FILENO)
        descriptors_null(STDIN_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return 0;
}

/* Orders come as signals, so each child has a descriptor of its own. (A pipe shared by all,
 * in an epoll set within the engine's, hits a limit of the kernel at 500 children.) */
static int
open_orders(void)
{
    static const int with_master[] = {SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
    static const int alone[] = {SIGQUIT, SIGTERM, SIGUSR1, SIGINT, SIGINT};
    signals_guard();
    self.order_fd = signals_open(self.heritage->master != 0 ? with_master : alone, 5);
    return self.order_fd != -1 ? 0 : fail("signalfd");
}

static int
become_user(void)
{
    struct config_error error;
    if (privileges_drop(self.heritage->config, &error) == -1) {
        log_error("child: %s", error.text);
        return -1;
    }
    return 0;
}

/* After the change of user, which would reset it. */
static int
follow_master(void)
{
    if (self.heritage->master == 0)
        return 0;
    struct sigaction action = {.sa_handler = on_master_death, .sa_flags = SA_RESTART};
    if (sigaction(SIGPWR, &action, NULL) == -1 || prctl(PR_SET_PDEATHSIG, SIGPWR) == -1)
        return fail("prctl");
    if (getppid() != self.heritage->master)
        raise_order(CHILD_STOP); /* the master died before we asked for the signal */
    return 0;
}

/* These variables of systemd are for the master, not for handlers and their programs. */
static int
clean_environment(void)
{
    static const char *const names[] = {"NOTIFY_SOCKET",    "WATCHDOG_USEC", "WATCHDOG_PID",
                                        "LISTEN_FDS",       "LISTEN_PID",    "LISTEN_FDNAMES",
                                        "FCGI_SERVER_CHECK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

/* Each child draws its own random numbers. */
static int
seed(void)
{
    unsigned bits[2] = {(unsigned)clock_ns(), (unsigned)getpid()};
    if (getrandom(bits, sizeof bits, GRND_NONBLOCK) == -1 && errno != EAGAIN)
        return fail("getrandom");
    srand(bits[0]);
    srandom(bits[1]);
    return 0;
}

static struct router *
load_handlers(const struct config *config, char *error, size_t error_size)
{
    static struct route routes[CONFIG_ROUTES_MAX];
    for (uint32_t i = 0; i < config->route_count; i++) {
        const struct config_route *route = &config->routes[i];
        routes[i] = (struct route){route->prefix, route->handler, route->argument, route->origin};
    }
    struct router_options options = {
        .routes = routes,
        .route_count = config->route_count,
        .folders = config->folders,
        .builtin = status_builtin,
        .lua = {.memory_max = config->lua_memory,
                .allow_os = config->allow_lua_os,
                .no_jit = config->lua_no_jit},
    };
    struct router *router = router_new(&options, error, error_size);
    size_t length = strlen(error);
    if (router == NULL &&
        config->user != NULL) /* this user may lack a permission that init() needs */
        snprintf(error + length, error_size - length, "; loaded as user '%s'", config->user);
    return router;
}

static int
open_handlers(void)
{
    char error[1024] = "";
    status_setup(self.heritage->config, self.heritage->board, self.heritage->listen_fd);
    self.router = load_handlers(self.heritage->config, error, sizeof error);
    process_end_copy();
    if (self.router == NULL) {
        log_error("%s", error);
        return -1;
    }
    return 0;
}

static int
choose_engine(void)
{
#define ROW(name) &engine_##name,
    static const struct engine *const engines[] = {ENGINES(ROW)};
#undef ROW
    self.engine = engines[self.heritage->config->engine];
    return 0;
}

static int
prepare_engine(void)
{
    const struct heritage *heritage = self.heritage;
    self.context = (struct engine_context){
        .config = heritage->config,
        .router = self.router,
        .slot = heritage->slot,
        .listen_fd = heritage->listen_fd,
        .handover_fd = {heritage->handover_fd[0], heritage->handover_fd[1]},
        .order_fd = self.order_fd,
        .order = order,
        .retiring = retiring,
    };
    return self.engine->prepare(&self.context);
}

/* Last: the master may retire the former children when it reads this. */
static int
report_ready(void)
{
    board_state(self.heritage->slot, BOARD_IDLE);
    process_title_set("child");
    tell_master(NOTICE_READY);
    return 0;
}

static int
serve(void)
{
    int status = self.engine->serve();
    child_logs_tell();
    router_free(self.router);
    return status;
}

int
child_live(const struct heritage *heritage)
{
    static int (*const steps[])(void) = {
        take_descriptors,  open_orders,       seed,
        become_user,       follow_master,     process_note_copies,
        side_effects_note, clean_environment, open_handlers,
        choose_engine,     prepare_engine,    report_ready,
    };
    self.heritage = heritage;
    atomic_store_explicit(&heritage->slot->pid, getpid(), memory_order_relaxed);
    if (heritage->master != 0)
        log_become_child(heritage->log_fd);
    child_logs_setup(&heritage->slot->log_lost, on_log_gone);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i]() == -1)
            return 1;
    return serve();
}

int
child_probe(const struct config *config, pid_t parent, char *error, size_t error_size)
{
    struct config_error reason;
    if (privileges_drop(config, &reason) == -1) {
        snprintf(error, error_size, "%s", reason.text);
        return -1;
    }
    clean_environment();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends an init() that hangs, too */
    if (getppid() != parent)
        return -1;
    if (side_effects_note() == -1) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    return load_handlers(config, error, error_size) != NULL ? 0 : -1;
}
