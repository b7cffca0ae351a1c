/* SPDX-License-Identifier: MIT */
#include "engine/event/timers.h"

#include <stdlib.h>

/* heap[place - 1]; the parent of a place is place / 2. */
static void
put(struct timers *timers, struct timer *timer, size_t place)
{
    timers->heap[place - 1] = timer;
    timer->place = place;
}

static void
move_up(struct timers *timers, struct timer *timer, size_t place)
{
    while (place > 1 && timers->heap[place / 2 - 1]->at_ns > timer->at_ns) {
        put(timers, timers->heap[place / 2 - 1], place);
        place /= 2;
    }
    put(timers, timer, place);
}

static void
move_down(struct timers *timers, struct timer *timer, size_t place)
{
    for (;;) {
        size_t child = place * 2;
        if (child < timers->count && timers->heap[child]->at_ns < timers->heap[child - 1]->at_ns)
            child++;
        if (child > timers->count || timers->heap[child - 1]->at_ns >= timer->at_ns)
            break;
        put(timers, timers->heap[child - 1], place);
        place = child;
    }
    put(timers, timer, place);
}

int
timers_set(struct timers *timers, struct timer *timer, int64_t at_ns)
{
    timers_clear(timers, timer);
    if (timers->count == timers->size) {
        size_t size = timers->size == 0 ? 16 : timers->size * 2;
        struct timer **heap = realloc(timers->heap, size * sizeof *heap);
        if (heap == NULL)
            return -1;
        timers->heap = heap;
        timers->size = size;
    }
    timer->at_ns = at_ns;
    timers->count++;
    move_up(timers, timer, timers->count);
    return 0;
}

void
timers_clear(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;
    if (place == 0)
        return;
    timer->place = 0;
    struct timer *last = timers->heap[--timers->count];
    if (last == timer)
        return;
    if (place > 1 && timers->heap[place / 2 - 1]->at_ns > last->at_ns)
        move_up(timers, last, place);
    else
        move_down(timers, last, place);
}

struct timer *
timers_first(const struct timers *timers)
{
    return timers->count == 0 ? NULL : timers->heap[0];
}

void
timers_free(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}
