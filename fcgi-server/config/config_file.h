/* SPDX-License-Identifier: MIT */
/*
 * config_file.h - the configuration file: a Lua script whose assignments are
 * options and which calls route(path, handler, argument). It runs in a state of
 * its own that lives only as long as the reading, without files, processes or
 * modules: string, table, math, and getenv(name).
 */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

struct config;
struct config_error;

/* Runs <path> and stores what it says in <config>. Returns 0, or -1 with <error>:
 * file, line and reason. A file that runs too long is stopped. */
int config_file_read(struct config *config, const char *path, struct config_error *error);

/* Copies <path> into a memfd, for a reload. The check and the new master read the copy, which
 * FCGI_SERVER_CONFIG names, instead of the file: what was checked is what runs. Returns the
 * memfd, or -1 with errno. */
int config_file_snapshot(const char *path);

#endif
