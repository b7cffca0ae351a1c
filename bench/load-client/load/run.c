/* SPDX-License-Identifier: MIT */
/* run.c - see run.h: starts the threads, waits for them and for signals. */
#include "load/run.h"
#include "load/live.h"
#include "load/system.h"
#include "load/worker.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void
stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void
run_block_signals(void)
{
    sigset_t set;
    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void
stop_workers(struct shared *run, struct worker *workers, size_t count)
{
    atomic_store(&run->stop, true);
    for (size_t i = 0; i < count; i++)
        eventfd_write(workers[i].wake_fd, 1);
}

/* Reads one signal. The second one ends the program at once. */
static void
take_signal(struct result *result, int signal_fd)
{
    struct signalfd_siginfo info;
    if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
        return;
    if (result->interrupted)
        _exit(128 + (int)info.ssi_signo);
    result->interrupted = (int)info.ssi_signo;
}

/* Waits until all threads have ended, once per second showing how it goes. */
static void
supervise(struct shared *run, struct result *result, struct worker *workers, size_t count,
          int done_fd, struct live *live)
{
    sigset_t set;
    stop_signals(&set);
    int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    size_t ended = 0;
    uint64_t tick_ns = run->start_ns + NS_PER_S;
    bool stopped = false;
    while (ended < count) {
        uint64_t now = clock_now_ns();
        uint64_t left = tick_ns > now ? tick_ns - now : 0;
        struct pollfd fds[] = {{signal_fd, POLLIN, 0}, {done_fd, POLLIN, 0}};
        int n = poll(fds, 2, (int)((left + NS_PER_MS - 1) / NS_PER_MS));
        if (n > 0 && fds[0].revents)
            take_signal(result, signal_fd);
        eventfd_t more = 0;
        if (n > 0 && fds[1].revents && eventfd_read(done_fd, &more) == 0)
            ended += more;
        if (!stopped && (result->interrupted || atomic_load(&run->stop))) {
            stop_workers(run, workers, count);
            stopped = true;
        }
        if (clock_now_ns() >= tick_ns && ended < count) {
            live_tick(live);
            tick_ns += NS_PER_S;
            if (live->series_error != 0)
                atomic_store(&run->stop, true);
        }
    }
    close(signal_fd);
}

static void
collect(struct result *result, struct shared *run, struct worker *workers, size_t count)
{
    uint64_t end_ns = run->measure_ns;
    for (size_t i = 0; i < count; i++) {
        struct worker *w = &workers[i];
        uint64_t wall = w->end_ns > run->measure_ns ? w->end_ns - run->measure_ns : 0;
        uint64_t cpu = w->cpu_end_ns - w->cpu_start_ns;
        if (wall > 0 && (double)cpu / (double)wall > result->busiest_thread)
            result->busiest_thread = (double)cpu / (double)wall;
        double delay = (double)(w->delay_end_ns - w->delay_start_ns);
        if (wall > 0 && delay / (double)wall > result->waited_for_cpu)
            result->waited_for_cpu = delay / (double)wall;
        if (w->end_ns > end_ns)
            end_ns = w->end_ns;
        result->peak_open += w->peak_open;
        result->cpu_s += (double)cpu / 1e9;
        tally_add(&result->tally, w->tally);
        for (int kind = 0; kind < FAILURES; kind++)
            if (*result->example[kind].text == '\0')
                result->example[kind] = w->example[kind];
        if (*result->server == '\0')
            memcpy(result->server, w->server, sizeof(w->server));
    }
    result->elapsed_s = (double)(end_ns - run->measure_ns) / 1e9;
    result->gave_up = atomic_load(&run->gave_up);
    result->connections = run->options->connections;
    result->accounting_closes = tally_closes(&result->tally);
    result_complete(result);
    result->document_length = run->target->request[0].expect.length;
}

/* Gives each thread its share of the connections and starts it. */
static size_t
start_workers(struct shared *run, struct worker *workers, int done_fd)
{
    size_t threads = run->options->threads, total = run->options->connections, before = 0;
    size_t started = 0;
    while (started < threads) {
        size_t share = (total - before) / (threads - started);
        struct worker *w = &workers[started];
        int failed = worker_init(w, run, (unsigned)started, share, before, done_fd);
        before += share;
        started++;
        if (failed == -1)
            return 0;
    }
    for (size_t i = 0; i < threads; i++) {
        int error = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
        if (error != 0) {
            errno = error;
            stop_workers(run, workers, i);
            for (size_t k = 0; k < i; k++)
                pthread_join(workers[k].thread, NULL);
            return 0;
        }
    }
    return threads;
}

int
run(struct result *result, const struct options *o, struct target *target, const struct plan *plan,
    char *message, size_t size)
{
    struct shared state = {.options = o, .target = target, .plan = *plan};
    result->plan = *plan;
    if (system_need_descriptors(o->connections + 3 * o->threads + 32, message, size) == -1)
        return -1;
    struct worker *workers = bytes_allocate(o->threads, sizeof(*workers));
    struct live live;
    if (live_init(&live, &state, workers, o->threads, message, size) == -1) {
        free(workers);
        return -1;
    }
    int done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    uint64_t drops = system_listen_drops();
    result->started_at_s = (double)clock_ns(CLOCK_REALTIME) / 1e9;
    state.start_ns = clock_now_ns() + 1;
    state.measure_ns = state.start_ns + o->warmup_ns;
    state.stop_ns = plan->duration_ns ? state.measure_ns + plan->duration_ns : NEVER_NS;
    size_t started = start_workers(&state, workers, done_fd);
    if (started == 0) {
        snprintf(message, size, "cannot start %llu threads: %s", (unsigned long long)o->threads,
                 strerror(errno));
    } else {
        live.last_ns = state.start_ns;
        supervise(&state, result, workers, started, done_fd, &live);
        for (size_t i = 0; i < started; i++)
            pthread_join(workers[i].thread, NULL);
        collect(result, &state, workers, started);
        result->listen_drops = system_listen_drops() - drops;
    }
    live_end(&live);
    result->series_error = live.series_error;
    if (live.series_error != 0)
        fprintf(stderr, "load-client: --series: cannot write %s: %s\n", o->series,
                strerror(live.series_error));
    for (size_t i = 0; i < o->threads; i++)
        worker_free(&workers[i]);
    free(workers);
    close(done_fd);
    return started > 0 ? 0 : -1;
}
