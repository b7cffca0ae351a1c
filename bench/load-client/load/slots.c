/* SPDX-License-Identifier: MIT */
/* slots.c - see slots.h. Queues are doubly linked rings through a head. */
#include "load/slots.h"

static void
append(struct connection *head, struct connection *c)
{
    c->prev = head->prev;
    c->next = head;
    head->prev->next = c;
    head->prev = c;
}

void
slots_init(struct worker *w, size_t before)
{
    const struct shared *run = w->run;
    for (int i = 0; i < STATES; i++)
        w->queue[i].next = w->queue[i].prev = &w->queue[i];
    for (size_t i = 0; i < w->connections; i++) {
        struct connection *c = &w->connection[i];
        double share = (double)(before + i) / (double)run->options->connections;
        c->fd = -1;
        c->state = STATE_RAMP;
        c->deadline_ns = run->start_ns + (uint64_t)((double)run->options->ramp_ns * share);
        append(&w->queue[STATE_RAMP], c);
    }
}

void
slots_move(struct worker *w, struct connection *c, enum state state, uint64_t deadline_ns)
{
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->state = (uint8_t)state;
    c->deadline_ns = deadline_ns;
    append(&w->queue[state], c);
}
