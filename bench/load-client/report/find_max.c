/* SPDX-License-Identifier: MIT */
/* find_max.c - see find_max.h */
#include "report/find_max.h"
#include "load/run.h"
#include "report/figures.h"

#include <stdio.h>
#include <string.h>

#define ACHIEVED  0.98 /* of the rate, below which it counts as not sent */
#define STEP_DOWN 0.8  /* from a rate that did not hold again */

/* One run at <rate>; notes it in <s>. -1 when it could not be started. */
static int
try_rate(struct search *s, struct result *result, const struct options *o, struct target *target,
         const struct slo *slo, double rate, char *message, size_t size)
{
    const struct plan plan = {0, o->duration_ns, rate, true};
    memset(result, 0, sizeof(*result));
    if (run(result, o, target, &plan, message, size) == -1)
        return -1;
    struct figures f;
    figures_of(&f, result);
    bool enough = f.started_per_s >= ACHIEVED * rate;
    bool clean = slo_allows_failures(slo) || f.failed == 0;
    size_t i = s->count++;
    s->step[i].rate_per_s = rate;
    s->step[i].achieved_per_s = f.started_per_s;
    s->step[i].p99_ns = histogram_quantile(&result->response, 0.99);
    s->step[i].failed = f.failed;
    s->step[i].held = enough && clean && !result->interrupted && slo_holds(slo, result);
    /* Whatever the answers were, lower rates bring still fewer. */
    double needed = slo_answers_needed(slo);
    bool few = !s->step[i].held && (double)f.done < needed && !result->interrupted;
    s->needs_s = few ? needed / rate : 0;
    if (!o->quiet)
        fprintf(stderr, "%10.1f/s  sent %.1f/s  p99 %.3f ms  %llu failed  %s\n", rate,
                f.started_per_s, (double)s->step[i].p99_ns / 1e6, f.failed,
                s->step[i].held ? "holds"
                : few           ? "too few answers for the percentile"
                : enough        ? "does not hold"
                                : "cannot be sent");
    return 0;
}

/* The search may have been lucky once: the rate must hold again, or the next
 * lower one that held, or else a lower one yet. */
static int
confirm(struct search *s, struct result *result, const struct options *o, struct target *target,
        const struct slo *slo, char *message, size_t size)
{
    double rate = search_best(s);
    while (rate > 0 && s->count < SEARCH_STEPS && !result->interrupted) {
        if (try_rate(s, result, o, target, slo, rate, message, size) == -1)
            return -1;
        if (s->step[s->count - 1].held) {
            s->rate_per_s = rate;
            return 0;
        }
        double next = search_best(s);
        rate = next > 0 ? next : rate * STEP_DOWN;
    }
    return 0;
}

int
find_max(struct search *s, struct result *result, const struct options *o, struct target *target,
         const struct slo *slo, char *message, size_t size)
{
    *s = (struct search){0};
    const struct plan closed = {0, o->duration_ns, 0, true};
    if (run(result, o, target, &closed, message, size) == -1)
        return -1;
    double capacity = figures_ratio((double)counter_get(&result->tally.ok), result->elapsed_s),
           rate;
    if (!o->quiet)
        fprintf(stderr, "closed loop: %.1f/s with %llu connections\n", capacity,
                (unsigned long long)o->connections);
    if (capacity == 0 || result->interrupted)
        return 0;
    while (!result->interrupted && s->needs_s == 0 && (rate = search_next(s, capacity)) > 0)
        if (try_rate(s, result, o, target, slo, rate, message, size) == -1)
            return -1;
    return confirm(s, result, o, target, slo, message, size);
}
