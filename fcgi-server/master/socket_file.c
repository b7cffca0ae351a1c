/* SPDX-License-Identifier: MIT */
#include "master/socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

int
own_file_note(struct own_file *file, const char *path)
{
    struct stat status;
    if (lstat(path, &status) == -1)
        return -1;
    *file = (struct own_file){status.st_dev, status.st_ino};
    return 0;
}

void
own_file_remove(const struct own_file *file, const char *path)
{
    struct own_file now;
    if (own_file_note(&now, path) == 0 && now.device == file->device && now.inode == file->inode)
        unlink(path);
}
