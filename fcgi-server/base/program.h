/* SPDX-License-Identifier: MIT */
/* program.h - the path of this program. */
#ifndef PROGRAM_H
#define PROGRAM_H

/* The path of this program at its start; the file there may have been replaced since. "" if
 * neither /proc nor the kernel tells. Call it once before the current folder changes. */
const char *program_path(void);

#endif
