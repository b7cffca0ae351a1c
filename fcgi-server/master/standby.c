/* SPDX-License-Identifier: MIT */
#include "master/standby.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/process.h"
#include "base/process_title.h"
#include "config/config.h"
#include "master/master_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END_MS 5000 /* time for the kernel to end a process */

struct post {
    struct master *master;
    pid_t pid; /* of the master; getppid() differs if the new program has already ended */
    int ends[2];
};

/* Whether <fd> becomes readable by <deadline_ms>. */
static bool
wait_until(int fd, int64_t deadline_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int result;
    do {
        int64_t left_ms = deadline_ms - clock_ms();
        result = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (result == -1 && errno == EINTR);
    return result == 1;
}

/* A stop signal that the hanging program has not read is for its successor. */
static void
inherit_stop(pid_t pid)
{
    static const int stops[] = {SIGTERM, SIGINT, SIGQUIT};
    unsigned long long pending = 0;
    char path[64];
    char line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "ShdPnd: %llx", &pending) == 1)
            break;
    if (file != NULL)
        fclose(file);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (pending >> (stops[i] - 1) & 1)
            kill(getpid(), stops[i]); /* blocked, and read after the exec */
}

static void
end_master(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (getppid() == pid) /* else it has ended, and another process may have its id */
        kill(pid, SIGKILL);
    if (fd == -1)
        return;
    wait_until(fd, clock_ms() + END_MS);
    close(fd);
}

static int
stand_by(void *argument)
{
    struct post *post = argument;
    const struct master *master = post->master;
    pid_t pid = post->pid;
    char word;
    struct board none = {.fd = -1};
    struct children children = {.channels = master->children.channels,
                                .generation = master->children.generation,
                                .board = &none};
    close(post->ends[1]);
    process_title_set("master, standby");
    bool told = wait_until(post->ends[0], clock_ms() + (int64_t)master->config->check_timeout_ms);
    if (told && read(post->ends[0], &word, 1) == 1)
        return 0;
    log_error("the new program %s; the old one takes over again as process %d",
              told ? "ended before it could serve" : "did not start within check_timeout",
              (int)getpid());
    inherit_stop(pid);
    end_master(pid);
    succession_exec(succession_program(false), master->argv, master->config, master->listener,
                    &children, -1, NULL);
    log_error("cannot take over: %s", strerror(errno));
    return 111;
}

int
standby_start(struct standby *standby, struct master *master)
{
    struct post post = {.master = master, .pid = getpid()};
    if (descriptors_pipe(post.ends, 0) == -1)
        return -1;
    pid_t pid = process_start(stand_by, &post);
    int reason = errno;
    close(post.ends[0]);
    if (pid == -1)
        close(post.ends[1]);
    *standby = (struct standby){pid, pid != -1 ? post.ends[1] : -1};
    errno = reason;
    return pid == -1 ? -1 : 0;
}

void
standby_release(struct standby *standby)
{
    if (standby->pid <= 0)
        return;
    if (write(standby->word_fd, "", 1) != 1)
        log_warn("the standby copy of the former master has gone: %s", strerror(errno));
    close(standby->word_fd);
    process_wait(standby->pid);
    *standby = (struct standby){-1, -1};
}
