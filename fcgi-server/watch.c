/* SPDX-License-Identifier: MIT */
#include "watch.h"
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* How often we look: each look costs a timer and two context switches, which a
 * child that only has quick handlers should not notice. */
#define TICK_NS       WATCH_SLOW_NS
#define QUIET_TICK_NS INT64_C(20000000)

/* A handler that was slow makes the quick ticks last for so long. */
#define ALERT_NS INT64_C(1000000000)

/* Looks without a running handler before the thread goes to sleep. */
#define QUIET_LOOKS 10

#define STACK_SIZE ((size_t)65536)

static void
sleep_until_needed(struct watch *watch)
{
    atomic_store(&watch->asleep, 1);
    /* A handler that was entered before the store has not seen it. */
    if (atomic_load(&watch->busy_since_ns) != 0 && atomic_exchange(&watch->asleep, 0) == 1) {
        return;
    }
    while (sem_wait(&watch->wake) == -1 && errno == EINTR) {
    }
}

/* Calls tick() if the same handler still runs once we have the lock. Returns
 * whether it is slow. */
static bool
look(struct watch *watch, int64_t since_ns, int64_t now_ns)
{
    if (now_ns - since_ns < WATCH_SLOW_NS || pthread_mutex_trylock(&watch->lock) != 0) {
        return false;
    }
    bool slow = atomic_load(&watch->busy_since_ns) == since_ns;
    if (slow) {
        watch->tick(watch->owner, now_ns - since_ns, now_ns);
    }
    pthread_mutex_unlock(&watch->lock);
    return slow;
}

static void *
run(void *argument)
{
    struct watch *watch = argument;
    int64_t alert_until_ns = 0;
    int quiet = QUIET_LOOKS;

    for (;;) {
        int64_t since_ns = atomic_load(&watch->busy_since_ns);
        int64_t now_ns = service_now_ns();
        if (since_ns != 0) {
            quiet = 0;
            if (look(watch, since_ns, now_ns)) {
                alert_until_ns = now_ns + ALERT_NS;
            }
        } else if (++quiet > QUIET_LOOKS) {
            sleep_until_needed(watch);
            quiet = 0;
        }
        struct timespec pause = {.tv_nsec = now_ns < alert_until_ns ? TICK_NS : QUIET_TICK_NS};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int
watch_start(struct watch *watch, void (*tick)(void *owner, int64_t busy_ns, int64_t now_ns),
            void *owner)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    watch->serving = pthread_self();
    watch->tick = tick;
    watch->owner = owner;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_mutex_lock(&watch->lock);
    sem_init(&watch->wake, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* signals are the serving thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&thread, &attributes, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}

void
watch_enter(struct watch *watch, int64_t now_ns)
{
    atomic_store(&watch->busy_since_ns, now_ns);
    if (atomic_load(&watch->asleep) == 1 && atomic_exchange(&watch->asleep, 0) == 1) {
        sem_post(&watch->wake);
    }
    pthread_mutex_unlock(&watch->lock);
}

void
watch_leave(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    atomic_store(&watch->busy_since_ns, 0);
}
