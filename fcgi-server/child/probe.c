/* SPDX-License-Identifier: MIT */
#include "child/probe.h"
#include "base/descriptors.h"
#include "base/process.h"
#include "child/child.h"
#include "config/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of a process that has loaded all handlers. Not 0: a handler may call exit(0). */
#define ALL_LOADED 72

struct probe {
    const struct config *config;
    pid_t parent;
    int result_fd;
};

static int
run(void *argument)
{
    struct probe *probe = argument;
    char error[1024] = "";
    if (child_probe(probe->config, probe->parent, error, sizeof error) == 0)
        return ALL_LOADED;
    return write(probe->result_fd, error, strlen(error)) == -1 ? 2 : 1;
}

/* Loads the handlers of <config> in a process. Returns its wait status and stores its message,
 * or returns -1 if no process could be made. */
static int
try_all(const struct config *config, char *error, size_t error_size)
{
    int ends[2];
    error[0] = '\0';
    if (descriptors_pipe(ends, 3) == -1)
        return -1;
    struct probe probe = {config, getpid(), ends[1]};
    pid_t pid = process_start(run, &probe);
    int reason = errno;
    close(ends[1]);
    int status = pid != -1 ? process_wait(pid) : -1;
    ssize_t length = read(ends[0], error, error_size - 1);
    error[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    errno = reason;
    return status;
}

static bool
went_well(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == ALL_LOADED;
}

/* The process died without a message: trying one handler at a time tells which one is bad. */
static const struct config_route *
find_killer(const struct config *config)
{
    static struct config one;
    char ignored[64];
    one = *config;
    one.route_count = 1;
    for (uint32_t i = 0; i < config->route_count; i++) {
        one.routes[0] = config->routes[i];
        int status = try_all(&one, ignored, sizeof ignored);
        if (!went_well(status) && ignored[0] == '\0')
            return &config->routes[i];
    }
    return NULL;
}

enum probe_result
probe_handlers(const struct config *config, char *error, size_t error_size)
{
    char how[64];
    int status = try_all(config, error, error_size);
    if (went_well(status))
        return PROBE_GOOD;
    if (status == -1) {
        snprintf(error, error_size, "cannot start a process to check the handlers: %s",
                 strerror(errno));
        return PROBE_SYSTEM;
    }
    if (error[0] != '\0')
        return PROBE_BAD;
    process_describe(status, how, sizeof how);
    const struct config_route *route = find_killer(config);
    snprintf(error, error_size, "%s: the process that loaded it %s; route of %s",
             route != NULL ? route->handler : "a handler", how,
             route != NULL ? route->origin : "the configuration");
    return PROBE_BAD;
}
