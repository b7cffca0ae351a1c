/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/request/query.c */
/* Any query string: pairs lie inside the text and in order, decoding agrees with the
 * plainest decoder there is, and in place with out of place. The key that is looked for
 * stands before the first NUL. */
#include "request/query.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
digit(char character)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, tolower((unsigned char)character), 16);
    return at ? (int)(at - digits) : -1;
}

static size_t
plain_decode(char *to, const char *from, size_t length)
{
    size_t made = 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] == '+') {
            to[made++] = ' ';
        } else if (from[i] == '%' && length - i > 2 && digit(from[i + 1]) >= 0 &&
                   digit(from[i + 2]) >= 0) {
            to[made++] = (char)(digit(from[i + 1]) * 16 + digit(from[i + 2]));
            i += 2;
        } else {
            to[made++] = from[i];
        }
    }
    return made;
}

static void
check(int good)
{
    if (!good)
        abort();
}

static void
check_decode(const char *text, size_t length)
{
    char *plain = malloc(length + 1), *made = malloc(length + 1), *in_place = malloc(length + 1);
    check(plain && made && in_place);
    memcpy(in_place, text, length);
    size_t wanted = plain_decode(plain, text, length);
    check(query_decode(made, text, length) == wanted && memcmp(plain, made, wanted) == 0);
    check(query_decode(in_place, in_place, length) == wanted &&
          memcmp(plain, in_place, wanted) == 0);
    free(plain);
    free(made);
    free(in_place);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t key_length = zero ? (size_t)(zero - data) : 0;
    size_t length = zero ? size - key_length - 1 : size;
    /* A copy of the exact length, so that one byte too far is seen. */
    char *text = malloc(length ? length : 1);
    check(text != NULL);
    memcpy(text, data + (size - length), length);
    const char *cursor = text, *end = text + length, *before = text;
    struct query_pair pair, found = {0};
    size_t pairs = 0;
    while (query_next(&cursor, end, &pair)) {
        check(pair.key >= before && pair.key + pair.key_length <= end);
        check(pair.value >= pair.key && pair.value + pair.value_length <= end);
        check(cursor > before && cursor <= end && ++pairs <= length);
        check_decode(pair.value, pair.value_length);
        before = cursor;
    }
    if (query_find(text, length, (const char *)data, key_length, &found))
        check(found.key >= text && found.value + found.value_length <= end);
    check_decode(text, length);
    free(text);
    return 0;
}
