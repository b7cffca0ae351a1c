/* SPDX-License-Identifier: MIT */
/*
 * json.h - JSON text (RFC 8259): reads it into a tree, for merging results,
 * and quotes strings. No I/O.
 */
#ifndef JSON_H
#define JSON_H

#include "protocol/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL = 0, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    bool boolean;
    double number;
    uint64_t whole;     /* the number when it is a whole one below 2^64, exact */
    char *text;         /* of a string; UTF-8; NUL and half a surrogate pair become U+FFFD */
    char *name;         /* of a member of an object, else NULL */
    struct json *child; /* first element or member */
    struct json *next;
};

/* Parses all of <text> (0-terminated). NULL when it is not JSON or is nested
 * deeper than 32 levels. The caller frees the tree. */
struct json *json_parse(const char *text);
void json_free(struct json *j);

/* Member <name> of an object; NULL when <j> is NULL, no object, or lacks it. */
const struct json *json_member(const struct json *j, const char *name);

/* Appends <text> as a JSON string. What is not UTF-8 becomes U+FFFD. */
void json_quote(struct bytes *out, const char *text);

/* Values with a fallback for "not there" or another type. */
uint64_t json_whole(const struct json *j);   /* 0 */
double json_number(const struct json *j);    /* 0 */
const char *json_text(const struct json *j); /* "" */

#endif
