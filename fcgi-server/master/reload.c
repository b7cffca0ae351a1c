/* SPDX-License-Identifier: MIT */
#include "master/reload.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/process.h"
#include "config/config.h"
#include "config/config_file.h"
#include "master/master_state.h"
#include "master/notify.h"
#include "master/standby.h"
#include "master/succession.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

/* A reload may begin while at most this many children of former configurations are left: the
 * table of children needs room for new ones (PLACES_EXTRA). */
#define OLD_MAX 16

static void
drop_config(struct master *master)
{
    if (master->check.config_fd != -1)
        close(master->check.config_fd);
    master->check.config_fd = -1;
}

/* A reload waits while the last one still starts its children, unless these cannot start: then
 * the reload may be the remedy. It also waits while too many former children are left, which
 * would fill the table. */
static bool
may_begin(const struct master *master)
{
    return master->stage == STAGE_RUNNING && master->check.pid == 0 &&
           (master->begun || master->respawn.level > 0) &&
           children_old(&master->children) <= OLD_MAX;
}

void
reload_begin(struct master *master, bool upgrade)
{
    struct master_check *check = &master->check;
    int output[2];
    if (!may_begin(master)) {
        if (!check->again && children_old(&master->children) > OLD_MAX)
            log_warn("the reload waits: %u children of former configurations have not ended yet "
                     "(stop_timeout)",
                     children_old(&master->children));
        check->again = true;
        check->again_upgrade |= upgrade;
        return;
    }
    if (descriptors_pipe(output, 1) == -1) {
        log_error("cannot reload: %s", strerror(errno));
        return;
    }
    check->upgrade = upgrade;
    check->config_fd =
        master->config->file != NULL ? config_file_snapshot(master->config->file) : -1;
    check->pid = succession_check(succession_program(upgrade), master->argv, master->config,
                                  output[1], check->config_fd);
    int reason = errno;
    close(output[1]);
    if (check->pid == -1) {
        log_error("cannot reload: %s", strerror(reason));
        close(output[0]);
        drop_config(master);
        check->pid = 0;
        return;
    }
    check->output.fd = output[0];
    check->deadline_ms = clock_ms() + (int64_t)master->config->check_timeout_ms;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = MASTER_EVENT_CHECK};
    epoll_ctl(master->epoll_fd, EPOLL_CTL_ADD, output[0], &event);
    notify_systemd("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(clock_ns() / 1000));
}

void
reload_output(struct master *master)
{
    struct master_check *check = &master->check;
    if (check->output.fd != -1 && child_output_read(&check->output, check->pid, true) == -1)
        child_output_close(&check->output, check->pid, true);
}

static void
become_successor(struct master *master)
{
    bool upgrade = master->check.upgrade;
    log_notice("%s: check passed, starting new children", upgrade ? "upgrade" : "reload");
    struct standby standby = {-1, -1};
    char error[512];
    control_close(&master->control);
    if (standby_start(&standby, master) == 0)
        succession_exec(succession_program(upgrade), master->argv, master->config, master->listener,
                        &master->children, master->check.config_fd, &standby);
    log_error("cannot reload: cannot run %s: %s; continuing as before", succession_program(upgrade),
              strerror(errno));
    standby_release(&standby);
    if (control_open(&master->control, master->config, master->epoll_fd, MASTER_EVENT_CONTROL,
                     error, sizeof error) == -1)
        log_error("%s; continuing without it", error);
}

void
reload_ended(struct master *master, pid_t pid, int status)
{
    struct master_check *check = &master->check;
    char how[64];
    if (pid != check->pid)
        return;
    child_output_close(&check->output, check->pid, true);
    check->pid = 0;
    if (master->stage == STAGE_RUNNING && WIFEXITED(status) &&
        WEXITSTATUS(status) == SUCCESSION_FIT) {
        become_successor(master);
    } else if (master->stage == STAGE_RUNNING) {
        bool other = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        process_describe(status, how, sizeof how);
        log_error("reload refused: the check %s%s; continuing with the old configuration", how,
                  other ? ", but the program is not an fcgi-server of this version" : "");
        notify_systemd("READY=1\nSTATUS=reload refused, see the log");
    }
    drop_config(master);
    reload_retry(master);
}

int64_t
reload_ladder(struct master *master, int64_t now_ms)
{
    struct master_check *check = &master->check;
    if (check->pid == 0 || check->deadline_ms == 0)
        return 0;
    if (now_ms < check->deadline_ms)
        return check->deadline_ms;
    log_error("the check did not end within check_timeout: killed; a handler's init() or the "
              "configuration file hangs");
    kill(check->pid, SIGKILL);
    check->deadline_ms = 0;
    return 0;
}

void
reload_abandon(struct master *master)
{
    if (master->check.pid == 0)
        return;
    kill(master->check.pid, SIGKILL);
    process_wait(master->check.pid);
    master->check.pid = 0;
}

void
reload_retry(struct master *master)
{
    struct master_check *check = &master->check;
    if (!check->again || !may_begin(master))
        return;
    bool upgrade = check->again_upgrade;
    check->again = check->again_upgrade = false;
    reload_begin(master, upgrade);
}
