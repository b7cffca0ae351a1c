/* SPDX-License-Identifier: MIT */
/* json.c - see json.h. Recursive descent with a bounded depth. */
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

static struct json *parse_value(const char **p, int depth);

static void
skip_blanks(const char **p)
{
    *p += strspn(*p, " \t\r\n");
}

#define REPLACEMENT 0xfffd /* stands for what is no character */

/* Appends character <code> as UTF-8 (RFC 3629). */
static void
add_code(struct bytes *text, unsigned long code)
{
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        code = REPLACEMENT;
    unsigned count = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char mark[] = {0, 0xc0, 0xe0, 0xf0};
    char bytes[4] = {(char)(mark[count] | code >> (6 * count))};
    for (unsigned i = 1; i <= count; i++)
        bytes[i] = (char)(0x80 | (code >> (6 * (count - i)) & 0x3f));
    bytes_add(text, bytes, count + 1);
}

/* Four hexadecimal digits behind "\\u" at <p>; -1 when there are none. */
static long
escaped_code(const char *p)
{
    if (p[0] != '\\' || p[1] != 'u' || strspn(p + 2, "0123456789abcdefABCDEF") < 4)
        return -1;
    char digits[5] = {p[2], p[3], p[4], p[5], 0};
    return strtol(digits, NULL, 16);
}

/* Appends the character of the escape at <p>, which may be a surrogate pair.
 * Returns the bytes of the escape; 0: it is none. */
static size_t
add_escape(struct bytes *text, const char *p)
{
    long high = escaped_code(p), low = -1;
    if (high == -1)
        return 0;
    if (high >= 0xd800 && high < 0xdc00 && (low = escaped_code(p + 6)) >= 0xdc00 && low < 0xe000) {
        add_code(text,
                 0x10000 + (((unsigned long)high - 0xd800) << 10) + (unsigned long)low - 0xdc00);
        return 12;
    }
    add_code(text, (unsigned long)high);
    return 6;
}

/* Bytes of the UTF-8 character at <p>; 0 when there is none. */
static size_t
character(const unsigned char *p)
{
    size_t count = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] > 0xf4 || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < count; i++)
        if (p[i] >> 6 != 2)
            return 0;
    return count;
}

void
json_quote(struct bytes *out, const char *text)
{
    bytes_add(out, "\"", 1);
    while (*text != '\0') {
        unsigned char c = (unsigned char)*text;
        size_t n = character((const unsigned char *)text);
        if (c == '"' || c == '\\')
            bytes_print(out, "\\%c", c);
        else if (n == 0 || c < ' ' || c == 0x7f)
            bytes_print(out, "\\u%04x", n == 0 ? REPLACEMENT : c);
        else
            bytes_add(out, text, n);
        text += n > 0 ? n : 1;
    }
    bytes_add(out, "\"", 1);
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
        size_t n = add_escape(&text, c);
        if (n > 0) {
            c += n - 1;
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
