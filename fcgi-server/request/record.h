/* SPDX-License-Identifier: MIT */
/*
 * record.h - the records of FastCGI as bytes: pure functions, no I/O, no state.
 * Source of the format: FastCGI Specification 1.0, sections 3 and 8.
 *
 *     0        1        2        3        4        5        6        7
 *     version  type     id (big endian)   content length    padding  reserved
 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_VERSION = 1,
    RECORD_HEADER_SIZE = 8,
    RECORD_END_SIZE = 16,         /* an END_REQUEST or UNKNOWN_TYPE record */
    RECORD_VALUES_SIZE = 128,     /* room for the longest GET_VALUES_RESULT of ours */
    RECORD_CONTENT_MAX = 65528,   /* the most that we put into one record: 8-aligned */
    RECORD_MANAGEMENT_ID = 0,     /* the id of records that belong to no request */
    RECORD_KEEP_CONNECTION = 0x1, /* flag of BEGIN_REQUEST */
};

enum record_type {
    RECORD_BEGIN_REQUEST = 1,
    RECORD_ABORT_REQUEST = 2,
    RECORD_END_REQUEST = 3,
    RECORD_PARAMS = 4,
    RECORD_STDIN = 5,
    RECORD_STDOUT = 6,
    RECORD_STDERR = 7,
    RECORD_DATA = 8,
    RECORD_GET_VALUES = 9,
    RECORD_GET_VALUES_RESULT = 10,
    RECORD_UNKNOWN_TYPE = 11,
};

enum record_role {
    RECORD_RESPONDER = 1,
    RECORD_AUTHORIZER = 2,
    RECORD_FILTER = 3,
};

enum record_status {
    RECORD_REQUEST_COMPLETE = 0,
    RECORD_CANT_MPX_CONN = 1,
    RECORD_OVERLOADED = 2,
    RECORD_UNKNOWN_ROLE = 3,
};

struct record_header {
    uint8_t version;
    uint8_t type;
    uint16_t id;
    uint16_t content_length;
    uint8_t padding_length;
};

/* One name-value pair; both point into the bytes that were decoded. */
struct record_pair {
    const char *name;
    const char *value;
    uint32_t name_length;
    uint32_t value_length;
};

/* Takes the 8 bytes of a header apart. Every value is possible; nothing is
 * checked here. */
struct record_header record_decode_header(const char *bytes);

/* Writes the 8 bytes of a header. */
void record_encode_header(char *bytes, enum record_type type, uint16_t id, uint16_t content_length,
                          uint8_t padding_length);

/* Takes the next pair from <*cursor>, which moves on towards <end>. Returns 1; 0
 * at the end; -1 if the bytes that are left are no whole pair, with <*cursor>
 * unmoved. */
int record_next_pair(const char **cursor, const char *end, struct record_pair *pair);

/* Writes the lengths of a pair (2 to 8 bytes); the texts follow. Returns how many
 * bytes. <bytes> NULL: only counts. */
size_t record_encode_lengths(char *bytes, uint32_t name_length, uint32_t value_length);

/* Writes a whole END_REQUEST record: RECORD_END_SIZE bytes. */
void record_encode_end(char *bytes, uint16_t id, uint32_t app_status, enum record_status status);

/* Writes a whole UNKNOWN_TYPE record about <type>: RECORD_END_SIZE bytes. */
void record_encode_unknown(char *bytes, uint8_t type);

/* Writes the GET_VALUES_RESULT record to the content <query> of a GET_VALUES
 * record: each variable we know once, in our order, however often it was asked
 * for; others are left out. Bytes that are no pair end the query. <connections>
 * and <requests> are what we can take at the same time. Returns the length, at
 * most RECORD_VALUES_SIZE. */
size_t record_encode_values(char *bytes, const char *query, size_t length, uint32_t connections,
                            uint32_t requests);

#endif
