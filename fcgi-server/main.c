/* SPDX-License-Identifier: MIT */
/*
 * fcgi-server - runs C and Lua handlers behind a web server that speaks FastCGI.
 */
#include "base/calendar.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/log_target.h"
#include "base/process_title.h"
#include "base/signals.h"
#include "child/child.h"
#include "child/heritage.h"
#include "child/privileges.h"
#include "child/probe.h"
#include "config/config.h"
#include "config/config_load.h"
#include "config/options.h"
#include "master/control.h"
#include "master/listener.h"
#include "master/master.h"
#include "master/pid_file.h"
#include "master/succession.h"
#include "status/access_log.h"
#include "status/board.h"
#include "status/child_logs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "1.0"

enum { EXIT_GOOD = 0, EXIT_USAGE = 100, EXIT_SYSTEM = 111 };

static int
fail(int status, const char *text)
{
    fprintf(stderr, "fcgi-server: error: %s\n", text);
    return status;
}

static int
try_handlers(const struct config *config)
{
    static const int statuses[] = {
        [PROBE_GOOD] = EXIT_GOOD, [PROBE_BAD] = EXIT_USAGE, [PROBE_SYSTEM] = EXIT_SYSTEM};
    char error[1200];
    enum probe_result result = probe_handlers(config, error, sizeof error);
    return result == PROBE_GOOD ? EXIT_GOOD : fail(statuses[result], error);
}

/* --- what the command line asks for ---------------------------------------------------------- */

/* Handles options that need no server. Returns true if there was one. */
static bool
answer(const struct config *config, int *status)
{
    *status = EXIT_GOOD;
    if (config->help)
        options_help();
    else if (config->version)
        puts("fcgi-server " VERSION);
    else if (config->status != NULL)
        *status = control_ask(config->status, config->status_format);
    else if (config->dump)
        options_dump(config);
    else
        return false;
    return true;
}

/* Opens the logs. The absence of a reader that may come back does not refuse a reload: until
 * then lines are lost and counted. */
static int
open_logs(const struct config *config)
{
    char error[600];
    bool reload = succession_is_check();
    if (access_log_open(config, error, sizeof error) == -1)
        return fail(EXIT_USAGE, error);
    if (log_open(config->log, config->log_level, error, sizeof error) == -1 ||
        child_logs_open(config, error, sizeof error) == -1) {
        bool passing = reload && log_target_may_come(errno);
        fail(EXIT_SYSTEM, error);
        return passing ? EXIT_GOOD : EXIT_SYSTEM;
    }
    return EXIT_GOOD;
}

static int
test(const struct config *config)
{
    struct config_error error;
    struct listener listener;
    int status;
    if (succession_is_check() && config->children == 0)
        return fail(EXIT_USAGE, "children = 0 (no master) needs a restart instead of a reload");
    if (listener_check(config, &error) == -1)
        return fail(EXIT_USAGE, error.text);
    if (succession_is_check() &&
        pid_file_check(config->pid_file, getppid(), error.text, sizeof error.text) == -1)
        return fail(EXIT_USAGE, error.text);
    if ((status = open_logs(config)) != EXIT_GOOD || (status = try_handlers(config)) != EXIT_GOOD)
        return status;
    if (succession_is_check() && !succession_listens_already(config)) {
        if (listener_open(&listener, config, &error) == -1)
            return fail(EXIT_USAGE, error.text);
        listener_close(&listener);
    }
    if (succession_is_check())
        return SUCCESSION_FIT;
    puts("fcgi-server: the configuration and all handlers are valid");
    return EXIT_GOOD;
}

/* Without a master: this process is the only child. */
static int
serve_alone(const struct config *config, struct listener *listener)
{
    struct board board;
    if (board_open(&board, 1, -1) == -1)
        return fail(EXIT_SYSTEM, strerror(errno));
    atomic_store(&board.head->backlog, listener->backlog);
    atomic_store(&board.head->max_children, 1);
    struct heritage heritage = {
        .config = config,
        .board = &board,
        .slot = board_take(&board),
        .listen_fd = listener->fd,
        .handover_fd = {-1, -1},
        .notice_fd = -1,
        .output_fd = -1,
        .log_fd = -1,
    };
    int status = child_live(&heritage);
    listener_close(listener);
    return status == 1 ? EXIT_USAGE : status;
}

/* Closes inherited descriptors that the configuration does not use. */
static int
close_inherited(const struct config *config)
{
    int listening = config->listen != NULL && strncmp(config->listen, "fd:", 3) == 0
                        ? descriptors_number(config->listen + 3)
                        : LISTENER_SYSTEMD_FD;
    const int keep[] = {config->ready_fd, listening, log_target_descriptor(config->log),
                        log_target_descriptor(config->access_log),
                        log_target_descriptor(config->slow_log)};
    return descriptors_close_others(keep, sizeof keep / sizeof *keep);
}

/* These variables are for this process, not for programs that handlers start. */
static void
forget_passed(void)
{
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDNAMES");
}

/* Whether the socket that a former image of this process opened stays in use: its address is
 * still configured, and clients still reach it. */
static bool
can_stay(const struct listener *former, const struct succession *left, const struct config *config)
{
    bool made_here = config->listen != NULL && strncmp(config->listen, "fd:", 3) != 0;
    if (strcmp(left->listen, config->listen != NULL ? config->listen : "inherited") != 0)
        return false;
    if (listener_present(former))
        return true;
    log_warn("%s: its file was removed or replaced%s", former->name,
             made_here ? ": binding again" : ", so nobody can connect until a restart");
    return !made_here;
}

/* The children of the former image serve the connections that wait at the former socket. */
static int
succeed_listener(struct listener *listener, const struct config *config,
                 const struct succession *left)
{
    struct config_error error;
    struct listener former;
    if (listener_inherit(&former, &left->listener, config) == -1)
        return fail(EXIT_SYSTEM, "the socket of the former master is not a listening socket");
    if (can_stay(&former, left, config)) {
        *listener = former;
    } else if (listener_open(listener, config, &error) == 0) {
        listener_close(&former);
    } else {
        log_error("%s; continuing with %s%s", error.text, former.name,
                  listener_present(&former) ? "" : ", where nobody can connect");
        *listener = former;
    }
    return EXIT_GOOD;
}

static int
open_listener(struct listener *listener, const struct config *config, const struct succession *left)
{
    struct config_error error;
    if (left != NULL)
        return succeed_listener(listener, config, left);
    int result = listener_open(listener, config, &error);
    forget_passed();
    return result == 0 ? EXIT_GOOD : fail(EXIT_USAGE, error.text);
}

int
main(int argc, char **argv)
{
    static struct config config;
    struct config_error error;
    struct listener listener;
    int status;
    process_title_init(argc, &argv);
    signals_reset();
    if (descriptors_secure() == -1)
        return EXIT_SYSTEM;
    calendar_open();
    struct succession *left = succession_read();
    signals_let_end(left == NULL);
    if (config_load(&config, argc, argv, &error) == -1)
        return fail(EXIT_USAGE, error.text);
    if (answer(&config, &status))
        return status;
    process_title_pool(config.pool);
    if (privileges_check(&config, &error) == -1)
        return fail(EXIT_USAGE, error.text);
    if (config.test)
        return test(&config);
    if (left == NULL && close_inherited(&config) == -1)
        return fail(EXIT_SYSTEM, strerror(errno));
    /* The logs could be opened in the check, but not now: serving matters more than logs. */
    if ((status = open_logs(&config)) != EXIT_GOOD && left == NULL)
        return status;
    if (left == NULL && config.children > 0 &&
        pid_file_check(config.pid_file, 0, error.text, sizeof error.text) == -1)
        return fail(EXIT_USAGE, error.text);
    if (config.children > 0)
        privileges_raise_files();
    if (config.children > 0 && left == NULL && (status = try_handlers(&config)) != EXIT_GOOD)
        return status;
    signals_let_end(false);
    if ((status = open_listener(&listener, &config, left)) != EXIT_GOOD)
        return status;
    if (config.children == 0)
        return serve_alone(&config, &listener);
    return master_run(&config, &listener, left, argv);
}
