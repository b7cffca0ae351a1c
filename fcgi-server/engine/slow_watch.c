/* SPDX-License-Identifier: MIT */
#include "engine/slow_watch.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Time between two checks while handlers are quick. A check costs a timer and two context
 * switches: 35 us on a small virtual machine. */
#define QUIET_LOOK_NS INT64_C(20000000)

/* Time between two checks once a handler was slow, and how long this rate stays. */
#define ALERT_LOOK_NS SLOW_WATCH_NS
#define ALERT_NS      INT64_C(1000000000)

/* Checks without a running handler before the thread goes to sleep. */
#define QUIET_LOOKS 10

#define STACK_SIZE ((size_t)65536)

/* What the thread knows of the handler that it saw last. */
struct sight {
    int64_t since_ns; /* when it was entered, which identifies it */
    int64_t seen_ns;
    int64_t delay_ns; /* of the serving thread at that time */
    int64_t again_ns; /* when on_slow() wants to be called again; 0: not found slow yet */
    int64_t alert_until_ns;
};

/* Sleeps until the serving thread enters another handler than that of <since_ns>, or until
 * <until_ns>. */
static void
sleep_until_entered(struct slow_watch *watch, int64_t since_ns, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    atomic_store(&watch->asleep, 1);
    int64_t now_in_ns = atomic_load(&watch->busy_since_ns);
    /* A handler that was entered before the store has not seen it. */
    if (now_in_ns != since_ns && now_in_ns != 0 && atomic_exchange(&watch->asleep, 0) == 1)
        return;
    while (sem_clockwait(&watch->wake, CLOCK_MONOTONIC, &until) == -1 && errno == EINTR) {
    }
    /* Timed out: no handler will post, unless one has just done so. */
    if (atomic_exchange(&watch->asleep, 0) == 0) {
        while (sem_trywait(&watch->wake) == -1 && errno == EINTR) {
        }
    }
}

/* Nanoseconds that the serving thread has waited for a processor; 0 if the kernel does not
 * tell. */
static int64_t
delay_of(const struct slow_watch *watch)
{
    char text[80];
    ssize_t length = pread(watch->delay_fd, text, sizeof text - 1, 0);
    char *space;
    if (length <= 0)
        return 0;
    text[length] = '\0';
    space = strchr(text, ' '); /* "time running, time waiting, slices" */
    return space == NULL ? 0 : strtoll(space, NULL, 10);
}

/* The handler of <sight> has been running for SLOW_WATCH_NS. Is it slow, or did it
 * wait for a processor, as on a busy machine every handler may? Between two checks
 * it must have run or slept for a good part of SLOW_WATCH_NS. */
static bool
is_slow(struct slow_watch *watch, struct sight *sight, int64_t since_ns, int64_t now_ns)
{
    int64_t delay_ns = delay_of(watch);
    bool seen = sight->since_ns == since_ns;
    bool slow = seen && now_ns - sight->seen_ns - (delay_ns - sight->delay_ns) > SLOW_WATCH_NS / 2;
    if (!seen || !slow) {
        sight->since_ns = since_ns;
        sight->again_ns = 0;
        sight->seen_ns = now_ns;
        sight->delay_ns = delay_ns;
    }
    return slow;
}

/* Checks the handler that was entered at <since_ns>. Returns when to check again. */
static int64_t
look(struct slow_watch *watch, struct sight *sight, int64_t since_ns, int64_t now_ns)
{
    bool known = sight->since_ns == since_ns && sight->again_ns != 0;
    if (now_ns - since_ns < SLOW_WATCH_NS)
        return since_ns + (now_ns < sight->alert_until_ns ? ALERT_LOOK_NS : QUIET_LOOK_NS);
    if (!known && !is_slow(watch, sight, since_ns, now_ns))
        return now_ns + ALERT_LOOK_NS;
    sight->alert_until_ns = now_ns + ALERT_NS;
    if (pthread_mutex_trylock(&watch->lock) != 0)
        return now_ns + ALERT_LOOK_NS; /* it is just returning */
    if (atomic_load(&watch->busy_since_ns) == since_ns)
        sight->again_ns = watch->on_slow(watch->owner, now_ns);
    pthread_mutex_unlock(&watch->lock);
    return sight->again_ns;
}

static void *
run(void *argument)
{
    struct slow_watch *watch = argument;
    struct sight sight = {0};
    int quiet = 0;
    for (;;) {
        int64_t since_ns = atomic_load(&watch->busy_since_ns);
        int64_t now_ns = clock_ns();
        if (since_ns == 0 && ++quiet > QUIET_LOOKS) {
            sleep_until_entered(watch, 0, INT64_MAX);
            quiet = 0;
            now_ns = clock_ns();
        } else if (since_ns != 0) {
            quiet = 0;
            int64_t next_ns = look(watch, &sight, since_ns, now_ns);
            if (sight.again_ns != 0 && sight.since_ns == since_ns) { /* already known to be slow */
                sleep_until_entered(watch, since_ns, next_ns);
                continue;
            }
            now_ns = next_ns - QUIET_LOOK_NS;
        }
        struct timespec until = {.tv_sec = (now_ns + QUIET_LOOK_NS) / 1000000000,
                                 .tv_nsec = (now_ns + QUIET_LOOK_NS) % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return NULL;
}

void
slow_watch_init(struct slow_watch *watch, slow_watch_function *on_slow, void *owner)
{
    watch->serving = pthread_self();
    watch->delay_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    watch->on_slow = on_slow;
    watch->owner = owner;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_mutex_lock(&watch->lock);
    sem_init(&watch->wake, 0, 0);
}

/* Without the thread, requests are still served, but may wait longer. */
static void
start(struct slow_watch *watch)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* signals go to the serving thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed != 0) {
        log_error("cannot start the slow watch: %s; requests may wait behind slow handlers",
                  strerror(failed));
    }
    watch->started = true;
}

void
slow_watch_enter(struct slow_watch *watch, int64_t now_ns, bool needed)
{
    if (needed && !watch->started)
        start(watch);
    atomic_store(&watch->busy_since_ns, now_ns);
    if (needed && atomic_load(&watch->asleep) == 1 && atomic_exchange(&watch->asleep, 0) == 1)
        sem_post(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
}

void
slow_watch_leave(struct slow_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    atomic_store(&watch->busy_since_ns, 0);
}
