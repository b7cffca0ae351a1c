/* SPDX-License-Identifier: MIT */
/*
 * find_file.h - finds handler files, and refuses files outside the folder that was
 * searched.
 */
#ifndef FIND_FILE_H
#define FIND_FILE_H

#include <stddef.h>

/* Finds <name> and stores its absolute path, without symbolic links, in <path>. A
 * relative name is searched in <folders> (NULL at the end). A name with a ".."
 * part is refused, and so is a symbolic link that leads out of the folder.
 * Returns 0, or -1 with the reason, which names the file, in <error>. */
int find_file(const char *name, const char *const *folders, char *path, size_t path_size,
              char *error, size_t error_size);

#endif
