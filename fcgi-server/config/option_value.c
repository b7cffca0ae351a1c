/* SPDX-License-Identifier: MIT */
#include "config/option_value.h"
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
store_number(struct config *config, const struct option_row *option, int64_t value)
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
load_number(const struct config *config, const struct option_row *option)
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
units_of(enum option_type type)
{
    if (type == OPTION_TIME)
        return time_units;
    return type == OPTION_SIZE || type == OPTION_BYTES ? size_units : plain_units;
}

static int
parse_number(const struct option_row *option, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    bool octal = option->type == OPTION_MODE;
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
parse_word(const struct option_row *option, const char *text, int64_t *value)
{
    const char *words = option->type == OPTION_FLAG ? "no|yes" : option->units;
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
explain(const struct option_row *option, const char *text, const char *origin,
        struct config_error *error)
{
    static const char *const remedy[] = {
        [OPTION_FLAG] = "yes or no",
        [OPTION_TEXT] = "a text",
        [OPTION_COUNT] = "",
        [OPTION_TIME] = "a time such as 250ms, 2s or 1m",
        [OPTION_SIZE] = "a size such as 4096, 64k or 2m",
        [OPTION_MODE] = "an octal mode such as 0660",
        [OPTION_ENUM] = "one of ",
        [OPTION_ROUTE] = "PATH=HANDLER[,ARG]",
        [OPTION_BYTES] = "a size such as 64k, or -1",
    };
    char range[64] = "";
    if (option->type == OPTION_COUNT)
        snprintf(range, sizeof range, "%lld to %lld", (long long)option->min,
                 (long long)option->max);
    snprintf(error->text, sizeof error->text, "%s: invalid value '%.100s' (%s); expected %s%s%s",
             option->name, text, origin, remedy[option->type],
             option->type == OPTION_ENUM ? option->units : "", range);
}

int
option_value_parse(struct config *config, const struct option_row *option, const char *text,
                   const char *origin, struct config_error *error)
{
    int64_t value = 0;
    int result = 0;
    if (*text == '\0' && option->type == OPTION_ENUM)
        text = option->initial;
    switch (option->type) {
    case OPTION_TEXT:
        if (*text == '\0' && option->command_only) {
            explain(option, text, origin, error);
            return -1;
        }
        *(const char **)((char *)config + option->offset) =
            *text != '\0' ? strdup(text) : option->initial;
        return 0;
    case OPTION_FLAG:
    case OPTION_ENUM:
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

/* Writes the value in the largest unit that divides it, so that the output of -T reads back. */
static void
print_number(char *text, size_t size, const struct option_row *option, int64_t value)
{
    const struct unit *best = &plain_units[0];
    for (const struct unit *unit = units_of(option->type); unit->name != NULL; unit++)
        if (value % unit->factor == 0 && unit->factor >= best->factor && value > 0 &&
            unit->name[0] != '\0')
            best = unit;
    if (option->type == OPTION_MODE)
        snprintf(text, size, "\"%04llo\"", (unsigned long long)value);
    else if (best->name[0] != '\0')
        snprintf(text, size, "\"%lld%s\"", (long long)(value / best->factor), best->name);
    else
        snprintf(text, size, "%lld", (long long)value);
}

static void
print_word(char *text, size_t size, const struct option_row *option, int64_t value)
{
    const char *word = option->type == OPTION_FLAG ? "no|yes" : option->units;
    for (; value > 0; value--)
        word = strchr(word, '|') + 1;
    snprintf(text, size, "\"%.*s\"", (int)strcspn(word, "|"), word);
}

void
option_value_print_text(FILE *out, const char *text)
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
option_value_print(FILE *out, const struct config *config, const struct option_row *option)
{
    char text[64];
    switch (option->type) {
    case OPTION_TEXT: {
        const char *value = *(const char *const *)((const char *)config + option->offset);
        option_value_print_text(out, value != NULL ? value : "");
        break;
    }
    case OPTION_FLAG:
    case OPTION_ENUM:
        print_word(text, sizeof text, option, load_number(config, option));
        fputs(text, out);
        break;
    default:
        print_number(text, sizeof text, option, load_number(config, option));
        fputs(text, out);
    }
}
