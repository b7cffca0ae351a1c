/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a second thread that looks after a child while its only other thread,
 * the serving one, is inside a handler and can do nothing else. One lock guards
 * everything the child has; the serving thread holds it at all times except in
 * handlers, so that the watch thread is either alone or asleep. It ticks only
 * while handlers run, and sleeps for good while the child is idle.
 */
#ifndef WATCH_H
#define WATCH_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

/* A handler that runs longer than this is slow. */
#define WATCH_SLOW_NS INT64_C(5000000)

struct watch {
    pthread_mutex_t lock;
    pthread_t serving;
    sem_t wake;
    _Atomic int64_t busy_since_ns; /* CLOCK_MONOTONIC; 0: not in a handler */
    _Atomic int asleep;
    void (*tick)(void *owner, int64_t busy_ns, int64_t now_ns);
    void *owner;
};

/* Starts the thread; the caller is the serving one and gets the lock. <tick> is
 * called with the lock held when one handler has run for <busy_ns>, at least
 * WATCH_SLOW_NS, and again and again while it runs: every WATCH_SLOW_NS, the first
 * time, when no handler was slow of late, up to 20 ms later. Returns 0 or an error
 * number. There is no end: the thread lives as long as the child. */
int watch_start(struct watch *watch, void (*tick)(void *owner, int64_t busy_ns, int64_t now_ns),
                void *owner);

/* The serving thread is about to enter a handler: lets go of the lock. */
void watch_enter(struct watch *watch, int64_t now_ns);

/* The handler has returned: takes the lock again. */
void watch_leave(struct watch *watch);

#endif
