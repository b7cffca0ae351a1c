/* SPDX-License-Identifier: MIT */
#include "master/socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

int
socket_file_note(struct socket_file *file, const char *path)
{
    struct stat status;
    if (lstat(path, &status) == -1)
        return -1;
    *file = (struct socket_file){status.st_dev, status.st_ino};
    return 0;
}

void
socket_file_remove(const struct socket_file *file, const char *path)
{
    struct socket_file now;
    if (socket_file_note(&now, path) == 0 && now.device == file->device && now.inode == file->inode)
        unlink(path);
}
