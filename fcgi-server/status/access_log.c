/* SPDX-License-Identifier: MIT */
#include "status/access_log.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/line.h"
#include "config/config.h"
#include "status/child_logs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARTS_MAX 64

/* One piece of the format: a literal text, or something of the request. */
struct part {
    const char *literal;
    size_t length;
    char code;     /* 0: literal only */
    char name[64]; /* of %{NAME}e */
};

static struct {
    const char *pool;
    struct part part[PARTS_MAX];
    size_t parts;
} state;

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
    char copy[LINE_VALUE_MAX];
    snprintf(copy, sizeof copy, "%s", path != NULL ? path : "");
    copy[strcspn(copy, "?")] = '\0';
    line_add_escaped(line, copy);
}

static void
add_query(struct line *line, const struct access_entry *entry)
{
    const char *query = param(entry, "QUERY_STRING");
    if (query == NULL || *query == '\0')
        return;
    line_add(line, "?", 1);
    line_add_escaped(line, query);
}

static void
add_common_date(struct line *line)
{
    char date[CALENDAR_SIZE];
    line_add(line, "[", 1);
    line_add(line, date, calendar_common(date, clock_wall_ms()));
    line_add(line, "]", 1);
}

static void
add_part(struct line *line, const struct part *part, const struct access_entry *entry)
{
    char date[CALENDAR_SIZE];
    switch (part->code) {
    case 'm':
        line_add_escaped(line, param(entry, "REQUEST_METHOD"));
        break;
    case 'r':
        add_path(line, entry);
        break;
    case 'q':
        add_query(line, entry);
        break;
    case 'R':
        line_add_escaped(line, param(entry, "REMOTE_ADDR"));
        break;
    case 'u':
        line_add_escaped(line, param(entry, "REMOTE_USER"));
        break;
    case 'l':
        line_add_escaped(line, param(entry, "CONTENT_LENGTH"));
        break;
    case 'e':
        line_add_escaped(line, param(entry, part->name));
        break;
    case 's':
        line_add_number(line, entry->status);
        break;
    case 'o':
        line_add_number(line, (long long)entry->body_bytes);
        break;
    case 'd':
        line_add_number(line, entry->duration_ns / 1000);
        break;
    case 'p':
        line_add_number(line, getpid());
        break;
    case 'n':
        line_add_escaped(line, state.pool);
        break;
    case 'h':
        line_add_escaped(line, entry->handler);
        break;
    case 't':
        add_common_date(line);
        break;
    case 'T':
        line_add(line, date, calendar_iso(date, clock_wall_ms() - entry->duration_ns / 1000000));
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
            snprintf(error, error_size, "access_format: too many parts; at most %d are allowed",
                     PARTS_MAX);
            return -1;
        }
        struct part *part = &state.part[state.parts++];
        *part = (struct part){.literal = format, .length = strcspn(format, "%")};
        format += part->length;
        if (*format == '\0')
            break;
        size_t name = format[1] == '{' ? strcspn(format + 2, "}") : 0;
        if (format[1] == '%') {
            part->length++; /* "%%" prints one percent sign */
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
                     "access_format: unknown code '%.10s'; fcgi-server(8) lists the codes", format);
            return -1;
        }
    }
    return 0;
}

int
access_log_open(const struct config *config, char *error, size_t error_size)
{
    state.pool = config->pool;
    return config->access_log != NULL ? compile(config->access_format, error, error_size) : 0;
}

bool
access_log_wanted(void)
{
    return child_logs_wanted(CHILD_LOG_ACCESS);
}

void
access_log_write(const struct access_entry *entry)
{
    struct line line;
    line.used = 0;
    for (size_t i = 0; i < state.parts; i++) {
        line_add(&line, state.part[i].literal, state.part[i].length);
        add_part(&line, &state.part[i], entry);
    }
    line_end(&line);
    child_logs_put(CHILD_LOG_ACCESS, line.text, line.used);
}
