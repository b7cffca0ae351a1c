/* SPDX-License-Identifier: MIT */
#include "config/config_load.h"
#include "base/processors.h"
#include "base/program.h"
#include "config/client_list.h"
#include "config/config.h"
#include "config/config_file.h"
#include "config/option_value.h"
#include "config/options.h"

#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* getopt's codes for options without a letter. */
#define LONG_ONLY 256

__attribute__((format(printf, 2, 3))) static int
fail(struct config_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

static void
set_defaults(struct config *config)
{
    struct config_error error;
    *config = (struct config){.children = -1, .ready_fd = -1};
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *option = &options_table[i];
        if (option->initial != NULL)
            option_value_parse(config, option, option->initial, "default", &error);
    }
}

/* --- command line -------------------------------------------------------------- */

static void
make_getopt_tables(struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *option = &options_table[i];
        bool flag = option->type == OPTION_FLAG;
        longs[i] = (struct option){option->name, flag ? optional_argument : required_argument, NULL,
                                   LONG_ONLY + (int)i};
        if (option->letter != 0) {
            *shorts++ = option->letter;
            if (!flag)
                *shorts++ = ':';
        }
    }
    *shorts = '\0';
    longs[options_count] = (struct option){0};
}

static const struct option_row *
option_of_code(int code)
{
    if (code >= LONG_ONLY)
        return &options_table[code - LONG_ONLY];
    for (size_t i = 0; i < options_count; i++)
        if (options_table[i].letter == code)
            return &options_table[i];
    return NULL;
}

/* Reads the command line. The first pass, <only_file>, looks only for -c: the file
 * is read first, and the command line overrides it. */
static int
read_command_line(struct config *config, int argc, char **argv, bool only_file,
                  struct config_error *error)
{
    struct option longs[128];
    char shorts[256];
    make_getopt_tables(longs, shorts);
    opterr = 0;
    optind = 0; /* glibc: start anew */
    int code;
    while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == ':')
            return fail(error, "%s needs a value; see fcgi-server --help", argv[optind - 1]);
        if (code == '?' && optopt != 0) /* one letter of several, perhaps */
            return fail(error, "unknown option '-%c'; see fcgi-server --help", optopt);
        if (code == '?')
            return fail(error, "unknown option '%s'; see fcgi-server --help", argv[optind - 1]);
        const struct option_row *option = option_of_code(code);
        bool is_file = option->offset == offsetof(struct config, file) && option->letter == 'c';
        if (only_file != is_file)
            continue;
        const char *value = option->type == OPTION_FLAG && optarg == NULL ? "yes" : optarg;
        if (options_set(config, option->name, value, "command line", error) == -1)
            return -1;
    }
    if (optind < argc)
        return fail(error, "unexpected argument '%s'; see fcgi-server --help", argv[optind]);
    return 0;
}

/* --- what is left to decide ------------------------------------------------------ */

static int
decide_children(struct config *config, struct config_error *error)
{
    static const char *const variables[] = {"FCGI_CHILDREN", "PHP_FCGI_CHILDREN"};
    for (size_t i = 0; config->children < 0 && i < 2; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0' &&
            options_set(config, "children", value, variables[i], error) == -1)
            return -1;
    }
    if (config->children < 0) {
        bool quota_is_less;
        config->children = processors_usable("", &quota_is_less);
        config->children_origin =
            quota_is_less ? "CPU quota of the control group" : "number of CPUs";
    }
    return 0;
}

static int
check_pm(const struct config *config, struct config_error *error)
{
    if (config->pm == PM_STATIC || config->children == 0)
        return 0;
    if (config->pm == PM_DYNAMIC && config->min_spare > config->max_spare)
        return fail(error, "min_spare %u is more than max_spare %u", config->min_spare,
                    config->max_spare);
    if (config->pm == PM_DYNAMIC && (int64_t)config->min_spare > config->children)
        return fail(error, "min_spare %u is more than children %d (%s)", config->min_spare,
                    config->children, config->children_origin);
    if (config->pm == PM_DYNAMIC && (int64_t)config->start_servers > config->children)
        return fail(error, "start_servers %u is more than children %d (%s)", config->start_servers,
                    config->children, config->children_origin);
    return 0;
}

static int
check_words(const struct config *config, struct config_error *error)
{
    if (config->test && config->dump)
        return fail(error, "--test (-t) and --dump (-T) exclude each other; give one of them");
    if (config->group != NULL && config->user == NULL)
        return fail(error, "group '%s' is given without a user; give --user, too", config->group);
    return 0;
}

static char *
join(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) == -1 ? NULL : path;
}

/* Where handlers are looked for: next to the configuration, in the current
 * folder, then where a build or an installation has them. */
static void
decide_folders(struct config *config)
{
    uint32_t count = 0;
    char exe[PATH_MAX];
    char cwd[PATH_MAX] = "";
    snprintf(exe, sizeof exe, "%s", program_path());
    const char *bin = dirname(exe);
    char *file = config->file != NULL ? realpath(config->file, NULL) : NULL;
    if (config->handlers_dir != NULL)
        config->folders[count++] = realpath(config->handlers_dir, NULL);
    count -= count > 0 && config->folders[count - 1] == NULL;
    if (file != NULL)
        config->folders[count++] = strdup(dirname(file));
    if (getcwd(cwd, sizeof cwd) != NULL)
        config->folders[count++] = strdup(cwd);
    if (file != NULL)
        config->folders[count++] = join(file, "../handlers");
    config->folders[count++] = join(bin, "handlers");
    config->folders[count++] = join(bin, "../handlers");
    config->folders[count++] = join(bin, "../lib/fcgi-server");
    free(file);
}

static int
add_builtin_routes(struct config *config, struct config_error *error)
{
    if (config->status_path != NULL &&
        options_add_route(config, config->status_path, "builtin:status", NULL, "status_path",
                          error) == -1)
        return -1;
    if (config->ping_path != NULL && options_add_route(config, config->ping_path, "builtin:ping",
                                                       NULL, "ping_path", error) == -1)
        return -1;
    return 0;
}

int
config_load(struct config *config, int argc, char **argv, struct config_error *error)
{
    set_defaults(config);
    if (read_command_line(config, argc, argv, true, error) == -1)
        return -1;
    if (config->file != NULL && config_file_read(config, config->file, error) == -1)
        return -1;
    if (read_command_line(config, argc, argv, false, error) == -1)
        return -1;
    if (config->allowed_clients == NULL && getenv("FCGI_WEB_SERVER_ADDRS") != NULL &&
        options_set(config, "allowed-clients", getenv("FCGI_WEB_SERVER_ADDRS"),
                    "FCGI_WEB_SERVER_ADDRS", error) == -1)
        return -1;
    if (decide_children(config, error) == -1 || check_pm(config, error) == -1 ||
        check_words(config, error) == -1 || client_list_parse(config, error) == -1 ||
        add_builtin_routes(config, error) == -1)
        return -1;
    decide_folders(config);
    return 0;
}
