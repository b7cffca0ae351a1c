/* SPDX-License-Identifier: MIT */
#include "request/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

/* Enough for the parameter table and the headers of a common request. */
#define FIRST_BLOCK ((size_t)4096)

/* A first block over this, made by one large request, does not stay. */
#define KEPT_BLOCK ((size_t)65536)

struct arena_block {
    struct arena_block *next;
    size_t size; /* of <bytes> */
    size_t used;
    alignas(max_align_t) char bytes[];
};

void
arena_init(struct arena *arena, size_t max)
{
    *arena = (struct arena){.max = max};
}

/* Appends a block with room for <size> bytes, twice as large as the last one if
 * the limit allows. */
static struct arena_block *
add_block(struct arena *arena, size_t size)
{
    size_t wanted = arena->last == NULL ? FIRST_BLOCK : arena->last->size * 2;
    if (wanted > arena->max - arena->held)
        wanted = arena->max - arena->held;
    if (wanted < size)
        wanted = size;
    if (wanted > arena->max - arena->held)
        return NULL;
    struct arena_block *block = malloc(sizeof *block + wanted);
    if (block == NULL)
        return NULL;
    *block = (struct arena_block){.size = wanted};
    if (arena->last == NULL)
        arena->first = block;
    else
        arena->last->next = block;
    arena->last = block;
    arena->held += wanted;
    return block;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->last;
    if (size > arena->max) /* so that rounding cannot overflow */
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (block == NULL || size > block->size - block->used) {
        block = add_block(arena, size);
        if (block == NULL)
            return NULL;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

static void
free_blocks(struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void
arena_reset(struct arena *arena)
{
    struct arena_block *first = arena->first;
    if (first == NULL)
        return;
    if (first->size > KEPT_BLOCK) {
        arena_free(arena);
        return;
    }
    free_blocks(first->next);
    first->next = NULL;
    first->used = 0;
    arena->last = first;
    arena->held = first->size;
}

void
arena_free(struct arena *arena)
{
    free_blocks(arena->first);
    arena_init(arena, arena->max);
}
