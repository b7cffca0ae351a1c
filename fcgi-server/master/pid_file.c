/* SPDX-License-Identifier: MIT */
#include "master/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Holds the lock: closing any descriptor of the file in this process would release it. Children
 * do not inherit a lock of this kind, and it ends with the process. */
static int held_fd = -1;

static struct flock
whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int
refuse(const char *path, int pid, char *error, size_t error_size)
{
    snprintf(error, error_size,
             "the pid file %s belongs to process %d, which is running; stop that server, or give "
             "this one another --pid-file",
             path, pid);
    return -1;
}

int
pid_file_check(const char *path, pid_t allowed, char *error, size_t error_size)
{
    struct flock lock = whole_file();
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd == -1)
        return 0;
    bool taken = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid != allowed;
    close(fd);
    return taken ? refuse(path, (int)lock.l_pid, error, error_size) : 0;
}

/* Opens or makes the file at <path> and locks it. Returns it, or -1 with errno; with EAGAIN,
 * <holder> has the lock. Somebody may remove the file between the opening and the locking. */
static int
open_locked(const char *path, int *holder)
{
    for (int tries = 0; tries < 10; tries++) {
        struct flock lock = whole_file();
        struct stat ours;
        struct stat there;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
        if (fd == -1)
            return -1;
        if (fcntl(fd, F_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES)) {
            fcntl(fd, F_GETLK, &lock);
            *holder = (int)lock.l_pid;
            close(fd);
            errno = EAGAIN;
            return -1;
        }
        if (fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
            ours.st_dev == there.st_dev)
            return fd;
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

int
pid_file_write(const char *path, char *error, size_t error_size)
{
    char text[24];
    int holder = 0;
    if (path == NULL)
        return 0;
    int fd = open_locked(path, &holder);
    if (fd == -1 && errno == EAGAIN)
        return refuse(path, holder, error, error_size);
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    /* Not truncated first: a reader finds either the old number or the new one. */
    if (fd == -1 || pwrite(fd, text, (size_t)length, 0) != length || ftruncate(fd, length) == -1) {
        snprintf(error, error_size, "cannot write the pid file %s: %s", path, strerror(errno));
        if (fd != -1)
            close(fd);
        return -1;
    }
    if (held_fd != -1)
        close(held_fd);
    held_fd = fd;
    return 0;
}

void
pid_file_remove(const char *path)
{
    int pid = 0;
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL)
        return;
    bool ours = fscanf(file, "%d", &pid) == 1 && pid == (int)getpid();
    if (ours)
        unlink(path);
    fclose(file); /* releases the lock */
}
