/* SPDX-License-Identifier: MIT */
#include "config/options.h"
#include "config/config.h"
#include "config/engines.h"
#include "config/option_value.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field)    offsetof(struct config, field), sizeof(((struct config *)0)->field)
#define DAY_MS       86400000
#define ALWAYS       false /* allowed in the configuration file, too */
#define ONLY_COMMAND true

const struct option_row options_table[] = {
    {"config", 'c', OPTION_TEXT, ONLY_COMMAND, AT(file), 0, 0, NULL, "FILE",
     "read the configuration file"},
    {"listen", 'l', OPTION_TEXT, ALWAYS, AT(listen), 0, 0, NULL, "ADDRESS",
     "unix:/path, host:port, [v6]:port or fd:N"},
    {"children", 'n', OPTION_COUNT, ALWAYS, AT(children), 0, 16384, NULL, "NUMBER",
     "number of children (the maximum with --pm dynamic or ondemand); 0: serve in this process"},
    {"engine", 'e', OPTION_ENUM, ALWAYS, AT(engine), 0, 0, ENGINES_DEFAULT, &ENGINES_WORDS[1],
     "how a child serves its connections"},
    {"route", 'r', OPTION_ROUTE, ONLY_COMMAND, 0, 0, 0, 0, NULL, "PATH=HANDLER[,ARG]",
     "let HANDLER answer PATH and everything below it; may be repeated"},
    {"test", 't', OPTION_FLAG, ONLY_COMMAND, AT(test), 0, 0, "no", NULL,
     "check the configuration and all handlers, then exit"},
    {"dump", 'T', OPTION_FLAG, ONLY_COMMAND, AT(dump), 0, 0, "no", NULL,
     "print the effective configuration, then exit"},
    {"help", 'h', OPTION_FLAG, ONLY_COMMAND, AT(help), 0, 0, "no", NULL,
     "print this help, then exit"},
    {"version", 'V', OPTION_FLAG, ONLY_COMMAND, AT(version), 0, 0, "no", NULL,
     "print the version, then exit"},
    {"status", 0, OPTION_TEXT, ONLY_COMMAND, AT(status), 0, 0, NULL, "SOCKET",
     "print the status of the server with this control socket, then exit"},
    {"status-format", 0, OPTION_TEXT, ONLY_COMMAND, AT(status_format), 0, 0, "full", "QUERY",
     "form of --status: text, json, openmetrics, full; join several with '&'"},

    {"backlog", 'b', OPTION_COUNT, ALWAYS, AT(backlog), 1, 65535, "4096", "NUMBER",
     "length of the listen queue"},
    {"socket-mode", 0, OPTION_MODE, ALWAYS, AT(socket_mode), 0, 0777, "0660", "OCTAL",
     "permissions of the unix socket"},
    {"socket-owner", 0, OPTION_TEXT, ALWAYS, AT(socket_owner), 0, 0, NULL, "USER[:GROUP]",
     "owner of the unix socket"},
    {"allowed-clients", 0, OPTION_TEXT, ALWAYS, AT(allowed_clients), 0, 0, NULL, "LIST",
     "addresses and networks that may connect over TCP, separated by commas"},
    {"pid-file", 'p', OPTION_TEXT, ALWAYS, AT(pid_file), 0, 0, NULL, "FILE",
     "write the master's process id to this file"},
    {"control", 0, OPTION_TEXT, ALWAYS, AT(control), 0, 0, NULL, "SOCKET",
     "control socket: gives the status even when all children are busy"},
    {"ready-fd", 0, OPTION_COUNT, ONLY_COMMAND, AT(ready_fd), 0, 65535, NULL, "NUMBER",
     "write a newline to this descriptor once all children are ready"},
    {"pool", 0, OPTION_TEXT, ALWAYS, AT(pool), 0, 0, "fcgi-server", "NAME",
     "name of the pool in status, logs and process titles"},

    {"pm", 0, OPTION_ENUM, ALWAYS, AT(pm), 0, 2, "static", "static|dynamic|ondemand",
     "how the number of children follows the load"},
    {"max-children", 0, OPTION_COUNT, ALWAYS, AT(children), 0, 16384, NULL, "NUMBER",
     "the same as --children"},
    {"start-servers", 0, OPTION_COUNT, ALWAYS, AT(start_servers), 0, 16384, "0", "NUMBER",
     "dynamic: children at the start; 0: midway between min-spare and max-spare"},
    {"min-spare", 0, OPTION_COUNT, ALWAYS, AT(min_spare), 1, 16384, "1", "NUMBER",
     "dynamic: start more when fewer are idle"},
    {"max-spare", 0, OPTION_COUNT, ALWAYS, AT(max_spare), 1, 16384, "3", "NUMBER",
     "dynamic: end some when more are idle"},
    {"spawn-rate", 0, OPTION_COUNT, ALWAYS, AT(spawn_rate), 1, 16384, "32", "NUMBER",
     "dynamic and ondemand: start at most this many children at once"},
    {"idle-timeout", 0, OPTION_TIME, ALWAYS, AT(idle_timeout_ms), 1, DAY_MS, "10s", "TIME",
     "ondemand: end a child that has been idle for this long"},
    {"max-requests", 0, OPTION_COUNT, ALWAYS, AT(max_requests), 0, INT64_MAX, "0", "NUMBER",
     "replace a child after this many requests plus up to 10 %; 0: never"},
    {"memory-limit", 0, OPTION_SIZE, ALWAYS, AT(memory_limit), 0, INT64_MAX, "0", "SIZE",
     "replace a child that uses more private memory than this; 0: never"},
    {"stop-timeout", 0, OPTION_TIME, ALWAYS, AT(stop_timeout_ms), 0, DAY_MS, "30s", "TIME",
     "time that requests have to finish after a stop or a reload"},
    {"check-timeout", 0, OPTION_TIME, ALWAYS, AT(check_timeout_ms), 1, DAY_MS, "60s", "TIME",
     "time limit for checking a reload, and again for the new program to start"},
    {"user", 'u', OPTION_TEXT, ALWAYS, AT(user), 0, 0, NULL, "NAME", "run children as this user"},
    {"group", 'g', OPTION_TEXT, ALWAYS, AT(group), 0, 0, NULL, "NAME",
     "run children as this group"},
    {"chroot", 0, OPTION_TEXT, ALWAYS, AT(chroot), 0, 0, NULL, "FOLDER",
     "confine children to this folder; handlers are searched in it"},
    {"rlimit-files", 0, OPTION_COUNT, ALWAYS, AT(rlimit_files), 0, 1048576, "0", "NUMBER",
     "limit of open files of a child; 0: the hard limit"},
    {"rlimit-core", 0, OPTION_BYTES, ALWAYS, AT(rlimit_core), -1, INT64_MAX, "-1", "SIZE",
     "size limit of a core dump of a child; -1: unchanged"},

    {"request-timeout", 0, OPTION_TIME, ALWAYS, AT(request_timeout_ms), 0, DAY_MS, "0", "TIME",
     "answer 504 and replace the child after this time; 0: never"},
    {"read-timeout", 0, OPTION_TIME, ALWAYS, AT(read_timeout_ms), 1, DAY_MS, "10s", "TIME",
     "drop a request that has not arrived completely after this time"},
    {"keep-timeout", 0, OPTION_TIME, ALWAYS, AT(keep_timeout_ms), 1, DAY_MS, "75s", "TIME",
     "close a kept connection that has been idle for this long"},
    {"queue-deadline", 0, OPTION_TIME, ALWAYS, AT(queue_deadline_ms), 0, DAY_MS, "0", "TIME",
     "answer 503 to a request that waited longer than this; 0: never"},
    {"params-max", 0, OPTION_SIZE, ALWAYS, AT(params_max), 4096, 1 << 30, "256k", "SIZE",
     "largest parameters of a request; answer 431 beyond"},
    {"body-max", 0, OPTION_SIZE, ALWAYS, AT(body_max), 0, INT64_MAX, "64m", "SIZE",
     "largest body of a request; answer 413 beyond"},
    {"connections-max", 0, OPTION_COUNT, ALWAYS, AT(connections_max), 1, 1000000, "4096", "NUMBER",
     "most connections of one child"},
    {"requests-max", 0, OPTION_COUNT, ALWAYS, AT(requests_max), 1, 1000000, "1024", "NUMBER",
     "most requests that one child works on at the same time"},

    {"handlers-dir", 0, OPTION_TEXT, ALWAYS, AT(handlers_dir), 0, 0, NULL, "FOLDER",
     "search handlers in this folder first"},
    {"status-path", 0, OPTION_TEXT, ALWAYS, AT(status_path), 0, 0, NULL, "PATH",
     "answer PATH with the status"},
    {"ping-path", 0, OPTION_TEXT, ALWAYS, AT(ping_path), 0, 0, NULL, "PATH",
     "answer PATH with \"pong\""},
    {"allow-lua-os", 0, OPTION_FLAG, ALWAYS, AT(allow_lua_os), 0, 0, "no", NULL,
     "give Lua handlers the whole standard library"},
    {"lua-memory", 0, OPTION_SIZE, ALWAYS, AT(lua_memory), 1 << 20, INT64_MAX, "128m", "SIZE",
     "memory of all Lua handlers of a child; answer 500 beyond"},
    {"lua-no-jit", 0, OPTION_FLAG, ALWAYS, AT(lua_no_jit), 0, 0, "no", NULL,
     "interpret Lua only: slower, but --request-timeout can stop every loop"},

    {"log", 0, OPTION_TEXT, ALWAYS, AT(log), 0, 0, "stderr", "TARGET",
     "write the log to this file, stderr or syslog"},
    {"log-level", 0, OPTION_ENUM, ALWAYS, AT(log_level), 0, 4, "notice",
     "error|warn|notice|info|debug", "log this level and the more serious ones"},
    {"decorate", 0, OPTION_ENUM, ALWAYS, AT(decorate), 0, 1, "yes", "no|yes",
     "put time and process id before lines that handlers print"},
    {"access-log", 0, OPTION_TEXT, ALWAYS, AT(access_log), 0, 0, NULL, "FILE",
     "write one line for each request to this file"},
    {"access-format", 0, OPTION_TEXT, ALWAYS, AT(access_format), 0, 0,
     "%R - %u %t \"%m %r%q\" %s %o %d", "FORMAT", "format of that line; see the manual"},
    {"slow-log", 0, OPTION_TEXT, ALWAYS, AT(slow_log), 0, 0, NULL, "FILE",
     "write slow requests to this file instead of the log"},
    {"slow-ms", 0, OPTION_COUNT, ALWAYS, AT(slow_ms), 0, DAY_MS, "0", "MS",
     "log requests that take longer than this; 0: none"},
};

const size_t options_count = sizeof options_table / sizeof *options_table;

static bool
name_equals(const char *option, const char *text)
{
    for (; *option != '\0' && *text != '\0'; option++, text++)
        if (*option != *text && !(*option == '-' && *text == '_'))
            return false;
    return *option == *text;
}

const struct option_row *
options_find(const char *name)
{
    for (size_t i = 0; i < options_count; i++)
        if (name_equals(options_table[i].name, name))
            return &options_table[i];
    return NULL;
}

/* --- setting ---------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int
fail(struct config_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

int
options_add_route(struct config *config, const char *prefix, const char *handler,
                  const char *argument, const char *origin, struct config_error *error)
{
    if (prefix[0] != '/')
        return fail(error, "route '%s' (%s): a path must begin with '/'", prefix, origin);
    if (handler[0] == '\0')
        return fail(error, "route '%s' (%s): the handler is missing", prefix, origin);
    char *copy = strdup(prefix);
    char *name = strdup(handler);
    if (copy == NULL || name == NULL) {
        free(copy);
        free(name);
        return fail(error, "route '%s' (%s): out of memory", prefix, origin);
    }
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';

    uint32_t at = 0;
    while (at < config->route_count && strcmp(config->routes[at].prefix, copy) != 0)
        at++;
    if (at == CONFIG_ROUTES_MAX)
        return fail(error, "route '%s' (%s): too many routes; at most %d are allowed", prefix,
                    origin, CONFIG_ROUTES_MAX);
    if (at == config->route_count)
        config->route_count++;
    config->routes[at] = (struct config_route){
        .prefix = copy,
        .handler = name,
        .argument = argument != NULL ? strdup(argument) : NULL,
        .origin = origin,
    };
    return 0;
}

/* PATH=HANDLER[,ARG] as -r has it. */
static int
add_route_text(struct config *config, const char *text, struct config_error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return fail(error, "route '%s' (-r): '=' is missing; expected PATH=HANDLER[,ARG]", text);
    const char *comma = strchr(equals, ',');
    size_t handler_length = comma != NULL ? (size_t)(comma - equals - 1) : strlen(equals + 1);
    char *prefix = strndup(text, (size_t)(equals - text));
    char *handler = strndup(equals + 1, handler_length);
    const char *argument = comma != NULL ? comma + 1 : NULL;
    int result = prefix != NULL && handler != NULL
                     ? options_add_route(config, prefix, handler, argument, "-r", error)
                     : fail(error, "route '%s' (-r): out of memory", text);
    free(prefix);
    free(handler);
    return result;
}

int
options_set(struct config *config, const char *name, const char *value, const char *origin,
            struct config_error *error)
{
    const struct option_row *option = options_find(name);
    if (option == NULL)
        return fail(error, "unknown option '%s' (%s); see fcgi-server --help", name, origin);
    if (option->type == OPTION_ROUTE)
        return add_route_text(config, value, error);
    if (option_value_parse(config, option, value, origin, error) == -1)
        return -1;
    if (option->offset == offsetof(struct config, listen))
        config->listen_origin = origin;
    if (option->offset == offsetof(struct config, children))
        config->children_origin = origin;
    return 0;
}

/* --- showing ---------------------------------------------------------------------- */

void
options_dump(const struct config *config)
{
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *option = &options_table[i];
        bool alias = options_find("children")->offset == option->offset && option->letter == 0;
        if (option->command_only || alias)
            continue;
        for (const char *name = option->name; *name != '\0'; name++)
            putchar(*name == '-' ? '_' : *name);
        fputs(" = ", stdout);
        option_value_print(stdout, config, option);
        putchar('\n');
    }
    for (uint32_t i = 0; i < config->route_count; i++) {
        const struct config_route *route = &config->routes[i];
        if (strncmp(route->handler, "builtin:", 8) == 0)
            continue; /* status_path and ping_path print these */
        fputs("route(", stdout);
        option_value_print_text(stdout, route->prefix);
        fputs(", ", stdout);
        option_value_print_text(stdout, route->handler);
        if (route->argument != NULL) {
            fputs(", ", stdout);
            option_value_print_text(stdout, route->argument);
        }
        printf(") -- %s\n", route->origin);
    }
}

void
options_help(void)
{
    puts("usage: fcgi-server [-c FILE] [-l ADDRESS] [-n CHILDREN] [-e ENGINE] "
         "[-r PATH=HANDLER[,ARG]]... [-t|-T]\n");
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *option = &options_table[i];
        char left[64];
        const char *units =
            option->units != NULL && strchr(option->units, '|') ? "WORD" : option->units;
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", option->letter ? '-' : ' ',
                 option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
                 units != NULL ? "=" : "", units != NULL ? units : "");
        printf("  %-38s %s", left, option->help);
        if (units != NULL && units != option->units)
            printf(": %s", option->units);
        if (option->initial != NULL && units != NULL)
            printf(" [%s]", option->initial);
        putchar('\n');
    }
    puts("\nThe configuration file takes every option but -c, -r, -t, -T, -h, -V, --status,\n"
         "--status-format and --ready-fd, with '_' for '-'. See fcgi-server(8).");
}
