/* SPDX-License-Identifier: MIT */
/*
 * find_file.h - finds handler files and keeps them inside the folder that they were
 * looked for in.
 */
#ifndef FIND_FILE_H
#define FIND_FILE_H

#include <stddef.h>

/* Where <name> is: its absolute path, without symbolic links, in <path>. A
 * relative name is searched in <folders> (NULL at the end). A name with a ".."
 * part is refused, and so is a symbolic link that leads out of the folder.
 * Returns 0, or -1 with the reason, which names the file, in <error>. */
int find_file(const char *name, const char *const *folders, char *path, size_t path_size,
              char *error, size_t error_size);

#endif
