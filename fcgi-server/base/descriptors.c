/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

int
descriptors_lift(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    close(fd);
    errno = reason;
    return lifted;
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
descriptors_send(int socket, const int *fds, size_t count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_SEND_MAX * sizeof(int))];
    int real[DESCRIPTORS_SEND_MAX];
    unsigned char places = 0;
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        if (fds[i] == -1)
            continue;
        places |= (unsigned char)(1 << i);
        real[sent++] = fds[i];
    }
    struct iovec bytes = {&places, sizeof places};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    if (sent > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sent * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sent * sizeof(int));
        memcpy(CMSG_DATA(header), real, sent * sizeof(int));
    }
    ssize_t result;
    do
        result = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (result == -1 && errno == EINTR);
    return result == -1 ? -1 : 0;
}

int
descriptors_receive(int socket, int *fds, size_t count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_SEND_MAX * sizeof(int))];
    unsigned char places = 0;
    struct iovec bytes = {&places, sizeof places};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t result;
    do
        result = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (result == -1 && errno == EINTR);
    if (result <= 0)
        return result == 0 || errno == EAGAIN ? 0 : -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    size_t got = header != NULL ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    for (size_t i = 0, taken = 0; i < count; i++) {
        fds[i] = -1;
        if ((places >> i & 1) != 0 && taken < got) {
            memcpy(&fds[i], CMSG_DATA(header) + taken * sizeof(int), sizeof(int));
            taken++;
        }
    }
    return 1;
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
