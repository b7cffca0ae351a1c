/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGHEST (1 << 20) /* the kernel's default of fs.nr_open */

int
descriptors_null(int fd)
{
    int null = open("/dev/null", O_RDWR);
    if (null == -1 || null == fd)
        return null == -1 ? -1 : 0;
    int result = dup2(null, fd);
    close(null);
    return result == -1 ? -1 : 0;
}

int
descriptors_secure(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && descriptors_null(fd) == -1)
            return -1;
    return 0;
}

static int
ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int
descriptors_close_others(const int *keep, size_t count)
{
    int sorted[DESCRIPTORS_KEEP_MAX];
    unsigned next = 3;
    memcpy(sorted, keep, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t i = 0; i < count; i++) {
        if (sorted[i] < (int)next)
            continue;
        if ((unsigned)sorted[i] > next &&
            syscall(SYS_close_range, next, (unsigned)sorted[i] - 1, 0) == -1)
            return -1;
        next = (unsigned)sorted[i] + 1;
    }
    return (int)syscall(SYS_close_range, next, ~0u, 0);
}

int
descriptors_number(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    bool good = *text >= '0' && *text <= '9' && *end == '\0' && number <= HIGHEST;
    return good ? (int)number : -1;
}

int
descriptors_pipe(int ends[2], int nonblock)
{
    if (pipe2(ends, O_CLOEXEC) == -1)
        return -1;
    for (int end = 0; end < 2; end++)
        if (nonblock & 1 << end)
            fcntl(ends[end], F_SETFL, fcntl(ends[end], F_GETFL) | O_NONBLOCK);
    return 0;
}
