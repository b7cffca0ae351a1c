/* SPDX-License-Identifier: MIT */
#include "master/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
notify_ready_fd(int fd)
{
    if (fd == -1)
        return;
    while (write(fd, "\n", 1) == -1 && errno == EINTR)
        continue;
    close(fd);
}

void
notify_systemd(const char *text, ...)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    char message[512];
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address.sun_path)
        return;
    strcpy(address.sun_path, path);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* abstract */
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(message, sizeof message, text, arguments);
    va_end(arguments);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1)
        return;
    sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    close(fd);
}

int64_t
notify_watchdog_ms(void)
{
    const char *interval_us = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    if (interval_us == NULL || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
        return 0;
    return strtoll(interval_us, NULL, 10) / 2000;
}
