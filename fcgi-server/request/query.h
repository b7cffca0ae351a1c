/* SPDX-License-Identifier: MIT */
/*
 * query.h - the query string as HTML forms send it: pairs separated by '&',
 * key and value by the first '=', '+' for a space, %XX for a byte (WHATWG URL,
 * application/x-www-form-urlencoded). Pure functions on bytes: no allocation, no
 * I/O, nothing read past the given length. A broken escape stays as it is.
 */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stddef.h>

/* One pair as it stands in the text, not decoded. <value> is NULL only when
 * nothing was found; `key` and `key=` both have an empty value. */
struct query_pair {
    const char *key;
    size_t key_length;
    const char *value;
    size_t value_length;
};

/* Takes the next pair from <*cursor>, which moves on towards <end>. Empty pairs
 * (as in "&&") are skipped. Returns false when there is none left. */
bool query_next(const char **cursor, const char *end, struct query_pair *pair);

/* Finds the first pair of <text> whose decoded key equals <key>, byte for byte.
 * Returns false, with <pair> untouched, if there is none. */
bool query_find(const char *text, size_t length, const char *key, size_t key_length,
                struct query_pair *pair);

/* Decodes <length> bytes of <from> into <to>, which has room for as many and may
 * be <from> itself. Returns the decoded length; adds no NUL. */
size_t query_decode(char *to, const char *from, size_t length);

#endif
