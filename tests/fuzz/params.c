/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/request/record.c */
/* Any parameter stream: pairs lie inside it, one behind the other, and what was encoded is
 * decoded again. */
#include "request/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(int good)
{
    if (!good)
        abort();
}

static void
check_values(const char *bytes, size_t size)
{
    char reply[RECORD_VALUES_SIZE];
    size_t length = record_encode_values(reply, bytes, size, UINT32_MAX, UINT32_MAX);
    check(length >= RECORD_HEADER_SIZE && length <= sizeof reply);
    struct record_header header = record_decode_header(reply);
    check(header.type == RECORD_GET_VALUES_RESULT && header.id == 0);
    check((size_t)RECORD_HEADER_SIZE + header.content_length + header.padding_length == length);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size ? size : 1), *again = malloc(size * 4 + 1);
    check(bytes && again);
    memcpy(bytes, data, size);
    const char *cursor = bytes, *end = bytes + size;
    struct record_pair pair;
    size_t made = 0;
    int result;
    for (;;) {
        const char *before = cursor;
        result = record_next_pair(&cursor, end, &pair);
        if (result != 1) {
            check(cursor == before);
            break;
        }
        check(pair.name > before && pair.value == pair.name + pair.name_length);
        check(pair.value + pair.value_length == cursor && cursor <= end);
        size_t lengths = record_encode_lengths(again + made, pair.name_length, pair.value_length);
        check(lengths >= 2 && lengths <= 8);
        check(lengths == record_encode_lengths(NULL, pair.name_length, pair.value_length));
        memcpy(again + made + lengths, pair.name, pair.name_length + pair.value_length);
        const char *second = again + made;
        struct record_pair same;
        made += lengths + pair.name_length + pair.value_length;
        check(record_next_pair(&second, again + made, &same) == 1 && second == again + made);
        check(same.name_length == pair.name_length && same.value_length == pair.value_length);
    }
    check((result == 0) == (cursor == end));
    check_values(bytes, size < 65535 ? size : 65535);
    free(bytes);
    free(again);
    return 0;
}
