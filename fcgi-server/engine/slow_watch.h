/* SPDX-License-Identifier: MIT */
/*
 * slow_watch.h - a second thread that acts for a child while its other thread, the serving
 * one, is inside a handler. One lock guards everything the child has; the serving thread
 * holds it at all times except in handlers, so that the two never run at the same time. The
 * slow watch checks only while handlers run, rarely while they are quick, and sleeps while
 * the child is idle: 1,024 children must not cost a processor.
 */
#ifndef SLOW_WATCH_H
#define SLOW_WATCH_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A handler that runs longer than this is slow. */
#define SLOW_WATCH_NS INT64_C(5000000)

/* Called with the lock held when a handler was found slow. Returns when to call it again if
 * the same handler still runs then (CLOCK_MONOTONIC); INT64_MAX: not again. */
typedef int64_t slow_watch_function(void *owner, int64_t now_ns);

struct slow_watch {
    pthread_mutex_t lock;
    pthread_t serving;
    int delay_fd; /* tells how long the serving thread waited for a processor */
    bool started;
    sem_t wake;
    _Atomic int64_t busy_since_ns; /* CLOCK_MONOTONIC; 0: not in a handler */
    _Atomic int asleep;
    slow_watch_function *on_slow;
    void *owner;
};

/* The caller becomes the serving thread and gets the lock. The slow watch itself
 * starts with the first handler. It lives as long as the child. */
void slow_watch_init(struct slow_watch *watch, slow_watch_function *on_slow, void *owner);

/* The serving thread is about to enter a handler: releases the lock. <needed>: wakes
 * the slow watch if it sleeps. */
void slow_watch_enter(struct slow_watch *watch, int64_t now_ns, bool needed);

/* The handler has returned: takes the lock again. */
void slow_watch_leave(struct slow_watch *watch);

#endif
