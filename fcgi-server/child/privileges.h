/* SPDX-License-Identifier: MIT */
/*
 * privileges.h - who a child is and what it may use: user, group, chroot, limits.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

struct config;
struct config_error;

/* Checks that user, group and chroot of <config> exist and may be taken by this
 * process. Returns 0, or -1 with <error>. */
int privileges_check(const struct config *config, struct config_error *error);

/* Sets the limits, then enters the chroot, then becomes the user for good. For a
 * child before it runs handler code. Returns 0, or -1 with <error>. */
int privileges_drop(const struct config *config, struct config_error *error);

/* Raises the soft limit of open files to the hard one: the master holds one
 * descriptor per child. */
void privileges_raise_files(void);

#endif
