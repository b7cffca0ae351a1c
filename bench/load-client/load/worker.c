/* SPDX-License-Identifier: MIT */
/* worker.c - see worker.h */
#include "load/worker.h"
#include "load/connection.h"
#include "load/system.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Open loop: a nap shorter than this costs more processor time than looking
 * again, and ends late (measured at 20,000/s on a virtual machine: p50 of the
 * lateness 13 us instead of 45 us for the same processor time). */
#define SLEEP_COST_NS (35 * NS_PER_US)

enum { EVENTS_AT_ONCE = 256 };

#define WAKE_UP UINT64_MAX /* epoll's data of the eventfd */

/* --- which request next --------------------------------------------------- */

/* May one more request begin now (closed loop)? Takes a ticket when requests
 * are counted; those of the warm-up are not. */
static bool
take_ticket(struct worker *w)
{
    struct shared *run = w->run;
    if (w->exhausted || w->now_ns >= run->stop_ns)
        return false;
    if (run->plan.requests == 0 || w->now_ns < run->measure_ns)
        return true;
    if (atomic_fetch_add_explicit(&run->tickets, 1, memory_order_relaxed) < run->plan.requests)
        return true;
    w->exhausted = true;
    return false;
}

/* The slot has paused in <state>, which the client chose, not the user. */
static void
count_pause(struct worker *w, const struct connection *c, uint64_t end_ns)
{
    bool closing = c->state == STATE_CLOSING, backoff = c->state == STATE_BACKOFF;
    uint64_t start = c->paused_ns > w->run->measure_ns ? c->paused_ns : w->run->measure_ns;
    if ((closing || backoff) && end_ns > start)
        counter_add(&w->tally->paused_ns[closing ? PAUSE_CLOSING : PAUSE_BACKOFF], end_ns - start);
}

static void
retire(struct worker *w, struct connection *c)
{
    connection_close(w, c, false);
    slots_move(w, c, STATE_IDLE, w->now_ns);
}

/* The slot has no request: gives it one, lets it think, or retires it. */
static void
next(struct worker *w, struct connection *c)
{
    const struct shared *run = w->run;
    count_pause(w, c, w->now_ns);
    if (run->plan.rate_per_s > 0) {
        slots_move(w, c, STATE_IDLE, c->state == STATE_RAMP ? c->deadline_ns : w->now_ns);
        return;
    }
    bool think = run->options->think_ns > 0 && c->state != STATE_PAUSED && c->state != STATE_RAMP;
    if (think && !w->exhausted)
        slots_move(w, c, STATE_PAUSED, w->now_ns + run->options->think_ns);
    else if (take_ticket(w))
        connection_begin(w, c, w->now_ns, w->now_ns >= run->measure_ns);
    else
        retire(w, c);
}

/* Open loop: begins what is due, as long as slots are free. */
static void
dispatch(struct worker *w)
{
    struct connection *c;
    uint64_t due;
    while ((due = pace_next_ns(&w->pace)) <= w->now_ns && due < w->run->stop_ns &&
           (c = slots_first(w, STATE_IDLE)) != NULL) {
        bool measured = due >= w->run->measure_ns;
        uint64_t free_since = c->deadline_ns > due ? c->deadline_ns : due;
        if (measured && c->deadline_ns > due)
            tally_event(w->tally, EVENT_QUEUED);
        if (measured)
            histogram_record(&w->tally->span[SPAN_LAG], w->now_ns - free_since);
        pace_advance(&w->pace);
        connection_begin(w, c, due, measured);
        w->now_ns = clock_now_ns();
    }
    if (pace_next_ns(&w->pace) == NEVER_NS)
        w->exhausted = true;
}

/* --- the loop ------------------------------------------------------------- */

/* Slots whose state ends by itself. Those that are moved back to the same
 * queue get a later deadline, so the loop ends. */
static void
run_deadlines(struct worker *w)
{
    static const enum state timed[] = {STATE_RAMP,    STATE_CONNECTING, STATE_ACTIVE,
                                       STATE_CLOSING, STATE_PAUSED,     STATE_BACKOFF};
    struct connection *c;
    for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
        while ((c = slots_first(w, timed[i])) != NULL && c->deadline_ns <= w->now_ns)
            if (connection_deadline(w, c))
                next(w, c);
    /* Requests that fail at once put their slot back; each gets one turn. */
    struct connection *last = w->queue[STATE_NEXT].prev;
    while ((c = slots_first(w, STATE_NEXT)) != NULL) {
        next(w, c);
        if (c == last)
            break;
    }
}

/* When something happens without an event. */
static uint64_t
next_deadline(struct worker *w)
{
    uint64_t soonest = w->run->stop_ns;
    for (int i = STATE_RAMP; i < STATES; i++) {
        struct connection *c = slots_first(w, (enum state)i);
        if (c != NULL && c->deadline_ns < soonest)
            soonest = c->deadline_ns;
    }
    if (w->run->plan.rate_per_s > 0 && slots_first(w, STATE_IDLE) != NULL) {
        uint64_t due = pace_next_ns(&w->pace);
        soonest = due < soonest ? due : soonest;
    }
    return soonest;
}

static int
wait_events(struct worker *w, struct epoll_event *events)
{
    uint64_t deadline = next_deadline(w), now = clock_now_ns();
    uint64_t spare = w->run->plan.rate_per_s > 0 ? SLEEP_COST_NS : 0;
    uint64_t left = deadline <= now + spare ? 0 : deadline - now;
    struct timespec timeout = {.tv_sec = (time_t)(left / NS_PER_S),
                               .tv_nsec = (long)(left % NS_PER_S)};
    int n = epoll_pwait2(w->epoll_fd, events, EVENTS_AT_ONCE,
                         deadline == NEVER_NS ? NULL : &timeout, NULL);
    if (n == -1 && errno == ENOSYS) /* before Linux 5.11: whole milliseconds */
        n = epoll_wait(w->epoll_fd, events, EVENTS_AT_ONCE,
                       deadline == NEVER_NS ? -1 : (int)((left + NS_PER_MS - 1) / NS_PER_MS));
    return n;
}

static void
handle(struct worker *w, const struct epoll_event *event)
{
    if (event->data.u64 == WAKE_UP)
        return; /* run.stop is looked at in every round */
    struct connection *c = &w->connection[event->data.u64 >> 32];
    if (c->generation == (uint32_t)event->data.u64 && connection_event(w, c, event->events))
        next(w, c);
}

static bool
finished(const struct worker *w)
{
    return atomic_load_explicit(&w->run->stop, memory_order_relaxed) ||
           w->now_ns >= w->run->stop_ns || (w->exhausted && w->busy == 0);
}

static void
loop(struct worker *w)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    bool open_loop = w->run->plan.rate_per_s > 0, measuring = false;
    while (w->now_ns = clock_now_ns(), !finished(w)) {
        if (!measuring && w->now_ns >= w->run->measure_ns) {
            measuring = true;
            w->cpu_start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            w->delay_start_ns = system_run_delay_ns();
        }
        run_deadlines(w);
        if (open_loop)
            dispatch(w);
        if (w->exhausted && w->busy == 0)
            break;
        int n = wait_events(w, events);
        for (int i = 0; i < n; i++) {
            handle(w, &events[i]);
            if (open_loop && pace_next_ns(&w->pace) <= w->now_ns)
                dispatch(w);
        }
    }
}

/* Open loop: what was due and not sent has waited, too. At most 1,000 ages stand
 * for any number of requests. */
static void
count_unsent(struct worker *w)
{
    struct pace *p = &w->pace;
    uint64_t end = w->end_ns < w->run->stop_ns ? w->end_ns : w->run->stop_ns - 1;
    for (uint64_t n = pace_overdue(p, w->run->measure_ns - 1); n > 0; n--)
        pace_advance(p); /* of the warm-up */
    uint64_t unsent = pace_overdue(p, end), steps = unsent < 1000 ? unsent : 1000;
    counter_add(&w->tally->event[EVENT_UNSENT], unsent);
    for (uint64_t i = 0, done = 0; i < steps; i++) {
        uint64_t upto = (uint64_t)((double)unsent * (double)(i + 1) / (double)steps + 0.5);
        uint64_t age = w->end_ns - pace_due_ns(p, (done + upto) / 2);
        histogram_record_many(&w->tally->span[SPAN_IN_FLIGHT], age, upto - done);
        done = upto;
    }
}

/* What is still under way when the run ends. */
static void
count_rest(struct worker *w)
{
    struct tally *t = w->tally;
    for (size_t i = 0; i < w->connections; i++) {
        struct connection *c = &w->connection[i];
        count_pause(w, c, w->end_ns);
        bool has_request = c->state == STATE_CONNECTING || c->state == STATE_ACTIVE;
        if (has_request && c->measured) {
            counter_add(&t->in_flight, 1);
            counter_add(&t->busy_ns, w->end_ns - c->begun_ns);
            histogram_record(&t->span[SPAN_IN_FLIGHT], w->end_ns - c->intended_ns);
        }
        uint64_t waited = w->end_ns - c->connect_ns, whole = w->end_ns - w->run->measure_ns;
        if (c->state == STATE_ACTIVE && !c->seen_byte && waited > whole / 2)
            tally_event(t, EVENT_NEVER_SERVED);
        connection_close(w, c, has_request);
    }
    if (w->run->plan.rate_per_s > 0)
        count_unsent(w);
}

void *
worker_main(void *argument)
{
    struct worker *w = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    loop(w);
    w->end_ns = w->now_ns;
    w->cpu_end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    w->delay_end_ns = system_run_delay_ns();
    count_rest(w);
    uint64_t one = 1;
    while (write(w->done_fd, &one, sizeof(one)) == -1 && errno == EINTR)
        continue;
    return NULL;
}

int
worker_init(struct worker *w, struct shared *run, unsigned number, size_t connections,
            size_t before, int done_fd)
{
    *w = (struct worker){.run = run,
                         .number = number,
                         .connections = connections,
                         .done_fd = done_fd,
                         .patience_ns = PATIENCE_NS,
                         .epoll_fd = -1,
                         .wake_fd = -1};
    w->connection = bytes_allocate(connections, sizeof(*w->connection));
    w->tally = bytes_allocate(1, sizeof(*w->tally));
    w->buffer = bytes_allocate(WORKER_BUFFER, 1);
    w->next_request = before % run->target->sequence_length;
    slots_init(w, before);
    if (run->plan.rate_per_s > 0) {
        w->pace = (struct pace){
            .start_ns = run->start_ns,
            .interval_ns = 1e9 / run->plan.rate_per_s,
            .next_number = number,
            .step = run->options->threads,
            .end_number = run->plan.requests ? run->plan.requests : UINT64_MAX / 2,
        };
        uint64_t warmup = run->measure_ns - run->start_ns;
        if (run->plan.requests)
            w->pace.end_number += (uint64_t)((double)warmup / w->pace.interval_ns);
    }
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = WAKE_UP};
    if (w->epoll_fd == -1 || w->wake_fd == -1)
        return -1;
    return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &wake);
}

void
worker_free(struct worker *w)
{
    if (w->epoll_fd != -1)
        close(w->epoll_fd);
    if (w->wake_fd != -1)
        close(w->wake_fd);
    free(w->connection);
    free(w->tally);
    free(w->buffer);
}
