/* SPDX-License-Identifier: MIT */
/*
 * digest.h - 64-bit digest of a body that arrives in pieces. The value depends
 * on the bytes only, not on how they were cut. It tells different pages apart
 * at several gigabytes a second; it is no defence against a forger.
 */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* All zero is the digest of nothing yet. */
struct digest {
    uint64_t state;   /* of the whole words so far */
    uint64_t partial; /* bytes that do not fill a word yet, lowest first */
    uint64_t length;  /* bytes so far */
};

/* Adds <n> bytes. */
void digest_add(struct digest *d, const void *data, size_t n);

/* The value for all bytes so far; more may follow. */
uint64_t digest_value(const struct digest *d);

#endif
