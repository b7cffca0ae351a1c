/* SPDX-License-Identifier: MIT */
/*
 * options.c - the option table, and how a value is read from and written as text.
 * What an option means is decided elsewhere.
 */
#include "config/options.h"
#include "config/config.h"
#include "config/engines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field)    offsetof(struct config, field), sizeof(((struct config *)0)->field)
#define U32_LIMIT    4294967295
#define DAY_MS       86400000
#define ALWAYS       false /* may stand in the file, too */
#define ONLY_COMMAND true

const struct config_option config_options[] = {
    {"config", 'c', CONFIG_TEXT, ONLY_COMMAND, AT(file), 0, 0, NULL, "FILE",
     "read the configuration file"},
    {"listen", 'l', CONFIG_TEXT, ALWAYS, AT(listen), 0, 0, NULL, "ADDRESS",
     "unix:/path, host:port, [v6]:port or fd:N"},
    {"children", 'n', CONFIG_COUNT, ALWAYS, AT(children), 0, 16384, NULL, "NUMBER",
     "child processes, or the most of them; 0: no master"},
    {"engine", 'e', CONFIG_ENUM, ALWAYS, AT(engine), 0, 0, ENGINES_DEFAULT, &ENGINES_WORDS[1],
     "how a child serves its connections"},
    {"route", 'r', CONFIG_ROUTE, ONLY_COMMAND, 0, 0, 0, 0, NULL, "PATH=HANDLER[,ARG]",
     "answer PATH and what lies below it; may be repeated"},
    {"test", 't', CONFIG_FLAG, ONLY_COMMAND, AT(test), 0, 0, "no", NULL,
     "load everything, say whether it is good, and end"},
    {"dump", 'T', CONFIG_FLAG, ONLY_COMMAND, AT(dump), 0, 0, "no", NULL,
     "print the effective configuration and end"},
    {"help", 'h', CONFIG_FLAG, ONLY_COMMAND, AT(help), 0, 0, "no", NULL, "print this and end"},
    {"version", 'V', CONFIG_FLAG, ONLY_COMMAND, AT(version), 0, 0, "no", NULL,
     "print the version and end"},
    {"status", 0, CONFIG_TEXT, ONLY_COMMAND, AT(status), 0, 0, NULL, "SOCKET",
     "print the status of the server with that control socket"},
    {"status-format", 0, CONFIG_TEXT, ONLY_COMMAND, AT(status_format), 0, 0, "full", "QUERY",
     "what --status asks for: text, json, openmetrics, full, joined by '&'"},

    {"backlog", 'b', CONFIG_COUNT, ALWAYS, AT(backlog), 1, 65535, "4096", "NUMBER",
     "length of the listen queue"},
    {"socket-mode", 0, CONFIG_MODE, ALWAYS, AT(socket_mode), 0, 0777, "0660", "OCTAL",
     "permissions of the unix socket"},
    {"socket-owner", 0, CONFIG_TEXT, ALWAYS, AT(socket_owner), 0, 0, NULL, "USER[:GROUP]",
     "owner of the unix socket"},
    {"allowed-clients", 0, CONFIG_TEXT, ALWAYS, AT(allowed_clients), 0, 0, NULL, "LIST",
     "addresses and networks that may connect over TCP, with commas"},
    {"pid-file", 'p', CONFIG_TEXT, ALWAYS, AT(pid_file), 0, 0, NULL, "FILE",
     "write the master's process id there"},
    {"control", 0, CONFIG_TEXT, ALWAYS, AT(control), 0, 0, NULL, "SOCKET",
     "unix socket on which the master tells the status"},
    {"ready-fd", 0, CONFIG_COUNT, ONLY_COMMAND, AT(ready_fd), 0, 65535, NULL, "NUMBER",
     "descriptor that gets a newline when every child serves"},
    {"pool", 0, CONFIG_TEXT, ALWAYS, AT(pool), 0, 0, "fcgi-server", "NAME",
     "name in status, logs and process titles"},

    {"pm", 0, CONFIG_ENUM, ALWAYS, AT(pm), 0, 2, "static", "static|dynamic|ondemand",
     "how the number of children is kept"},
    {"max-children", 0, CONFIG_COUNT, ALWAYS, AT(children), 0, 16384, NULL, "NUMBER",
     "the same as --children"},
    {"start-servers", 0, CONFIG_COUNT, ALWAYS, AT(start_servers), 0, 16384, "0", "NUMBER",
     "dynamic: children at the start; 0: between both spares"},
    {"min-spare", 0, CONFIG_COUNT, ALWAYS, AT(min_spare), 1, 16384, "1", "NUMBER",
     "dynamic: start more when fewer are idle"},
    {"max-spare", 0, CONFIG_COUNT, ALWAYS, AT(max_spare), 1, 16384, "3", "NUMBER",
     "dynamic: retire some when more are idle"},
    {"spawn-rate", 0, CONFIG_COUNT, ALWAYS, AT(spawn_rate), 1, 16384, "32", "NUMBER",
     "dynamic and ondemand: most children started at once"},
    {"idle-timeout", 0, CONFIG_TIME, ALWAYS, AT(idle_timeout_ms), 1, DAY_MS, "10s", "TIME",
     "ondemand: an idle child ends after this"},
    {"max-requests", 0, CONFIG_COUNT, ALWAYS, AT(max_requests), 0, INT64_MAX, "0", "NUMBER",
     "replace a child after so many, plus up to 10 %; 0: never"},
    {"memory-limit", 0, CONFIG_SIZE, ALWAYS, AT(memory_limit), 0, INT64_MAX, "0", "SIZE",
     "replace a child with more private memory; 0: never"},
    {"stop-timeout", 0, CONFIG_TIME, ALWAYS, AT(stop_timeout_ms), 0, DAY_MS, "30s", "TIME",
     "how long requests may go on after a stop or reload"},
    {"check-timeout", 0, CONFIG_TIME, ALWAYS, AT(check_timeout_ms), 1, DAY_MS, "60s", "TIME",
     "how long the check of a reload may take, and then the new program to begin"},
    {"user", 'u', CONFIG_TEXT, ALWAYS, AT(user), 0, 0, NULL, "NAME", "children run as that user"},
    {"group", 'g', CONFIG_TEXT, ALWAYS, AT(group), 0, 0, NULL, "NAME", "and as that group"},
    {"chroot", 0, CONFIG_TEXT, ALWAYS, AT(chroot), 0, 0, NULL, "FOLDER",
     "children see only that folder; handlers are looked up in it"},
    {"rlimit-files", 0, CONFIG_COUNT, ALWAYS, AT(rlimit_files), 0, 1048576, "0", "NUMBER",
     "open files of a child; 0: what the hard limit allows"},
    {"rlimit-core", 0, CONFIG_BYTES, ALWAYS, AT(rlimit_core), -1, INT64_MAX, "-1", "SIZE",
     "core dump of a child; -1: unchanged"},

    {"request-timeout", 0, CONFIG_TIME, ALWAYS, AT(request_timeout_ms), 0, DAY_MS, "0", "TIME",
     "answer 504 and replace the child after this; 0: never"},
    {"read-timeout", 0, CONFIG_TIME, ALWAYS, AT(read_timeout_ms), 1, DAY_MS, "10s", "TIME",
     "drop a request that is not complete after this"},
    {"keep-timeout", 0, CONFIG_TIME, ALWAYS, AT(keep_timeout_ms), 1, DAY_MS, "75s", "TIME",
     "close a kept connection that is idle for this"},
    {"queue-deadline", 0, CONFIG_TIME, ALWAYS, AT(queue_deadline_ms), 0, DAY_MS, "0", "TIME",
     "answer 503 to a request that waited longer; 0: never"},
    {"params-max", 0, CONFIG_SIZE, ALWAYS, AT(params_max), 4096, 1 << 30, "256k", "SIZE",
     "parameters of a request; 431 beyond"},
    {"body-max", 0, CONFIG_SIZE, ALWAYS, AT(body_max), 0, INT64_MAX, "64m", "SIZE",
     "body of a request; 413 beyond"},
    {"connections-max", 0, CONFIG_COUNT, ALWAYS, AT(connections_max), 1, 1000000, "4096", "NUMBER",
     "connections of one child"},
    {"requests-max", 0, CONFIG_COUNT, ALWAYS, AT(requests_max), 1, 1000000, "1024", "NUMBER",
     "requests that one child works on at a time"},

    {"handlers-dir", 0, CONFIG_TEXT, ALWAYS, AT(handlers_dir), 0, 0, NULL, "FOLDER",
     "look for handlers here first"},
    {"status-path", 0, CONFIG_TEXT, ALWAYS, AT(status_path), 0, 0, NULL, "PATH",
     "answer PATH with the status"},
    {"ping-path", 0, CONFIG_TEXT, ALWAYS, AT(ping_path), 0, 0, NULL, "PATH",
     "answer PATH with \"pong\""},
    {"allow-lua-os", 0, CONFIG_FLAG, ALWAYS, AT(allow_lua_os), 0, 0, "no", NULL,
     "give Lua handlers the whole standard library"},
    {"lua-memory", 0, CONFIG_SIZE, ALWAYS, AT(lua_memory), 1 << 20, INT64_MAX, "128m", "SIZE",
     "memory of all Lua handlers of a child; 500 beyond"},
    {"lua-no-jit", 0, CONFIG_FLAG, ALWAYS, AT(lua_no_jit), 0, 0, "no", NULL,
     "only interpret Lua: slower, but a time limit stops every loop"},

    {"log", 0, CONFIG_TEXT, ALWAYS, AT(log), 0, 0, "stderr", "TARGET", "file, stderr or syslog"},
    {"log-level", 0, CONFIG_ENUM, ALWAYS, AT(log_level), 0, 4, "notice",
     "error|warn|notice|info|debug", "what is logged"},
    {"decorate", 0, CONFIG_ENUM, ALWAYS, AT(decorate), 0, 1, "yes", "no|yes",
     "put time and process id before what handlers print"},
    {"access-log", 0, CONFIG_TEXT, ALWAYS, AT(access_log), 0, 0, NULL, "FILE",
     "one line for each request"},
    {"access-format", 0, CONFIG_TEXT, ALWAYS, AT(access_format), 0, 0,
     "%R - %u %t \"%m %r%q\" %s %o %d", "FORMAT", "how that line is made; see the manual"},
    {"slow-log", 0, CONFIG_TEXT, ALWAYS, AT(slow_log), 0, 0, NULL, "FILE",
     "slow requests go there instead of the log"},
    {"slow-ms", 0, CONFIG_COUNT, ALWAYS, AT(slow_ms), 0, DAY_MS, "0", "MS",
     "log requests that take longer; 0: none"},
};

const size_t config_option_count = sizeof config_options / sizeof *config_options;

static bool
name_equals(const char *option, const char *text)
{
    for (; *option != '\0' && *text != '\0'; option++, text++)
        if (*option != *text && !(*option == '-' && *text == '_'))
            return false;
    return *option == *text;
}

const struct config_option *
option_find(const char *name)
{
    for (size_t i = 0; i < config_option_count; i++)
        if (name_equals(config_options[i].name, name))
            return &config_options[i];
    return NULL;
}

static void
store_number(struct config *config, const struct config_option *option, int64_t value)
{
    void *place = (char *)config + option->offset;
    switch (option->size) {
    case sizeof(bool):
        *(bool *)place = value != 0;
        break;
    case sizeof(uint32_t):
        *(uint32_t *)place = (uint32_t)value;
        break;
    default:
        *(int64_t *)place = value;
    }
}

static int64_t
load_number(const struct config *config, const struct config_option *option)
{
    const void *place = (const char *)config + option->offset;
    switch (option->size) {
    case sizeof(bool):
        return *(const bool *)place;
    case sizeof(uint32_t):
        return option->initial == NULL ? (int64_t) * (const int32_t *)place
                                       : (int64_t) * (const uint32_t *)place;
    default:
        return *(const int64_t *)place;
    }
}

/* The units that a number may carry, and what one of them is worth. */
struct unit {
    const char *name;
    int64_t factor;
};
static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};
static const struct unit time_units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                         {"m", 60000}, {"h", 3600000}, {NULL, 0}};
static const struct unit size_units[] = {{"", 1},        {"k", 1 << 10}, {"K", 1 << 10},
                                         {"m", 1 << 20}, {"M", 1 << 20}, {"g", 1 << 30},
                                         {"G", 1 << 30}, {NULL, 0}};

static const struct unit *
units_of(enum config_type type)
{
    if (type == CONFIG_TIME)
        return time_units;
    return type == CONFIG_SIZE || type == CONFIG_BYTES ? size_units : plain_units;
}

static int
parse_number(const struct config_option *option, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    bool octal = option->type == CONFIG_MODE;
    if (isspace((unsigned char)*text))
        return -1;
    long long number = strtoll(text, &end, octal ? 8 : 10);
    if (end == text || errno != 0)
        return -1;
    for (const struct unit *unit = units_of(option->type); unit->name != NULL; unit++) {
        if (strcmp(end, unit->name) != 0)
            continue;
        if (__builtin_mul_overflow((int64_t)number, unit->factor, value))
            return -1;
        return *value >= option->min && *value <= option->max ? 0 : -1;
    }
    return -1;
}

static int
parse_word(const struct config_option *option, const char *text, int64_t *value)
{
    const char *words = option->type == CONFIG_FLAG ? "no|yes" : option->units;
    size_t length = strlen(text);
    for (*value = 0; length > 0; (*value)++) {
        size_t word = strcspn(words, "|");
        if (word == length && memcmp(words, text, length) == 0)
            return 0;
        if (words[word] == '\0')
            return -1;
        words += word + 1;
    }
    return -1;
}

static void
explain(const struct config_option *option, const char *text, const char *origin,
        struct config_error *error)
{
    static const char *const remedy[] = {
        [CONFIG_FLAG] = "yes or no",
        [CONFIG_TEXT] = "a text that is not empty",
        [CONFIG_COUNT] = "a number",
        [CONFIG_TIME] = "a time such as 250ms, 2s or 1m",
        [CONFIG_SIZE] = "a size such as 4096, 64k or 2m",
        [CONFIG_MODE] = "an octal mode such as 0660",
        [CONFIG_ENUM] = "one of ",
        [CONFIG_ROUTE] = "PATH=HANDLER[,ARG]",
        [CONFIG_BYTES] = "a size such as 64k, or -1",
    };
    char range[64] = "";
    if (option->type == CONFIG_COUNT)
        snprintf(range, sizeof range, " from %lld to %lld", (long long)option->min,
                 (long long)option->max);
    snprintf(error->text, sizeof error->text, "%s: '%.100s' is no value for it (%s); give %s%s%s",
             option->name, text, origin, remedy[option->type],
             option->type == CONFIG_ENUM ? option->units : "", range);
}

int
option_parse(struct config *config, const struct config_option *option, const char *text,
             const char *origin, struct config_error *error)
{
    int64_t value = 0;
    int result = 0;
    switch (option->type) {
    case CONFIG_TEXT:
        if (*text == '\0' && option->command_only) {
            explain(option, text, origin, error);
            return -1;
        }
        *(const char **)((char *)config + option->offset) =
            *text != '\0' ? strdup(text) : option->initial;
        return 0;
    case CONFIG_FLAG:
    case CONFIG_ENUM:
        result = parse_word(option, text, &value);
        break;
    default:
        result = parse_number(option, text, &value);
    }
    if (result == 0)
        store_number(config, option, value);
    else
        explain(option, text, origin, error);
    return result;
}

/* The largest unit that divides the value, so that -T reads back the same. */
static void
print_number(char *text, size_t size, const struct config_option *option, int64_t value)
{
    const struct unit *best = &plain_units[0];
    for (const struct unit *unit = units_of(option->type); unit->name != NULL; unit++)
        if (value % unit->factor == 0 && unit->factor >= best->factor && value > 0 &&
            unit->name[0] != '\0')
            best = unit;
    if (option->type == CONFIG_MODE)
        snprintf(text, size, "\"%04llo\"", (unsigned long long)value);
    else if (best->name[0] != '\0')
        snprintf(text, size, "\"%lld%s\"", (long long)(value / best->factor), best->name);
    else
        snprintf(text, size, "%lld", (long long)value);
}

static void
print_word(char *text, size_t size, const struct config_option *option, int64_t value)
{
    const char *word = option->type == CONFIG_FLAG ? "no|yes" : option->units;
    for (; value > 0; value--)
        word = strchr(word, '|') + 1;
    snprintf(text, size, "\"%.*s\"", (int)strcspn(word, "|"), word);
}

void
option_print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            fprintf(out, "\\%03u", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

void
option_print(FILE *out, const struct config *config, const struct config_option *option)
{
    char text[64];
    for (const char *name = option->name; *name != '\0'; name++)
        fputc(*name == '-' ? '_' : *name, out);
    fputs(" = ", out);
    switch (option->type) {
    case CONFIG_TEXT: {
        const char *value = *(const char *const *)((const char *)config + option->offset);
        option_print_text(out, value != NULL ? value : "");
        break;
    }
    case CONFIG_FLAG:
    case CONFIG_ENUM:
        print_word(text, sizeof text, option, load_number(config, option));
        fputs(text, out);
        break;
    default:
        print_number(text, sizeof text, option, load_number(config, option));
        fputs(text, out);
    }
    fputc('\n', out);
}

void
config_help(void)
{
    puts("usage: fcgi-server [-c FILE] [-l ADDRESS] [-n CHILDREN] [-e ENGINE] "
         "[-r PATH=HANDLER[,ARG]]... [-t|-T]\n");
    for (size_t i = 0; i < config_option_count; i++) {
        const struct config_option *option = &config_options[i];
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
    puts("\nEvery option but -c, -r, -t, -T, -h, -V, --status and --ready-fd can stand in the "
         "file,\nwith '_' for '-'. The manual is fcgi-server(8).");
}
