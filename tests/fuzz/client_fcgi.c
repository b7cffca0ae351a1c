/* SPDX-License-Identifier: MIT */
/* links: bench/load-client/protocol/fcgi.c bench/load-client/protocol/digest.c bench/load-client/protocol/bytes.c */
/* A FastCGI answer cut anywhere is the same answer as in one piece. The first byte of the
 * input chooses the cuts. */
#include "protocol/fcgi.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum answer_state
parse(const char *bytes, size_t size, size_t step, struct answer *answer)
{
    struct fcgi parser;
    enum answer_state state = ANSWER_MORE;
    fcgi_start(&parser, answer, 4096);
    for (size_t at = 0; at < size && state == ANSWER_MORE;) {
        size_t length = size - at < step ? size - at : step;
        char *piece = malloc(length);
        if (!piece)
            abort();
        memcpy(piece, bytes + at, length);
        state = fcgi_feed(&parser, piece, length);
        free(piece);
        at += length;
        if (state == ANSWER_DONE && at < size)
            return answer_fail(answer, FAULT_SURPLUS, "surplus");
    }
    return state == ANSWER_MORE ? fcgi_end(&parser) : state;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct answer whole, cut;
    enum answer_state first = parse(bytes, size - 1, SIZE_MAX, &whole);
    enum answer_state second = parse(bytes, size - 1, data[0] % 32 + 1u, &cut);
    if (first == ANSWER_MORE || first != second)
        abort();
    if (first == ANSWER_BAD) {
        if (whole.fault == FAULT_NONE || !whole.reason || !cut.reason)
            abort();
        return 0;
    }
    if (whole.status != cut.status || whole.keep != cut.keep ||
        whole.app_status != cut.app_status || whole.stderr_bytes != cut.stderr_bytes ||
        whole.body.length != cut.body.length ||
        digest_value(&whole.body) != digest_value(&cut.body))
        abort();
    return 0;
}
