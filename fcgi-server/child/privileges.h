/* SPDX-License-Identifier: MIT */
/*
 * privileges.h - user, group, chroot and limits of a child.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

struct config;
struct config_error;

/* Checks that user, group and chroot of <config> exist and are permitted to this
 * process. Returns 0, or -1 with <error>. */
int privileges_check(const struct config *config, struct config_error *error);

/* Sets the limits, then enters the chroot, then changes the user for good. Call it
 * in a child before handler code runs. Returns 0, or -1 with <error>. */
int privileges_drop(const struct config *config, struct config_error *error);

/* Raises the soft limit of open files to the hard one: the master holds one
 * descriptor per child. */
void privileges_raise_files(void);

#endif
