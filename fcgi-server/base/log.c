/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE  8192
#define CHILD_MARK '\x1e' /* begins a child's own line: mark, level digit, text */
#define SYSLOG_LEVEL(level)                                                                        \
    ((const int[]){LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG}[level])

static struct {
    const char *target;
    int fd;
    enum log_level level;
    bool syslog;
    bool may_block; /* not a regular file: ask before writing */
    bool child;
    unsigned long dropped;
} log_state = {
    .target = "stderr", .fd = STDERR_FILENO, .level = LOG_LEVEL_NOTICE, .may_block = true};

static const char *const level_names[] = {"error", "warn", "notice", "info", "debug"};

/* --- where lines go ------------------------------------------------------------- */

static int
open_syslog(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd != -1 && connect(fd, (struct sockaddr *)&address, sizeof address) == -1) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

int
log_open(const char *target, enum log_level level)
{
    bool is_syslog = strcmp(target, "syslog") == 0;
    int fd;
    if (strcmp(target, "stderr") == 0)
        fd = STDERR_FILENO;
    else if (is_syslog)
        fd = open_syslog();
    else
        fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
    if (fd == -1)
        return -1;
    if (log_state.fd > STDERR_FILENO)
        close(log_state.fd);
    struct stat status;
    log_state.target = target;
    log_state.level = level;
    log_state.syslog = is_syslog;
    log_state.fd = fd;
    log_state.may_block = fstat(fd, &status) == -1 || !S_ISREG(status.st_mode);
    return 0;
}

int
log_reopen(void)
{
    return log_open(log_state.target, log_state.level);
}

void
log_become_child(void)
{
    log_state.child = true;
    log_state.syslog = false;
    log_state.fd = STDERR_FILENO;
    log_state.may_block = false; /* the pipe to the master is non-blocking at this end */
}

/* One attempt; what does not go is lost, and counted. A line may be cut when the
 * disk fills up within it. */
static bool
put(const char *text, size_t length)
{
    struct pollfd ready = {.fd = log_state.fd, .events = POLLOUT};
    if (log_state.may_block && !log_state.syslog && poll(&ready, 1, 0) != 1)
        return false;
    ssize_t written;
    do
        written = write(log_state.fd, text, length);
    while (written == -1 && errno == EINTR);
    return written == (ssize_t)length;
}

static void
deliver(const char *text, size_t length)
{
    if (log_state.dropped > 0) {
        char note[80];
        int size = snprintf(note, sizeof note, "%lu log lines were lost before this one\n",
                            log_state.dropped);
        if (put(note, (size_t)size))
            log_state.dropped = 0;
    }
    if (!put(text, length))
        log_state.dropped++;
}

/* --- lines ------------------------------------------------------------------------ */

static size_t
stamp(char *text, size_t size)
{
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    size_t length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &local);
    length += (size_t)snprintf(text + length, size - length, ".%03ld", now.tv_nsec / 1000000);
    return length + strftime(text + length, size - length, "%z", &local);
}

/* "2026-01-31T12:00:00.123+0100 [42] warn: text\n", or what syslog takes. */
static void
write_line(enum log_level level, int pid, const char *text, size_t length)
{
    char line[LINE_SIZE + 128];
    size_t at;
    if (log_state.syslog)
        at = (size_t)snprintf(line, 128, "<%d>fcgi-server[%d]: ", LOG_DAEMON | SYSLOG_LEVEL(level),
                              pid);
    else {
        at = stamp(line, 64);
        at += (size_t)snprintf(line + at, 64, " [%d] %s: ", pid, level_names[level]);
    }
    memcpy(line + at, text, length);
    at += length;
    if (!log_state.syslog)
        line[at++] = '\n';
    deliver(line, at);
}

void
log_line(enum log_level level, const char *format, ...)
{
    if (level > log_state.level)
        return;
    int reason = errno;
    char text[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(text + 2, sizeof text - 3, format, arguments);
    va_end(arguments);
    size_t length = printed < 0 ? 0 : (size_t)printed;
    if (length > sizeof text - 4) {
        length = sizeof text - 4;
        memcpy(text + 2 + length - 3, "...", 3);
    }
    for (size_t i = 2; i < length + 2; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\t')
            text[i] = '?';
    if (log_state.child) {
        text[0] = CHILD_MARK;
        text[1] = (char)('0' + level);
        text[length + 2] = '\n';
        deliver(text, length + 3);
    } else {
        write_line(level, getpid(), text + 2, length);
    }
    errno = reason;
}

void
log_relay(int pid, const char *line, size_t length, int decorate)
{
    enum log_level level = LOG_LEVEL_NOTICE;
    int reason = errno;
    bool own = length >= 2 && line[0] == CHILD_MARK && line[1] >= '0' && line[1] <= '4';
    if (own) {
        level = (enum log_level)(line[1] - '0');
        line += 2;
        length -= 2;
    }
    if (own || decorate || log_state.syslog) {
        for (size_t done = 0; done < length || length == 0; done += LINE_SIZE) {
            size_t part = length - done < LINE_SIZE ? length - done : LINE_SIZE;
            write_line(level, pid, line + done, part);
            if (length == 0)
                break;
        }
    } else {
        char copy[LINE_SIZE + 1];
        for (size_t done = 0; done < length; done += LINE_SIZE) {
            size_t part = length - done < LINE_SIZE ? length - done : LINE_SIZE;
            memcpy(copy, line + done, part);
            if (done + part == length)
                copy[part] = '\n';
            deliver(copy, part + (done + part == length));
        }
    }
    errno = reason;
}
