/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory that lives as long as one request: allocation moves a
 * pointer, and everything is let go at once. The first block stays for the next
 * request, so that a request in the steady state allocates nothing.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *first; /* kept over arena_reset(); NULL until the first use */
    struct arena_block *last;  /* the one that is filled */
    size_t held;               /* bytes of all blocks */
    size_t max;                /* <held> never passes it */
};

/* Makes <arena> empty; allocates nothing yet. It will hold at most <max> bytes. */
void arena_init(struct arena *arena, size_t max);

/* <size> bytes, aligned for any type, not cleared. NULL when the arena is full
 * or the system is out of memory. They stay until arena_reset(). */
void *arena_alloc(struct arena *arena, size_t size);

/* Lets go of all that was allocated; keeps the first block. */
void arena_reset(struct arena *arena);

/* Frees all. The arena can be used again. */
void arena_free(struct arena *arena);

#endif
