/* SPDX-License-Identifier: MIT */
/* program.h - where this program is. */
#ifndef PROGRAM_H
#define PROGRAM_H

/* The path of this program, as it was started: what is there now may be another. "" if
 * neither /proc nor the kernel tells. Call it first before the current folder changes. */
const char *program_path(void);

#endif
