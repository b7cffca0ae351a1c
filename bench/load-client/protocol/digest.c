/* SPDX-License-Identifier: MIT */
/* digest.c - see digest.h. Words are mixed by multiplication and rotation. */
#include "protocol/digest.h"

#include <string.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */

static inline uint64_t
mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * ODD;
    return state << 29 | state >> 35;
}

static void
add_byte(struct digest *d, unsigned char byte)
{
    unsigned held = d->length % 8;
    d->partial |= (uint64_t)byte << (held * 8);
    d->length++;
    if (held == 7) {
        d->state = mix(d->state, d->partial);
        d->partial = 0;
    }
}

void
digest_add(struct digest *d, const void *data, size_t n)
{
    const unsigned char *p = data, *end = p + n;
    while (p < end && d->length % 8 != 0)
        add_byte(d, *p++);
    uint64_t state = d->state;
    for (; end - p >= 8; p += 8, d->length += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        state = mix(state, word);
    }
    d->state = state;
    while (p < end)
        add_byte(d, *p++);
}

uint64_t
digest_value(const struct digest *d)
{
    uint64_t value = mix(mix(d->state, d->partial), d->length);
    return mix(value, value >> 32);
}
