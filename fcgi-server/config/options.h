/* SPDX-License-Identifier: MIT */
/*
 * options.h - the option table. It drives getopt, --help, -T, the keys of the file and the
 * test that compares the manual with all of them.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "config/option_value.h"

#include <stddef.h>

struct config;
struct config_error;

extern const struct option_row options_table[];
extern const size_t options_count;

/* The row called <name>, where '_' may stand for '-'; NULL if there is none. */
const struct option_row *options_find(const char *name);

/* Sets the option <name> (with '-' or '_') from its text. <origin> is kept for
 * messages and must live as long as the configuration. Returns 0, or -1 with
 * <error>. */
int options_set(struct config *config, const char *name, const char *value, const char *origin,
                struct config_error *error);

/* Adds or replaces a route. Strings are copied. Returns 0, or -1 with <error>. */
int options_add_route(struct config *config, const char *prefix, const char *handler,
                      const char *argument, const char *origin, struct config_error *error);

/* Prints the effective configuration in a form that -c reads back. */
void options_dump(const struct config *config);

/* Prints the usage, made from the table. */
void options_help(void);

#endif
