/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/protocol/http.c bench/load-client/protocol/chunk.c */
/* links: bench/load-client/protocol/digest.c bench/load-client/protocol/bytes.c */
/* links: llhttp */
/* An HTTP answer cut anywhere is the same answer as in one piece. The first byte of the
 * input chooses the cuts, and whether the request was HEAD. */
#include "protocol/http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum answer_state
parse(const char *bytes, size_t size, size_t step, bool head, struct answer *answer)
{
    struct http parser;
    enum answer_state state = ANSWER_MORE;
    http_start(&parser, answer, head, 8192);
    for (size_t at = 0; at < size && state == ANSWER_MORE;) {
        size_t length = size - at < step ? size - at : step;
        /* A copy of the exact length, so that one byte too far is seen. */
        char *piece = malloc(length);
        if (!piece)
            abort();
        memcpy(piece, bytes + at, length);
        state = http_feed(&parser, piece, length);
        free(piece);
        at += length;
        if (state == ANSWER_DONE && at < size) /* the rest would be surplus */
            return answer_fail(answer, FAULT_SURPLUS, "surplus");
    }
    return state == ANSWER_MORE ? http_end(&parser) : state;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct answer whole, cut;
    bool head = (data[0] & 128) != 0;
    enum answer_state first = parse(bytes, size - 1, SIZE_MAX, head, &whole);
    enum answer_state second = parse(bytes, size - 1, data[0] % 32 + 1u, head, &cut);
    if (first == ANSWER_MORE || second == ANSWER_MORE || first != second)
        abort();
    if (first == ANSWER_BAD)
        return whole.fault == FAULT_NONE || cut.fault == FAULT_NONE || !whole.reason ? (abort(), 0)
                                                                                     : 0;
    if (whole.status != cut.status || whole.keep != cut.keep ||
        whole.body.length != cut.body.length ||
        digest_value(&whole.body) != digest_value(&cut.body))
        abort();
    if (whole.excerpt_length != cut.excerpt_length ||
        memcmp(whole.excerpt, cut.excerpt, whole.excerpt_length) != 0)
        abort();
    char value[16];
    http_header(bytes, size - 1, "Location", value, sizeof value);
    return 0;
}
