/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - the chunked transfer coding (RFC 9112, section 7.1), cut anywhere.
 * Extensions and trailers are read over. llhttp 8 refuses a second extension
 * and blanks around them, which the RFC allows; hence our own. No I/O.
 */
#ifndef CHUNK_H
#define CHUNK_H

#include "protocol/answer.h"

struct chunk {
    uint64_t left;      /* bytes of the current chunk; the size while it is read */
    uint32_t line_room; /* bytes that extensions and trailers may still take */
    uint8_t state;
    uint8_t digits; /* of the size so far */
};

/* Makes ready for the first chunk. <line_limit>: bytes that all extensions and
 * trailers of the body may take together. */
void chunk_start(struct chunk *c, uint32_t line_limit);

/* Takes bytes from <data> up to <n> and adds the body's to <answer>. Says how
 * many it took in <used>: fewer than <n> only when the body ended or is bad. */
enum answer_state chunk_feed(struct chunk *c, struct answer *answer, const char *data, size_t n,
                             size_t *used);

#endif
