/* SPDX-License-Identifier: MIT */
#include "request/query.h"

#include <string.h>

static int
hex_digit(char character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    char lower = (char)(character | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decodes the character that begins at <*from>, which moves behind it. */
static char
decode_one(const char **from, const char *end)
{
    const char *text = *from;
    if (*text == '%' && end - text >= 3) {
        int high = hex_digit(text[1]);
        int low = hex_digit(text[2]);
        if (high >= 0 && low >= 0) {
            *from = text + 3;
            return (char)(high << 4 | low);
        }
    }
    *from = text + 1;
    return *text == '+' ? ' ' : *text;
}

bool
query_next(const char **cursor, const char *end, struct query_pair *pair)
{
    const char *start = *cursor;
    while (start < end && *start == '&')
        start++;
    if (start >= end) {
        *cursor = end;
        return false;
    }
    const char *stop = memchr(start, '&', (size_t)(end - start));
    if (stop == NULL)
        stop = end;
    const char *equals = memchr(start, '=', (size_t)(stop - start));
    pair->key = start;
    pair->key_length = (size_t)((equals != NULL ? equals : stop) - start);
    pair->value = equals != NULL ? equals + 1 : stop;
    pair->value_length = (size_t)(stop - pair->value);
    *cursor = stop;
    return true;
}

static bool
key_equals(const struct query_pair *pair, const char *key, size_t key_length)
{
    const char *from = pair->key;
    const char *end = from + pair->key_length;
    size_t matched = 0;
    while (from < end) {
        if (matched == key_length || decode_one(&from, end) != key[matched])
            return false;
        matched++;
    }
    return matched == key_length;
}

bool
query_find(const char *text, size_t length, const char *key, size_t key_length,
           struct query_pair *pair)
{
    const char *cursor = text;
    struct query_pair candidate;
    while (query_next(&cursor, text + length, &candidate)) {
        if (key_equals(&candidate, key, key_length)) {
            *pair = candidate;
            return true;
        }
    }
    return false;
}

size_t
query_decode(char *to, const char *from, size_t length)
{
    const char *end = from + length;
    char *out = to;
    while (from < end)
        *out++ = decode_one(&from, end);
    return (size_t)(out - to);
}
