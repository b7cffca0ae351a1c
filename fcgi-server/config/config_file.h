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
 * file, line and reason. A file that runs too long is given up. */
int config_file_read(struct config *config, const char *path, struct config_error *error);

/* A memfd with what <path> holds now, for a reload: the check and the new master
 * read this instead of the file, if it is passed on in FCGI_SERVER_CONFIG, so
 * that what was checked is what runs. Returns it, or -1 with errno. */
int config_file_snapshot(const char *path);

#endif
