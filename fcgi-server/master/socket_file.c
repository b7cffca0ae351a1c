/* SPDX-License-Identifier: MIT */
#include "master/socket_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAIL(...) (snprintf(error, error_size, __VA_ARGS__), -1)

int
socket_file_address(struct sockaddr_un *address, const char *path, char *error, size_t error_size)
{
    size_t most = sizeof address->sun_path - 1;
    if (path[0] == '\0')
        return FAIL("the path is missing; expected one such as /run/fcgi-server/socket");
    if (strlen(path) > most)
        return FAIL("%s: the path has %zu bytes, a socket's may have at most %zu; give a shorter "
                    "one",
                    path, strlen(path), most);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(address->sun_path, path);
    return 0;
}

static int
new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes a stale socket at <address>. Returns 0 if the path is free now. */
static int
clear_path(const struct sockaddr_un *address, char *error, size_t error_size)
{
    struct stat status;
    const char *path = address->sun_path;
    if (lstat(path, &status) == -1)
        return errno == ENOENT ? 0 : FAIL("%s: %s", path, strerror(errno));
    if (!S_ISSOCK(status.st_mode))
        return FAIL("%s: the file there is not a socket; remove it, or give another path", path);
    int probe = new_socket();
    if (probe == -1)
        return FAIL("%s: %s", path, strerror(errno));
    int result = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int reason = errno;
    close(probe);
    if (result == 0 || reason == EAGAIN)
        return FAIL("%s: another server answers there; stop it first, or give another path", path);
    if (reason != ECONNREFUSED)
        return FAIL("%s: cannot tell whether it is in use: %s", path, strerror(reason));
    if (unlink(path) == -1)
        return FAIL("%s: cannot remove the stale socket: %s", path, strerror(errno));
    return 0;
}

/* Absolute: the current folder may be another one at the end. */
static const char *
lasting_path(const char *path)
{
    char *lasting = NULL;
    char *folder = path[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (folder == NULL || asprintf(&lasting, "%s/%s", folder, path) == -1)
        lasting = strdup(path);
    free(folder);
    return lasting;
}

static int
note(struct socket_file *file, const char *path)
{
    struct stat status;
    if (lstat(path, &status) == -1)
        return -1;
    *file = (struct socket_file){lasting_path(path), status.st_dev, status.st_ino};
    return 0;
}

int
socket_file_bind(struct socket_file *file, const char *path, mode_t mode, char *error,
                 size_t error_size)
{
    struct sockaddr_un address;
    if (socket_file_address(&address, path, error, error_size) == -1 ||
        clear_path(&address, error, error_size) == -1)
        return -1;
    int fd = new_socket();
    if (fd == -1)
        return FAIL("%s: %s", path, strerror(errno));
    mode_t before = umask(0777 & ~mode);
    int result = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(before);
    if (result == 0 && note(file, path) == 0)
        return fd;
    result = FAIL("%s: %s%s", path, strerror(errno),
                  errno == ENOENT   ? "; create its folder first"
                  : errno == EACCES ? "; give a folder that this user may write to"
                                    : "");
    close(fd);
    return result;
}

bool
socket_file_present(const struct socket_file *file)
{
    struct stat now;
    return file->path != NULL && lstat(file->path, &now) == 0 && now.st_dev == file->device &&
           now.st_ino == file->inode;
}

void
socket_file_remove(struct socket_file *file)
{
    if (socket_file_present(file))
        unlink(file->path);
    file->path = NULL;
}
