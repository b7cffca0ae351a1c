/* SPDX-License-Identifier: MIT */
/*
 * option_value.h - a row of the option table, and how its value is read from and written
 * as text. Other files decide what an option means.
 */
#ifndef OPTION_VALUE_H
#define OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct config;
struct config_error;

/* One row of the option table. The key in the file is <name> with '_' for '-'. */
enum option_type {
    OPTION_FLAG = 0,  /* bool; no value on the command line, or "yes"/"no" */
    OPTION_TEXT = 1,  /* const char * */
    OPTION_COUNT = 2, /* uint32_t, int32_t or uint64_t by size; plain number */
    OPTION_TIME = 3,  /* uint64_t milliseconds; "250ms", "2s", "1m"; a bare number is in <units> */
    OPTION_SIZE = 4,  /* uint64_t bytes; k, m, g */
    OPTION_MODE = 5,  /* uint32_t octal */
    OPTION_ENUM = 6,  /* uint32_t, index into the words of <units> separated by '|' */
    OPTION_ROUTE = 7, /* PATH=HANDLER[,ARG] appended to routes */
    OPTION_BYTES = 8, /* int64_t bytes; k, m, g, or -1 */
};

struct option_row {
    const char *name;
    char letter; /* 0: long form only */
    enum option_type type;
    bool command_only; /* not allowed in the file */
    size_t offset;
    size_t size;
    int64_t min;
    int64_t max;
    const char *initial; /* default, as one would write it; NULL: unset */
    const char *units;   /* name of the value in --help; words of an enum */
    const char *help;
};

/* Sets the option from <text>. An empty text gives an OPTION_TEXT or OPTION_ENUM its
 * default, unless the option is allowed on the command line only. Not for OPTION_ROUTE.
 * Returns 0, or -1 with <error>, which names <origin>. */
int option_value_parse(struct config *config, const struct option_row *option, const char *text,
                       const char *origin, struct config_error *error);

/* Prints the value as the configuration file has it. */
void option_value_print(FILE *out, const struct config *config, const struct option_row *option);

/* Prints a Lua string literal. */
void option_value_print_text(FILE *out, const char *text);

#endif
