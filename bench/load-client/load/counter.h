/* SPDX-License-Identifier: MIT */
/*
 * counter.h - a counter with one writer and any number of readers. The writer
 * pays an ordinary add; readers see whole values, perhaps a moment old.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t value;
};

/* 64 bits; of the type that %llu prints. */
static inline unsigned long long
counter_get(const struct counter *c)
{
    return atomic_load_explicit(&c->value, memory_order_relaxed);
}

static inline void
counter_set(struct counter *c, uint64_t value)
{
    atomic_store_explicit(&c->value, value, memory_order_relaxed);
}

/* Only the counter's owner may call this. */
static inline void
counter_add(struct counter *c, uint64_t n)
{
    counter_set(c, counter_get(c) + n);
}

#endif
