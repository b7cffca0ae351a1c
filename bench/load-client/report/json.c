/* SPDX-License-Identifier: MIT */
/* json.c - see json.h. Recursive descent with a bounded depth. */
#include "report/json.h"
#include "protocol/bytes.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

static struct json *parse_value(const char **p, int depth);

static void
skip_blanks(const char **p)
{
    *p += strspn(*p, " \t\r\n");
}

/* A string's text without quotes; NULL when it does not end. */
static char *
parse_string(const char **p)
{
    struct bytes text = {0};
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    bytes_add(&text, "", 0);
    for (const char *c = *p + 1; *c != '\0'; c++) {
        if (*c == '"') {
            *p = c + 1;
            return text.data;
        }
        const char *escape = NULL;
        if (*c == '\\' && c[1] == 'u' && strspn(c + 2, "0123456789abcdefABCDEF") >= 4) {
            char digits[5] = {c[2], c[3], c[4], c[5], 0};
            unsigned long code = strtoul(digits, NULL, 16);
            char plain = code < 0x80 ? (char)code : '?';
            bytes_add(&text, &plain, 1);
            c += 5;
        } else if (*c == '\\' && c[1] != '\0' && (escape = strchr(from, c[1])) != NULL) {
            bytes_add(&text, to + (escape - from), 1);
            c++;
        } else if (*c == '\\' || (unsigned char)*c < ' ') {
            break;
        } else {
            bytes_add(&text, c, 1);
        }
    }
    bytes_free(&text);
    return NULL;
}

/* Elements up to <close>, with names when <close> is '}'. */
static bool
parse_members(struct json *j, const char **p, char close, int depth)
{
    struct json **last = &j->child;
    ++*p;
    skip_blanks(p);
    if (**p == close)
        return ++*p, true;
    for (;;) {
        char *name = NULL;
        skip_blanks(p);
        if (close == '}') {
            if (**p != '"' || (name = parse_string(p)) == NULL)
                return false;
            skip_blanks(p);
            if (*(*p)++ != ':') {
                free(name);
                return false;
            }
        }
        *last = parse_value(p, depth + 1);
        if (*last == NULL) {
            free(name);
            return false;
        }
        (*last)->name = name;
        last = &(*last)->next;
        skip_blanks(p);
        char c = *(*p)++;
        if (c == close)
            return true;
        if (c != ',')
            return false;
    }
}

static bool
parse_number(struct json *j, const char **p)
{
    char *end, *whole_end;
    if (strchr("-0123456789", **p) == NULL)
        return false;
    j->number = strtod(*p, &end);
    if (**p != '-')
        j->whole = strtoull(*p, &whole_end, 10);
    bool good = end != *p;
    *p = end;
    return good;
}

static bool
parse_word(const char **p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0)
        return false;
    *p += n;
    return true;
}

static struct json *
parse_value(const char **p, int depth)
{
    struct json *j = bytes_allocate(1, sizeof(*j));
    bool good = false;
    skip_blanks(p);
    if (depth > MAX_DEPTH || **p == '\0') {
        good = false;
    } else if (**p == '{' || **p == '[') {
        j->type = **p == '{' ? JSON_OBJECT : JSON_ARRAY;
        good = parse_members(j, p, **p == '{' ? '}' : ']', depth);
    } else if (**p == '"') {
        j->type = JSON_STRING;
        good = (j->text = parse_string(p)) != NULL;
    } else if (parse_word(p, "null")) {
        good = true;
    } else if (parse_word(p, "false") || parse_word(p, "true")) {
        j->type = JSON_BOOL;
        j->boolean = (*p)[-2] == 'u';
        good = true;
    } else {
        j->type = JSON_NUMBER;
        good = parse_number(j, p);
    }
    if (good)
        return j;
    json_free(j);
    return NULL;
}

struct json *
json_parse(const char *text)
{
    const char *p = text;
    struct json *j = parse_value(&p, 0);
    skip_blanks(&p);
    if (j != NULL && *p == '\0')
        return j;
    json_free(j);
    return NULL;
}

void
json_free(struct json *j)
{
    while (j != NULL) {
        struct json *next = j->next;
        json_free(j->child);
        free(j->text);
        free(j->name);
        free(j);
        j = next;
    }
}

const struct json *
json_member(const struct json *j, const char *name)
{
    if (j == NULL || j->type != JSON_OBJECT)
        return NULL;
    for (const struct json *i = j->child; i != NULL; i = i->next)
        if (strcmp(i->name, name) == 0)
            return i;
    return NULL;
}

uint64_t
json_whole(const struct json *j)
{
    return j != NULL && j->type == JSON_NUMBER ? j->whole : 0;
}

double
json_number(const struct json *j)
{
    return j != NULL && j->type == JSON_NUMBER ? j->number : 0;
}

const char *
json_text(const struct json *j)
{
    return j != NULL && j->type == JSON_STRING ? j->text : "";
}
