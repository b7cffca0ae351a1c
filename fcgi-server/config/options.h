/* SPDX-License-Identifier: MIT */
/*
 * options.h - values of the option table as text; used by config.c only.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>

struct config;
struct config_error;
struct config_option;

/* The row called <name>, where '_' may stand for '-'; NULL if there is none. */
const struct config_option *option_find(const char *name);

/* Sets the option from <text>; an empty text gives a CONFIG_TEXT its default
 * back (unset, mostly), unless it stands on the command line only. Not for CONFIG_ROUTE. Returns 0,
 * or -1 with <error>, which names <origin>. */
int option_parse(struct config *config, const struct config_option *option, const char *text,
                 const char *origin, struct config_error *error);

/* Prints "name = value" as a line of the configuration file. */
void option_print(FILE *out, const struct config *config, const struct config_option *option);

/* Prints a Lua string literal. */
void option_print_text(FILE *out, const char *text);

#endif
