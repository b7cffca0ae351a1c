/* SPDX-License-Identifier: MIT */
/* verdict.c - see verdict.h */
#include "report/verdict.h"
#include "load/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const verdict_names[3] = {"valid", "suspect", "invalid"};

/* Thresholds, as shares of one. */
#define CPU_INVALID     0.90 /* of one core, busiest thread */
#define CPU_SUSPECT     0.75
#define WAITED_NOTE     0.10 /* of the time, ready to run */
#define WAITED_SUSPECT  0.30
#define RATE_INVALID    0.98 /* achieved of the rate asked for */
#define UNSENT_SUSPECT  0.01 /* of the requests that were due */
#define LAG_OF_P99      0.10 /* p99 of the schedule lag, of p99 of the response */
#define PAUSED_LIMIT    0.05 /* of the connections' time */
#define PAUSED_MS       1.0  /* of each connection; a server that closes at once takes less */
#define LITTLE_LIMIT    0.05
#define LISTEN_RETRY_NS (900 * NS_PER_MS) /* a dropped SYN is sent again after 1 s */

void
verdict_object(struct verdict *v, enum grade grade, const char *format, ...)
{
    const size_t places = sizeof(v->reason) / sizeof(v->reason[0]);
    if (grade > v->grade)
        v->grade = grade;
    if (v->count == places) {
        v->more += v->more == 0 ? 2 : 1; /* the reason that stood there, and this one */
        snprintf(v->reason[places - 1].text, sizeof(v->reason[0].text), "%zu more reasons",
                 v->more);
        return;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(v->reason[v->count].text, sizeof(v->reason[0].text), format, list);
    va_end(list);
    v->reason[v->count++].grade = grade;
}

struct words {
    char text[64];
};

/* "1 request", "2 requests". */
static struct words
counted(unsigned long long n, const char *noun)
{
    struct words w;
    snprintf(w.text, sizeof(w.text), "%llu %s%s", n, noun, n == 1 ? "" : "s");
    return w;
}

static void
judge_client(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    if (!r->accounting_closes)
        verdict_object(v, VERDICT_INVALID,
                       "the client's accounting does not close; please report this");
    if (r->elapsed_s >= 0.2 && r->busiest_thread >= CPU_SUSPECT)
        verdict_object(
            v, r->busiest_thread >= CPU_INVALID ? VERDICT_INVALID : VERDICT_SUSPECT,
            "the client's busiest thread used %.0f %% of a core: the figures describe the "
            "client; use more threads (-j) or a machine of its own",
            r->busiest_thread * 100);
    if (r->elapsed_s >= 0.2 && r->waited_for_cpu >= WAITED_NOTE)
        verdict_object(v, r->waited_for_cpu >= WAITED_SUSPECT ? VERDICT_SUSPECT : VERDICT_VALID,
                       "a thread of the client waited %.0f %% of the time for a processor: the "
                       "times include that; the machine is short of processors",
                       r->waited_for_cpu * 100);
    if (tally_count(&r->tally, EVENT_NO_PORTS))
        verdict_object(v, VERDICT_INVALID,
                       "local ports ran out %s (%u available): keep connections (-k), or widen "
                       "net.ipv4.ip_local_port_range",
                       counted(tally_count(&r->tally, EVENT_NO_PORTS), "time").text, c->ports);
    if (tally_count(&r->tally, EVENT_NO_DESCRIPTORS))
        verdict_object(v, VERDICT_INVALID, "descriptors ran out %s: raise 'ulimit -n'",
                       counted(tally_count(&r->tally, EVENT_NO_DESCRIPTORS), "time").text);
}

/* Requests that had waited longer than any answer took when the run ended. */
static void
judge_waiting(struct verdict *v, const struct result *r)
{
    unsigned long long waiting = r->stuck.count;
    double longest_s = (double)histogram_max(&r->tally.span[SPAN_IN_FLIGHT]) / 1e9,
           stuck = result_stuck(r);
    if (waiting == 0 || counter_get(&r->tally.ok) == 0)
        return;
    if (stuck > RESULT_STUCK)
        verdict_object(
            v, VERDICT_INVALID,
            "%s had waited up to %.3f s for an answer that never came, %.0f %% "
            "of the connections' time: a closed loop sends nothing on them meanwhile, so "
            "the percentiles say too little; use -R",
            counted(waiting, "request").text, longest_s, stuck * 100);
    else
        verdict_object(v,
                       (double)waiting > 0.01 * (double)histogram_count(&r->response)
                           ? VERDICT_SUSPECT
                           : VERDICT_VALID,
                       "%s had waited up to %.3f s at the end, longer than "
                       "any answer took: the percentiles count them with at least that",
                       counted(waiting, "request").text, longest_s);
}

/* Share of the connections' time, 0 to 1, that went into a pause of the client's own. */
static double
paused(const struct result *r, enum pause pause)
{
    double time_ns = r->elapsed_s * 1e9 * (double)r->connections;
    return time_ns > 0 ? (double)counter_get(&r->tally.paused_ns[pause]) / time_ns : 0;
}

/* The client's own pauses set a rate that is not the server's. */
static void
judge_pauses(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    const struct tally *t = &r->tally;
    const struct options *o = c->options;
    double closing = paused(r, PAUSE_CLOSING), backoff = paused(r, PAUSE_BACKOFF);
    double opened = (double)tally_count(t, EVENT_OPENED);
    double each_ms =
        opened > 0 ? (double)counter_get(&t->paused_ns[PAUSE_CLOSING]) / opened / 1e6 : 0;
    if (closing > PAUSED_LIMIT && each_ms > PAUSED_MS)
        verdict_object(v, VERDICT_SUSPECT,
                       "%.0f %% of the connections' time passed in waiting for the server to close "
                       "them (%.1f ms each): the rate is bounded by that; use -k",
                       closing * 100, each_ms);
    if (tally_count(t, EVENT_LEFT_OPEN))
        verdict_object(
            v, VERDICT_VALID,
            "the server left %s open that it was asked to close; the client closed what was left "
            "open, and soon without waiting",
            counted(tally_count(t, EVENT_LEFT_OPEN), "connection").text);
    if (backoff > PAUSED_LIMIT)
        verdict_object(
            v, VERDICT_SUSPECT,
            "%.0f %% of the connections' time passed in pauses after failed connects (5 ms "
            "to 1 s each): the number of failed requests is bounded by that",
            backoff * 100);
    if (o->think_ns > 0)
        verdict_object(v, VERDICT_VALID,
                       "--think: at most %.1f requests per second, whatever the server can do",
                       (double)r->connections * 1e9 / (double)o->think_ns);
    if (o->ramp_ns > o->warmup_ns && r->elapsed_s > 0)
        verdict_object(v, VERDICT_VALID,
                       "--ramp: not all connections were open in the first %.1f of %.1f s measured",
                       fmin((double)(o->ramp_ns - o->warmup_ns) / 1e9, r->elapsed_s), r->elapsed_s);
}

static void
judge_open_loop(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    const struct histogram *lag = &r->tally.span[SPAN_LAG];
    double achieved = r->elapsed_s > 0 ? (double)counter_get(&r->tally.started) / r->elapsed_s : 0;
    double share = achieved / r->plan.rate_per_s;
    /* The last interval is cut off, which weighs in short runs. */
    double slack = r->elapsed_s > 0 ? 2 / (r->plan.rate_per_s * r->elapsed_s) : 1;
    if (share + slack < RATE_INVALID && !r->interrupted)
        verdict_object(v, VERDICT_INVALID,
                       "%.1f of %.10g requests per second were sent: every connection (-c %llu) "
                       "was waiting; %s",
                       achieved, r->plan.rate_per_s, (unsigned long long)c->options->connections,
                       paused(r, PAUSE_CLOSING) > PAUSED_LIMIT
                           ? "part of that for the server to close it: use -k"
                           : "the rate is beyond the server, or -c is too small");
    if (histogram_knows(lag, 0.99) && result_knows(r, 0.99)) {
        double late = (double)histogram_quantile(lag, 0.99);
        double p99 = (double)histogram_quantile(&r->response, 0.99);
        if (late > LAG_OF_P99 * p99 && late > 100e3)
            verdict_object(
                v, VERDICT_SUSPECT,
                "p99 of the client's own lateness is %.3f ms, more than a tenth of the p99 "
                "measured: the machine is too busy",
                late / 1e6);
    }
    double unsent = (double)tally_count(&r->tally, EVENT_UNSENT);
    if (unsent > 0)
        verdict_object(v,
                       unsent > UNSENT_SUSPECT * (unsent + (double)counter_get(&r->tally.started))
                           ? VERDICT_SUSPECT
                           : VERDICT_VALID,
                       "%s due at the end and not sent; the percentiles count how long each had "
                       "waited",
                       counted(tally_count(&r->tally, EVENT_UNSENT), "request").text);
    if (tally_count(&r->tally, EVENT_QUEUED))
        verdict_object(v, VERDICT_VALID,
                       "%s waited for a free connection; the response time includes that",
                       counted(tally_count(&r->tally, EVENT_QUEUED), "request").text);
}

static void
judge_closed_loop(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    const struct tally *t = &r->tally;
    uint64_t connections = c->options->connections;
    verdict_object(v, VERDICT_VALID,
                   "closed loop: a slow server is sent less, so queueing is hidden; "
                   "use -R to see it");
    bool long_enough = r->elapsed_s >= 1 && counter_get(&t->started) >= 20 * connections;
    bool steady = !c->options->think_ns && !c->options->ramp_ns && c->options->keep_alive;
    if (!long_enough || !steady || r->gave_up || r->interrupted || tally_failed(t) > 0)
        return;
    double busy = (double)counter_get(&t->busy_ns) / 1e9 / r->elapsed_s / (double)connections;
    if (fabs(busy - 1) > LITTLE_LIMIT)
        verdict_object(v, VERDICT_SUSPECT,
                       "Little's law: rate times response time is %.1f connections, not %llu",
                       busy * (double)connections, (unsigned long long)connections);
}

static void
judge_connections(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    const struct tally *t = &r->tally;
    unsigned long long never = tally_count(t, EVENT_NEVER_SERVED);
    uint64_t wanted = c->options->connections;
    bool kept = c->options->keep_alive;
    if (r->plan.requests > 0 && r->plan.requests < wanted)
        wanted = r->plan.requests;
    if (r->gave_up)
        verdict_object(v, VERDICT_INVALID, "gave up: the server could not be reached");
    else if (kept && r->plan.rate_per_s == 0 && r->peak_open < wanted && r->elapsed_s >= 1)
        verdict_object(v, VERDICT_SUSPECT, "at most %llu of %s open together",
                       (unsigned long long)r->peak_open, counted(wanted, "connection").text);
    if (never > 0 && counter_get(&t->ok) > 0)
        verdict_object(v, c->fcgi && kept ? VERDICT_INVALID : VERDICT_SUSPECT,
                       "%s accepted but never served%s", counted(never, "connection").text,
                       c->fcgi && kept
                           ? ": kept FastCGI connections outnumber the server's children; lower -c"
                           : "");
    if (tally_count(t, EVENT_QUEUE_FULL))
        verdict_object(v, VERDICT_SUSPECT,
                       "the server's listen queue was full %s: raise its backlog (and "
                       "net.core.somaxconn), or lower -c",
                       counted(tally_count(t, EVENT_QUEUE_FULL), "time").text);
    bool slow = histogram_max(&t->span[SPAN_CONNECT]) > LISTEN_RETRY_NS;
    if (r->listen_drops > 0 && c->local)
        verdict_object(v, slow ? VERDICT_SUSPECT : VERDICT_VALID,
                       "listen queues of this machine turned %s away (TcpExt ListenDrops); each "
                       "retry costs 1 s or more",
                       counted(r->listen_drops, "connect").text);
    if (tally_count(t, EVENT_REDONE))
        verdict_object(v, VERDICT_VALID,
                       "%s sent again: the server had ended the kept connection before it answered",
                       counted(tally_count(t, EVENT_REDONE), "request").text);
}

/* Bodies that differ from the first answer's: the page varies, or it is wrong. */
static void
judge_bodies(struct verdict *v, const struct result *r, const struct options *o)
{
    unsigned long long length = counter_get(&r->tally.failed[FAIL_LENGTH]);
    unsigned long long body = counter_get(&r->tally.failed[FAIL_BODY]);
    unsigned long long answers = length + body + counter_get(&r->tally.ok);
    if (length + body == 0 || o->expect_body != NULL || o->expect_length >= 0)
        return;
    verdict_object(
        v, length + body > answers / 2 ? VERDICT_SUSPECT : VERDICT_VALID,
        "%llu of %s differ from the first one (%llu in length, %llu in content only): if "
        "the page varies give -l, else name the right one with --expect-length or "
        "--expect-body",
        length + body, counted(answers, "answer").text, length, body);
}

static void
judge_answers(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    const struct tally *t = &r->tally;
    judge_bodies(v, r, c->options);
    if (tally_count(t, EVENT_OVERLOADED))
        verdict_object(v, VERDICT_VALID, "%s of FastCGI said OVERLOADED",
                       counted(tally_count(t, EVENT_OVERLOADED), "answer").text);
    if (tally_count(t, EVENT_SURPLUS))
        verdict_object(v, VERDICT_SUSPECT, "surplus bytes followed %s",
                       counted(tally_count(t, EVENT_SURPLUS), "answer").text);
}

void
verdict_judge(struct verdict *v, const struct result *r, const struct circumstances *c)
{
    *v = (struct verdict){0};
    judge_client(v, r, c);
    judge_connections(v, r, c);
    judge_answers(v, r, c);
    judge_waiting(v, r);
    judge_pauses(v, r, c);
    if (r->plan.rate_per_s > 0)
        judge_open_loop(v, r, c);
    else
        judge_closed_loop(v, r, c);
    if (counter_get(&r->tally.ok) == 0)
        verdict_object(v, VERDICT_INVALID, "no request succeeded");
    if (r->interrupted)
        verdict_object(v, VERDICT_SUSPECT, "interrupted before the end");
    if (r->series_error)
        verdict_object(v, VERDICT_SUSPECT, "ended when the series could not be written");
}
