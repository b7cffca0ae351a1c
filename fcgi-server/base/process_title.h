/* SPDX-License-Identifier: MIT */
/*
 * process_title.h - what ps(1) shows: "fcgi-server: POOL master", "fcgi-server: POOL child,
 * ending".
 */
#ifndef PROCESS_TITLE_H
#define PROCESS_TITLE_H

/* Reserves the space of the arguments and of the environment for titles. Call it first in
 * main(): it moves environ, and replaces *<argv> by a copy. Returns 0, or -1 without memory
 * (titles then stay unchanged). */
int process_title_init(int argc, char ***argv);

/* The name between "fcgi-server:" and the role. <pool> must stay valid. */
void process_title_pool(const char *pool);

/* Shows <role>. */
void process_title_set(const char *role);

#endif
