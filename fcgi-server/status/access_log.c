/* SPDX-License-Identifier: MIT */
#include "status/access_log.h"
#include "base/log.h"
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 8192
#define PARTS_MAX 64
#define VALUE_MAX 2048 /* of one parameter in a line */

struct line {
    char text[LINE_SIZE];
    size_t used;
};

/* One piece of the format: a literal text, or something of the request. */
struct part {
    const char *literal;
    size_t length;
    char code;     /* 0: literal only */
    char name[64]; /* of %{NAME}e */
};

static struct {
    const char *path;
    const char *slow_path;
    const char *pool;
    int fd;
    int slow_fd;
    struct part part[PARTS_MAX];
    size_t parts;
} state = {.fd = -1, .slow_fd = -1};

/* --- lines --------------------------------------------------------------------------- */

static void
add(struct line *line, const char *text, size_t length)
{
    size_t room = LINE_SIZE - 1 - line->used; /* one byte stays for the line end */
    if (length > room)
        length = room;
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

static void
add_escaped(struct line *line, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = text != NULL ? strnlen(text, VALUE_MAX) : 0;
    if (length == 0)
        add(line, "-", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
            add(line, text + i, 1);
        } else {
            char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            add(line, escaped, sizeof escaped);
        }
    }
}

static void
add_number(struct line *line, long long value)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%lld", value);
    add(line, text, (size_t)length);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats are below */
static void
add_time(struct line *line, const char *format, time_t when)
{
    char text[64];
    struct tm local;
    localtime_r(&when, &local);
    size_t length = strftime(text, sizeof text, format, &local);
    add(line, text, length);
}

/* --- what the codes mean -------------------------------------------------------------- */

static const char *
param(const struct access_entry *entry, const char *name)
{
    return entry->param != NULL ? entry->param(entry->request, name) : NULL;
}

static void
add_path(struct line *line, const struct access_entry *entry)
{
    const char *uri = param(entry, "REQUEST_URI");
    const char *path = uri != NULL ? uri : param(entry, "SCRIPT_NAME");
    char copy[VALUE_MAX];
    snprintf(copy, sizeof copy, "%s", path != NULL ? path : "");
    copy[strcspn(copy, "?")] = '\0';
    add_escaped(line, copy);
}

static void
add_query(struct line *line, const struct access_entry *entry)
{
    const char *query = param(entry, "QUERY_STRING");
    if (query == NULL || *query == '\0')
        return;
    add(line, "?", 1);
    add_escaped(line, query);
}

static void
add_part(struct line *line, const struct part *part, const struct access_entry *entry)
{
    switch (part->code) {
    case 'm':
        add_escaped(line, param(entry, "REQUEST_METHOD"));
        break;
    case 'r':
        add_path(line, entry);
        break;
    case 'q':
        add_query(line, entry);
        break;
    case 'R':
        add_escaped(line, param(entry, "REMOTE_ADDR"));
        break;
    case 'u':
        add_escaped(line, param(entry, "REMOTE_USER"));
        break;
    case 'l':
        add_escaped(line, param(entry, "CONTENT_LENGTH"));
        break;
    case 'e':
        add_escaped(line, param(entry, part->name));
        break;
    case 's':
        add_number(line, entry->status);
        break;
    case 'o':
        add_number(line, (long long)entry->body_bytes);
        break;
    case 'd':
        add_number(line, entry->duration_ns / 1000);
        break;
    case 'p':
        add_number(line, getpid());
        break;
    case 'n':
        add_escaped(line, state.pool);
        break;
    case 'h':
        add_escaped(line, entry->handler);
        break;
    case 't':
        add_time(line, "[%d/%b/%Y:%H:%M:%S %z]", time(NULL));
        break;
    case 'T':
        add_time(line, "%Y-%m-%dT%H:%M:%S%z", time(NULL) - entry->duration_ns / 1000000000);
        break;
    }
}

static int
compile(const char *format, char *error, size_t error_size)
{
    static const char codes[] = "mrqRulsodpnhtT";
    state.parts = 0;
    while (*format != '\0') {
        if (state.parts == PARTS_MAX) {
            snprintf(error, error_size, "access_format: more than %d parts", PARTS_MAX);
            return -1;
        }
        struct part *part = &state.part[state.parts++];
        *part = (struct part){.literal = format, .length = strcspn(format, "%")};
        format += part->length;
        if (*format == '\0')
            break;
        size_t name = format[1] == '{' ? strcspn(format + 2, "}") : 0;
        if (format[1] == '%') {
            part->length++; /* the literal takes one of the two */
            format += 2;
        } else if (format[1] == '{' && name < sizeof part->name &&
                   strncmp(format + 2 + name, "}e", 2) == 0) {
            memcpy(part->name, format + 2, name);
            part->code = 'e';
            format += name + 4;
        } else if (format[1] != '\0' && strchr(codes, format[1]) != NULL) {
            part->code = format[1];
            format += 2;
        } else {
            snprintf(error, error_size,
                     "access_format: '%.10s' is not understood; fcgi-server(8) lists the codes",
                     format);
            return -1;
        }
    }
    return 0;
}

/* --- files ------------------------------------------------------------------------------- */

static int
open_log(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

/* Opens <path> in place of *<fd>, which stays if that fails. */
static int
replace(int *fd, const char *path)
{
    if (path == NULL)
        return 0;
    int fresh = open_log(path);
    if (fresh == -1)
        return -1;
    if (*fd == -1) {
        *fd = fresh;
        return 0;
    }
    int result = dup3(fresh, *fd, O_CLOEXEC);
    close(fresh);
    return result == -1 ? -1 : 0;
}

int
access_log_open(const struct config *config, char *error, size_t error_size)
{
    state.path = config->access_log;
    state.slow_path = config->slow_log;
    state.pool = config->pool;
    if (replace(&state.fd, state.path) == -1) {
        snprintf(error, error_size, "access log %s: %s", state.path, strerror(errno));
        return -1;
    }
    if (replace(&state.slow_fd, state.slow_path) == -1) {
        snprintf(error, error_size, "slow log %s: %s", state.slow_path, strerror(errno));
        return -1;
    }
    return state.path != NULL ? compile(config->access_format, error, error_size) : 0;
}

int
access_log_reopen(void)
{
    int result = replace(&state.fd, state.path);
    return replace(&state.slow_fd, state.slow_path) == -1 ? -1 : result;
}

size_t
access_log_descriptors(int *fds, size_t room)
{
    if (room < 2)
        return 0;
    fds[0] = state.fd;
    fds[1] = state.slow_fd;
    return 2;
}

/* --- writing ------------------------------------------------------------------------------ */

int
access_log_wanted(void)
{
    return state.fd != -1;
}

static void
put(int fd, const char *text, size_t length)
{
    ssize_t written;
    do
        written = write(fd, text, length);
    while (written == -1 && errno == EINTR);
}

void
access_log_write(const struct access_entry *entry)
{
    if (state.fd == -1)
        return;
    struct line line;
    line.used = 0;
    for (size_t i = 0; i < state.parts; i++) {
        add(&line, state.part[i].literal, state.part[i].length);
        add_part(&line, &state.part[i], entry);
    }
    line.text[line.used++] = '\n';
    put(state.fd, line.text, line.used);
}

void
slow_log_write(const char *what, const char *handler, uint64_t elapsed_ms, const char *trace)
{
    if (state.slow_fd == -1) {
        log_warn("slow: %s took %llu ms in %s%s%s", what, (unsigned long long)elapsed_ms, handler,
                 trace != NULL ? ": " : "", trace != NULL ? trace : "");
        return;
    }
    struct line line;
    line.used = 0;
    add_time(&line, "[%d/%b/%Y:%H:%M:%S %z] ", time(NULL));
    char head[64];
    int length = snprintf(head, sizeof head, "pid %d, %llu ms, ", (int)getpid(),
                          (unsigned long long)elapsed_ms);
    add(&line, head, (size_t)length);
    add_escaped(&line, handler);
    add(&line, ", ", 2);
    add_escaped(&line, what);
    if (trace != NULL) {
        add(&line, "\n", 1);
        add(&line, trace, strlen(trace));
    }
    line.text[line.used++] = '\n';
    put(state.slow_fd, line.text, line.used);
}
