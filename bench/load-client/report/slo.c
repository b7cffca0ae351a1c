/* SPDX-License-Identifier: MIT */
/* slo.c - see slo.h */
#include "report/slo.h"
#include "load/options.h"
#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int what;
} names[] = {{"min", SLO_MIN},
             {"mean", SLO_MEAN},
             {"max", SLO_MAX},
             {"failed", SLO_FAILED},
             {"rate", SLO_RATE}};

/* "p99", "p99.9", or "p999" for 99.9. "p100" is no short form of 10: max says that. */
static int
parse_quantile(struct slo_term *t, const char *digits)
{
    char *end;
    double percent = strtod(digits, &end);
    while (percent >= 100 && digits[0] == '9' && strchr(digits, '.') == NULL)
        percent /= 10;
    t->what = SLO_QUANTILE;
    t->quantile = percent / 100;
    return end == digits || *end != '\0' || !(percent > 0) || percent >= 100 ? -1 : 0;
}

static int
parse_name(struct slo_term *t, const char *name)
{
    if (name[0] == 'p' && name[1] >= '0' && name[1] <= '9')
        return parse_quantile(t, name + 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i].name) == 0) {
            t->what = names[i].what;
            return 0;
        }
    }
    return -1;
}

static int
parse_limit(struct slo_term *t, const char *text)
{
    char *end;
    t->limit = strtod(text, &end);
    if (end == text || !isfinite(t->limit) || t->limit < 0)
        return -1;
    if (t->what == SLO_FAILED && strcmp(end, "%") == 0) {
        t->what = SLO_FAILED_SHARE;
        t->limit /= 100;
        return 0;
    }
    if (t->what == SLO_FAILED || t->what == SLO_RATE) {
        if (*end == 'k' && t->what == SLO_RATE) {
            t->limit *= 1000;
            end++;
        }
        return *end == '\0' ? 0 : -1;
    }
    uint64_t ns;
    if (*end == '\0' || options_time(text, &ns) == -1)
        return -1; /* a time needs its unit: "20" could be anything */
    t->limit = (double)ns;
    return 0;
}

static int
parse_term(struct slo_term *t, const char *text, size_t n)
{
    char name[sizeof(t->text)];
    if (n == 0 || n >= sizeof(t->text))
        return -1;
    memcpy(t->text, text, n);
    t->text[n] = '\0';
    size_t name_length = strcspn(t->text, "<>");
    if (t->text[name_length] == '\0')
        return -1;
    t->below = t->text[name_length] == '<';
    memcpy(name, t->text, name_length);
    name[name_length] = '\0';
    const char *limit = t->text + name_length + 1;
    t->or_equal = *limit == '=';
    return parse_name(t, name) == -1 ? -1 : parse_limit(t, limit + t->or_equal);
}

int
slo_parse(struct slo *slo, const char *text, char *message, size_t size)
{
    *slo = (struct slo){0};
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, ",");
        if (slo->count == sizeof(slo->term) / sizeof(slo->term[0]) ||
            parse_term(&slo->term[slo->count++], p, n) == -1) {
            snprintf(message, size,
                     "'%.*s' is not an objective; write for example "
                     "'p99<20ms,failed<0.1%%,rate>1000'",
                     (int)n, p);
            return -1;
        }
        p += n + (p[n] == ',');
    }
    return 0;
}

double
slo_answers_needed(const struct slo *slo)
{
    double most = 0;
    for (size_t i = 0; i < slo->count; i++)
        if (slo->term[i].what == SLO_QUANTILE)
            most = fmax(most, HISTOGRAM_BEYOND / (1 - slo->term[i].quantile));
    return most;
}

struct slo_outcome
slo_check(const struct slo_term *t, const struct result *r)
{
    const struct histogram *h = &r->response;
    bool stuck = result_stuck(r) > RESULT_STUCK, lower_bound = false;
    struct slo_outcome o = {.known = histogram_count(h) > 0 && !(stuck && t->below)};
    struct figures f;
    figures_of(&f, r);
    switch (t->what) {
    case SLO_QUANTILE:
        o.known = o.known && result_knows(r, t->quantile);
        o.value = (double)histogram_quantile(h, t->quantile);
        lower_bound = figures_response(r, t->quantile).at_least;
        break;
    case SLO_MIN:
        o.value = (double)histogram_min(h);
        break;
    case SLO_MEAN:
        o.value = histogram_mean(h);
        break;
    case SLO_MAX:
        o.value = (double)histogram_max(h);
        lower_bound = r->bounds.count > 0;
        break;
    case SLO_FAILED:
        o.known = f.done > 0;
        o.value = (double)f.failed;
        break;
    case SLO_FAILED_SHARE:
        o.known = f.done > 0;
        o.value = figures_ratio((double)f.failed, (double)f.done);
        break;
    case SLO_RATE:
        o.known = f.elapsed_s > 0;
        o.value = f.ok_per_s;
        break;
    }
    bool equal = t->or_equal && o.value == t->limit;
    bool true_so_far = equal || (t->below ? o.value < t->limit : o.value > t->limit);
    /* What is at least so long may yet pass the limit. */
    o.known = o.known && !(lower_bound && t->below && true_so_far);
    o.held = o.known && true_so_far;
    return o;
}

bool
slo_holds(const struct slo *slo, const struct result *r)
{
    for (size_t i = 0; i < slo->count; i++)
        if (!slo_check(&slo->term[i], r).held)
            return false;
    return true;
}

bool
slo_allows_failures(const struct slo *slo)
{
    for (size_t i = 0; i < slo->count; i++)
        if (slo->term[i].what == SLO_FAILED || slo->term[i].what == SLO_FAILED_SHARE)
            return true;
    return false;
}

void
slo_value(char *text, size_t size, const struct slo_term *t, double value)
{
    switch (t->what) {
    case SLO_FAILED:
        snprintf(text, size, "%.0f", value);
        return;
    case SLO_FAILED_SHARE:
        snprintf(text, size, "%.4g %%", value * 100);
        return;
    case SLO_RATE:
        snprintf(text, size, "%.1f/s", value);
        return;
    default:
        snprintf(text, size, "%.3f ms", value / 1e6);
    }
}
