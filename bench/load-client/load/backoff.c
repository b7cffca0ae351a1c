/* SPDX-License-Identifier: MIT */
/* backoff.c - see backoff.h */
#include "load/backoff.h"

#define FIRST_NS   (5 * NS_PER_MS)
#define LAST_NS    NS_PER_S
#define GIVE_UP_NS (10 * NS_PER_S)

void
backoff_succeeded(struct worker *w, struct connection *c)
{
    c->failures = 0;
    w->connect_failures = 0;
    w->address = c->address;
    if (!atomic_load_explicit(&w->run->connected, memory_order_relaxed))
        atomic_store(&w->run->connected, true);
    struct connection *head = &w->queue[STATE_BACKOFF];
    for (struct connection *i = head->next; i != head; i = i->next)
        i->deadline_ns = w->now_ns;
}

void
backoff_failed(struct worker *w, struct connection *c)
{
    if (w->connect_failures++ == 0)
        w->first_failure_ns = w->now_ns;
    uint64_t many = w->connections > 10 ? w->connections : 10;
    bool never = !atomic_load(&w->run->connected) && w->connect_failures >= many;
    if (never || w->now_ns - w->first_failure_ns >= GIVE_UP_NS) {
        atomic_store(&w->run->gave_up, true);
        atomic_store(&w->run->stop, true);
    }
    uint64_t pause = FIRST_NS << (c->failures < 8 ? c->failures : 8);
    if (c->failures < 255)
        c->failures++;
    c->paused_ns = w->now_ns;
    slots_move(w, c, STATE_BACKOFF, w->now_ns + (pause < LAST_NS ? pause : LAST_NS));
}
