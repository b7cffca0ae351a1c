/* SPDX-License-Identifier: MIT */
#include "base/log_target.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSLOG_PATH "/dev/log"

/* O_NONBLOCK: opening a pipe that nobody reads, and writing to a full one, fail. */
#define PATH_FLAGS (O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* --- opening ------------------------------------------------------------------------- */

int
log_target_descriptor(const char *name)
{
    static const struct {
        const char *name;
        int fd;
    } words[] = {{"stdout", 1}, {"stderr", 2}, {"/dev/stdout", 1}, {"/dev/stderr", 2}};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (name == NULL)
        return -1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i].name) == 0)
            return words[i].fd;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(name, folders[i], strlen(folders[i])) == 0)
            return descriptors_number(name + strlen(folders[i]));
    return -1;
}

static bool
is_descriptor(const char *name)
{
    return log_target_descriptor(name) != -1;
}

/* Others share a pipe or terminal and may want blocking writes: we open it once more for
 * ourselves where that is possible. */
static int
open_descriptor(const char *name)
{
    struct stat status;
    char path[40];
    int number = log_target_descriptor(name);
    int flags = fcntl(number, F_GETFL);
    if (flags == -1 || fstat(number, &status) == -1)
        return -1;
    if ((flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    int fd = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) ? open(path, PATH_FLAGS) : -1;
    if (fd != -1)
        return fd;
    if (S_ISREG(status.st_mode))
        fcntl(number, F_SETFL, flags | O_APPEND); /* logrotate's copytruncate shortens the file */
    else if (!S_ISSOCK(status.st_mode))
        fcntl(number, F_SETFL, flags | O_NONBLOCK);
    return fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Datagrams, or a stream if the other side expects one. */
static int
open_socket(const char *path)
{
    static const int types[] = {SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd == -1 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        int reason = errno;
        close(fd);
        errno = reason;
        if (reason != EPROTOTYPE)
            break;
    }
    return -1;
}

static bool
is_syslog(const char *name)
{
    return strcmp(name, "syslog") == 0;
}

static int
open_syslog(const char *name)
{
    (void)name;
    return open_socket(SYSLOG_PATH);
}

static mode_t
kind_of_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

static bool
is_pipe(const char *path)
{
    return kind_of_file(path) == S_IFIFO;
}

static int
open_pipe(const char *path)
{
    return open(path, PATH_FLAGS);
}

static bool
is_socket(const char *path)
{
    return kind_of_file(path) == S_IFSOCK;
}

static bool
is_path(const char *path)
{
    return *path != '\0';
}

/* Mode 0640 less the umask of the start: a handler may have changed it since. */
static int
open_file(const char *path)
{
    static mode_t mask = (mode_t)-1;
    if (mask == (mode_t)-1) {
        mask = umask(0);
        umask(mask);
    }
    int fd = open(path, PATH_FLAGS);
    if (fd != -1 || errno != ENOENT)
        return fd;
    fd = open(path, PATH_FLAGS | O_CREAT | O_EXCL, 0600);
    if (fd == -1 && errno == EEXIST) /* another process has just made it */
        return open(path, PATH_FLAGS);
    if (fd != -1)
        fchmod(fd, 0640 & ~mask);
    return fd;
}

/* Every kind of target; the first whose knows() is true opens it. */
static const struct kind {
    const char *what; /* in messages, before the name */
    bool (*knows)(const char *name);
    int (*open)(const char *name);
    const char *absent; /* what to do when nobody is there */
} kinds[] = {
    {"inherited descriptor ", is_descriptor, open_descriptor, "nobody reads it any longer"},
    {"", is_syslog, open_syslog, "no syslog daemon listens at " SYSLOG_PATH},
    {"pipe ", is_pipe, open_pipe, "nobody reads it; start its reader first"},
    {"socket ", is_socket, open_socket, "nobody listens there; start its reader first"},
    {"", is_path, open_file, "the device does not exist"},
};

bool
log_target_may_come(int reason)
{
    return reason == ENXIO || reason == ECONNREFUSED || reason == EAGAIN;
}

/* The path made absolute: this process may change its folder later. */
static const char *
lasting_name(const char *name)
{
    char *path;
    char *folder = NULL;
    if (name[0] == '/' || is_descriptor(name) || is_syslog(name) ||
        (folder = getcwd(NULL, 0)) == NULL)
        return name;
    int length = asprintf(&path, "%s/%s", folder, name);
    free(folder);
    return length == -1 ? name : path;
}

static void
drop_rest(struct log_target *target)
{
    for (size_t i = 0; i < target->rest_used; i++)
        target->lost += target->rest[i] == '\n';
    target->rest_used = 0;
}

static int
make_room(struct log_target *target, size_t room)
{
    size_t size = room > LOG_TARGET_LINE_MAX ? room : LOG_TARGET_LINE_MAX;
    target->keeps_lines = room > 0;
    if (target->rest_size >= size)
        return 0;
    char *rest = realloc(target->rest, size);
    if (rest == NULL)
        return -1;
    target->rest = rest;
    target->rest_size = size;
    return 0;
}

void
log_target_take(struct log_target *target, int fd)
{
    struct stat status;
    int type = 0;
    socklen_t size = sizeof type;
    if (target->rest_used > 0 && !log_target_flush(target))
        drop_rest(target);
    if (target->fd > STDERR_FILENO)
        close(target->fd);
    target->fd = fd;
    target->broken = false;
    target->socket = fd != -1 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    target->datagram = target->socket && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                       type != SOCK_STREAM;
}

int
log_target_open(struct log_target *target, const char *name, size_t room, char *error,
                size_t error_size)
{
    if (name == NULL) {
        log_target_take(target, -1);
        target->name = NULL;
        return 0;
    }
    if (target->name == NULL || strcmp(target->name, name) != 0)
        target->name = lasting_name(name);
    const struct kind *kind = kinds;
    while (!kind->knows(target->name) && kind + 1 < kinds + sizeof kinds / sizeof *kinds)
        kind++;
    int fd = make_room(target, room) == 0 ? kind->open(target->name) : -1;
    if (fd == -1) {
        int reason = errno;
        snprintf(error, error_size, "cannot open the %s%s: %s", kind->what, name,
                 log_target_may_come(reason) ? kind->absent : strerror(reason));
        target->broken = log_target_may_come(reason);
        target->reason = reason;
        errno = reason;
        return -1;
    }
    target->syslog = kind->open == open_syslog;
    log_target_take(target, fd);
    return 0;
}

int
log_target_reopen(struct log_target *target, char *error, size_t error_size)
{
    size_t room = target->keeps_lines ? target->rest_size : 0;
    return log_target_open(target, target->name, room, error, error_size);
}

/* --- writing ------------------------------------------------------------------------- */

/* Writes once. Returns the bytes written, or -1 with errno. A datagram is written whole or
 * not at all, without its line end. */
static ssize_t
attempt(const struct log_target *target, const char *text, size_t length)
{
    bool end = target->datagram && length > 0 && text[length - 1] == '\n';
    ssize_t written;
    do {
        if (target->socket)
            written = send(target->fd, text, length - end, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            written = write(target->fd, text, length);
    } while (written == -1 && errno == EINTR);
    return written >= 0 && target->datagram ? (ssize_t)length : written;
}

static bool
lose(struct log_target *target, int reason)
{
    target->lost++;
    target->reason = reason;
    return false;
}

/* Whether another attempt may succeed. */
static bool
is_passing(int reason)
{
    return reason == EAGAIN || reason == ENOBUFS || reason == ENOMEM || reason == ENOSPC ||
           reason == EDQUOT;
}

bool
log_target_flush(struct log_target *target)
{
    size_t done = 0;
    while (target->fd != -1 && done < target->rest_used) {
        const char *text = target->rest + done;
        size_t length = target->rest_used - done;
        const char *end = target->datagram ? memchr(text, '\n', length) : NULL;
        ssize_t written = attempt(target, text, end != NULL ? (size_t)(end - text) + 1 : length);
        if (written == -1) {
            target->reason = errno;
            target->broken = !is_passing(errno);
            break;
        }
        done += (size_t)written;
    }
    target->rest_used -= done;
    memmove(target->rest, target->rest + done, target->rest_used);
    if (target->broken && target->rest_used > 0)
        drop_rest(target);
    return target->rest_used == 0;
}

static bool
keep(struct log_target *target, const char *text, size_t length)
{
    if (length > target->rest_size - target->rest_used)
        return false;
    memcpy(target->rest + target->rest_used, text, length);
    target->rest_used += length;
    return true;
}

bool
log_target_put(struct log_target *target, const char *line, size_t length)
{
    if (target->fd == -1)
        return lose(target, target->reason != 0 ? target->reason : EBADF);
    if (target->rest_used > 0 && !log_target_flush(target))
        return (target->keeps_lines && keep(target, line, length)) || lose(target, EAGAIN);
    ssize_t written = attempt(target, line, length);
    if (written == (ssize_t)length) {
        target->broken = false;
        return true;
    }
    int reason = written == -1 ? errno : EAGAIN;
    if (written == -1) {
        written = 0;
        target->broken = !is_passing(reason);
    }
    bool waits = written > 0 || (target->keeps_lines && !target->broken);
    return (waits && keep(target, line + written, length - (size_t)written)) ||
           lose(target, reason);
}
