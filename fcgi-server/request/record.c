/* SPDX-License-Identifier: MIT */
#include "request/record.h"

#include <stdio.h>
#include <string.h>

struct record_header
record_decode_header(const char *bytes)
{
    const uint8_t *byte = (const uint8_t *)bytes;
    return (struct record_header){
        .version = byte[0],
        .type = byte[1],
        .id = (uint16_t)(byte[2] << 8 | byte[3]),
        .content_length = (uint16_t)(byte[4] << 8 | byte[5]),
        .padding_length = byte[6],
    };
}

void
record_encode_header(char *bytes, enum record_type type, uint16_t id, uint16_t content_length,
                     uint8_t padding_length)
{
    bytes[0] = RECORD_VERSION;
    bytes[1] = (char)type;
    bytes[2] = (char)(id >> 8);
    bytes[3] = (char)(id & 0xff);
    bytes[4] = (char)(content_length >> 8);
    bytes[5] = (char)(content_length & 0xff);
    bytes[6] = (char)padding_length;
    bytes[7] = 0;
}

/* A length is one byte, or four with the highest bit set. Returns the bytes it
 * takes; 0 if they are not all there. */
static size_t
decode_length(const char *bytes, const char *end, uint32_t *length)
{
    const uint8_t *byte = (const uint8_t *)bytes;
    if (bytes == end)
        return 0;
    if (byte[0] < 0x80) {
        *length = byte[0];
        return 1;
    }
    if (end - bytes < 4)
        return 0;
    *length = (uint32_t)(byte[0] & 0x7f) << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 |
              byte[3];
    return 4;
}

int
record_next_pair(const char **cursor, const char *end, struct record_pair *pair)
{
    const char *at = *cursor;
    uint32_t name_length;
    uint32_t value_length;
    if (at == end)
        return 0;
    size_t taken = decode_length(at, end, &name_length);
    if (taken == 0)
        return -1;
    at += taken;
    taken = decode_length(at, end, &value_length);
    if (taken == 0)
        return -1;
    at += taken;
    /* Two 31-bit lengths cannot overflow 64 bits. */
    if ((uint64_t)name_length + value_length > (uint64_t)(end - at))
        return -1;
    *pair = (struct record_pair){at, at + name_length, name_length, value_length};
    *cursor = at + name_length + value_length;
    return 1;
}

static size_t
encode_length(char *bytes, uint32_t length)
{
    if (length < 0x80) {
        if (bytes != NULL)
            bytes[0] = (char)length;
        return 1;
    }
    if (bytes != NULL) {
        bytes[0] = (char)(length >> 24 | 0x80);
        bytes[1] = (char)(length >> 16);
        bytes[2] = (char)(length >> 8);
        bytes[3] = (char)length;
    }
    return 4;
}

size_t
record_encode_lengths(char *bytes, uint32_t name_length, uint32_t value_length)
{
    size_t taken = encode_length(bytes, name_length);
    return taken + encode_length(bytes == NULL ? NULL : bytes + taken, value_length);
}

void
record_encode_end(char *bytes, uint16_t id, uint32_t app_status, enum record_status status)
{
    record_encode_header(bytes, RECORD_END_REQUEST, id, 8, 0);
    bytes[8] = (char)(app_status >> 24);
    bytes[9] = (char)(app_status >> 16);
    bytes[10] = (char)(app_status >> 8);
    bytes[11] = (char)app_status;
    bytes[12] = (char)status;
    memset(bytes + 13, 0, 3);
}

void
record_encode_unknown(char *bytes, uint8_t type)
{
    record_encode_header(bytes, RECORD_UNKNOWN_TYPE, RECORD_MANAGEMENT_ID, 8, 0);
    memset(bytes + 8, 0, 8);
    bytes[8] = (char)type;
}

size_t
record_encode_values(char *bytes, const char *query, size_t length, uint32_t connections,
                     uint32_t requests)
{
    struct {
        const char *name;
        uint32_t value;
        int asked;
    } known[] = {
        {"FCGI_MAX_CONNS", connections, 0},
        {"FCGI_MAX_REQS", requests, 0},
        {"FCGI_MPXS_CONNS", 0, 0},
    };
    const size_t known_count = sizeof known / sizeof *known;
    const char *cursor = query;
    struct record_pair pair;

    while (record_next_pair(&cursor, query + length, &pair) == 1) {
        for (size_t i = 0; i < known_count; i++)
            if (pair.name_length == strlen(known[i].name) &&
                memcmp(pair.name, known[i].name, pair.name_length) == 0)
                known[i].asked = 1;
    }
    size_t content = 0;
    char *to = bytes + RECORD_HEADER_SIZE;
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].asked) {
            char value[12];
            int digits = snprintf(value, sizeof value, "%u", known[i].value);
            size_t name_length = strlen(known[i].name);
            content += record_encode_lengths(to + content, (uint32_t)name_length, (uint32_t)digits);
            memcpy(to + content, known[i].name, name_length);
            content += name_length;
            memcpy(to + content, value, (size_t)digits);
            content += (size_t)digits;
        }
    }
    size_t padding = -content & 7;
    memset(to + content, 0, padding);
    record_encode_header(bytes, RECORD_GET_VALUES_RESULT, RECORD_MANAGEMENT_ID, (uint16_t)content,
                         (uint8_t)padding);
    return RECORD_HEADER_SIZE + content + padding;
}
