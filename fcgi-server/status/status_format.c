/* SPDX-License-Identifier: MIT */
#include "base/calendar.h"
#include "config/config.h"
#include "status/status_view.h"

#include <inttypes.h>
#include <string.h>

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* --- the numbers, once for all formats ----------------------------------------------------- */

struct number {
    const char *name;   /* as php-fpm has it; NULL: not in text and JSON */
    const char *metric; /* of OpenMetrics */
    const char *type;
    const char *help;
    int64_t value;
};

enum { NUMBERS_MAX = 40 };

static size_t
collect(struct number *numbers, const struct status_view *view)
{
    const struct board_head *head = view->board->head;
    const struct board_slot *sum = &view->sum;
    int64_t since_s = (view->now_ms - LOAD(head->start_ms)) / 1000;
    const struct number all[] = {
        {"start since", "phpfpm_start_since", "counter", "Seconds since the start", since_s},
        {"accepted conn", "phpfpm_accepted_connections", "counter", "Connections accepted",
         (int64_t)LOAD(sum->accepted)},
        {"listen queue", "phpfpm_listen_queue", "gauge", "Connections waiting to be accepted",
         view->listen_queue},
        {"max listen queue", "phpfpm_max_listen_queue", "gauge",
         "Most connections seen waiting; sampled once a second", (int64_t)view->max_listen_queue},
        {"listen queue len", "phpfpm_listen_queue_length", "gauge",
         "Effective length of the listen queue", LOAD(head->backlog)},
        {"idle processes", "phpfpm_idle_processes", "gauge", "Children without a request",
         view->idle},
        {"active processes", "phpfpm_active_processes", "gauge", "Children with a request",
         view->active},
        {"total processes", "phpfpm_total_processes", "gauge", "Children", view->total},
        {"max active processes", "phpfpm_max_active_processes", "gauge",
         "Most children seen with a request; sampled once a second", (int64_t)view->max_active},
        {"max children reached", "phpfpm_max_children_reached", "counter",
         "Times that max_children was reached", (int64_t)LOAD(head->max_children_reached)},
        {"slow requests", "phpfpm_slow_requests", "counter", "Requests slower than slow_ms",
         (int64_t)LOAD(sum->slow)},
        {"max children", "fcgi_server_max_children", "gauge", "Limit of children",
         LOAD(head->max_children)},
        {"starting processes", "fcgi_server_starting_processes", "gauge", "Children not yet ready",
         view->starting},
        {"ending processes", "fcgi_server_ending_processes", "gauge",
         "Children that finish their requests and then end", view->draining},
        {"requests", "fcgi_server_requests", "counter", "Requests answered",
         (int64_t)LOAD(sum->requests)},
        {"requests in flight", "fcgi_server_requests_in_flight", "gauge",
         "Requests running or waiting in a handler", (int64_t)view->in_flight},
        {"failed requests", "fcgi_server_failed_requests", "counter",
         "Requests answered with 500 to 599", (int64_t)LOAD(sum->failed)},
        {"aborted requests", "fcgi_server_aborted_requests", "counter",
         "Requests whose front end went away", (int64_t)LOAD(sum->aborted)},
        {"skipped requests", "fcgi_server_skipped_requests", "counter",
         "Requests whose front end had gone before the handler ran", (int64_t)LOAD(sum->skipped)},
        {"timed out requests", "fcgi_server_timed_out_requests", "counter",
         "Requests ended by request_timeout", (int64_t)LOAD(sum->timed_out)},
        {"dropped connections", "fcgi_server_dropped_connections", "counter",
         "Connections closed for incomplete requests or protocol errors",
         (int64_t)LOAD(sum->dropped)},
        {"rejected clients", "fcgi_server_rejected_clients", "counter",
         "Connections from addresses that are not allowed", (int64_t)LOAD(sum->rejected)},
        {"active connections", "fcgi_server_active_connections", "gauge",
         "Connections with a request", (int64_t)view->connections_active},
        {"kept idle connections", "fcgi_server_kept_idle_connections", "gauge",
         "Kept connections without a request", (int64_t)view->connections_idle},
        {"handed connections", "fcgi_server_handed_connections", "counter",
         "Connections passed to another child", (int64_t)LOAD(sum->handed)},
        {"adopted connections", "fcgi_server_adopted_connections", "counter",
         "Connections taken over from another child", (int64_t)LOAD(sum->adopted)},
        {"restarts", "fcgi_server_restarts", "counter", "Children replaced because they died",
         (int64_t)LOAD(head->restarts)},
        {"recycled", "fcgi_server_recycled", "counter",
         "Children replaced by max_requests or memory_limit", (int64_t)LOAD(head->recycled)},
        {"killed", "fcgi_server_killed", "counter", "Children that had to be killed",
         (int64_t)LOAD(head->killed)},
        {"reloads", "fcgi_server_reloads", "counter", "Reloads and upgrades",
         (int64_t)LOAD(head->reloads)},
        {"lost log lines", "fcgi_server_lost_log_lines", "counter", "Log lines that were lost",
         (int64_t)(LOAD(head->log_lost) + LOAD(sum->log_lost))},
    };
    _Static_assert(sizeof all / sizeof *all <= NUMBERS_MAX, "more room for numbers");
    memcpy(numbers, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* One child, for ?full. */
struct line {
    int pid;
    const char *state;
    int64_t start_ms;
    int64_t since_s;
    int64_t duration_us; /* of the current request, else of the last one */
    const struct board_slot *slot;
    struct board_request text;
};

static bool
read_line(struct line *line, const struct status_view *view, uint32_t index)
{
    const struct board_slot *slot = &view->board->slot[index];
    uint32_t state = LOAD(slot->state);
    if (state == BOARD_FREE)
        return false;
    int64_t start_ns = LOAD(slot->request_start_ns);
    int64_t end_ns = LOAD(slot->request_end_ns);
    *line = (struct line){
        .pid = LOAD(slot->pid),
        .state = board_state_name((enum board_state)state),
        .start_ms = LOAD(slot->start_ms),
        .since_s = (view->now_ms - LOAD(slot->start_ms)) / 1000,
        .slot = slot,
    };
    if (start_ns != 0)
        line->duration_us = ((end_ns != 0 ? end_ns : view->now_ns) - start_ns) / 1000;
    board_text(slot, &line->text);
    return true;
}

static const char *
or_dash(const char *text)
{
    return *text != '\0' ? text : "-";
}

static const char *
pm_name(const struct status_view *view)
{
    static const char *const names[] = {"static", "dynamic", "ondemand"};
    return names[LOAD(view->board->head->pm) % 3];
}

static void
print_time(FILE *out, int64_t when_ms)
{
    char text[CALENDAR_SIZE];
    calendar_common(text, when_ms);
    fputs(text, out);
}

/* --- text ------------------------------------------------------------------------------------- */

static void
label(FILE *out, const char *name)
{
    fprintf(out, "%s:%*s", name, (int)(strlen(name) < 21 ? 21 - strlen(name) : 1), "");
}

/* An upper bound, from the histogram, for <per_mille> of all latencies. */
static uint64_t
percentile_us(const struct board_slot *sum, unsigned per_mille)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    for (int i = 0; i < BOARD_BUCKETS; i++)
        total += LOAD(sum->latency[i]);
    for (int i = 0; i < BOARD_BUCKETS; i++) {
        seen += LOAD(sum->latency[i]);
        if (total > 0 && seen * 1000 >= total * per_mille)
            return UINT64_C(1) << i;
    }
    return 0;
}

static void
write_text_line(FILE *out, const struct line *line)
{
    fputs("\n************************\n", out);
    const struct {
        const char *name;
        const char *text;
        uint64_t number;
    } fields[] = {
        {"pid", NULL, (uint64_t)line->pid},
        {"state", line->state, 0},
        {"start since", NULL, (uint64_t)line->since_s},
        {"requests", NULL, LOAD(line->slot->requests)},
        {"request duration", NULL, (uint64_t)line->duration_us},
        {"request method", or_dash(line->text.method), 0},
        {"request URI", or_dash(line->text.uri), 0},
        {"content length", NULL, line->text.content_length},
        {"script", or_dash(line->text.handler), 0},
        {"requests in flight", NULL, LOAD(line->slot->in_flight)},
        {"active connections", NULL, LOAD(line->slot->connections_active)},
        {"kept idle connections", NULL, LOAD(line->slot->connections_idle)},
        {"generation", NULL, LOAD(line->slot->generation)},
        {"last error", or_dash(line->text.error), 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        label(out, fields[i].name);
        if (fields[i].text != NULL)
            fprintf(out, "%s\n", fields[i].text);
        else
            fprintf(out, "%" PRIu64 "\n", fields[i].number);
    }
}

void
status_write_text(FILE *out, const struct status_view *view, bool full)
{
    static const struct {
        const char *name;
        unsigned per_mille;
    } percentiles[] = {{"latency p50 us", 500}, {"latency p90 us", 900}, {"latency p99 us", 990}};
    struct number numbers[NUMBERS_MAX];
    size_t count = collect(numbers, view);
    label(out, "pool");
    fprintf(out, "%s\n", view->config->pool);
    label(out, "process manager");
    fprintf(out, "%s\n", pm_name(view));
    label(out, "start time");
    print_time(out, LOAD(view->board->head->start_ms));
    fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        label(out, numbers[i].name);
        fprintf(out, "%" PRId64 "\n", numbers[i].value);
    }
    for (size_t i = 0; i < 3; i++) {
        label(out, percentiles[i].name);
        fprintf(out, "< %" PRIu64 "\n", percentile_us(&view->sum, percentiles[i].per_mille));
    }
    struct line line;
    for (uint32_t i = 0; full && i < view->board->head->slots; i++)
        if (read_line(&line, view, i))
            write_text_line(out, &line);
}

/* --- JSON -------------------------------------------------------------------------------- */

static void
write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(out, "\\u%04x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

static void
write_json_line(FILE *out, const struct line *line)
{
    const struct board_slot *slot = line->slot;
    fprintf(out,
            "{\"pid\":%d,\"state\":\"%s\",\"start time\":%" PRId64 ",\"start since\":%" PRId64
            ",\"requests\":%" PRIu64 ",\"request duration\":%" PRId64,
            line->pid, line->state, line->start_ms / 1000, line->since_s, LOAD(slot->requests),
            line->duration_us);
    fprintf(out,
            ",\"request method\":\"%s\",\"request uri\":\"%s\",\"content length\":%" PRIu64
            ",\"script\":\"%s\"",
            or_dash(line->text.method), or_dash(line->text.uri), line->text.content_length,
            or_dash(line->text.handler));
    fprintf(out,
            ",\"requests in flight\":%u,\"active connections\":%u,"
            "\"kept idle connections\":%u,\"generation\":%u,\"last error\":\"%s\"}",
            LOAD(slot->in_flight), LOAD(slot->connections_active), LOAD(slot->connections_idle),
            LOAD(slot->generation), or_dash(line->text.error));
}

void
status_write_json(FILE *out, const struct status_view *view, bool full)
{
    struct number numbers[NUMBERS_MAX];
    size_t count = collect(numbers, view);
    fputs("{\"pool\":", out);
    write_string(out, view->config->pool);
    fprintf(out, ",\"process manager\":\"%s\",\"start time\":%" PRId64, pm_name(view),
            LOAD(view->board->head->start_ms) / 1000);
    for (size_t i = 0; i < count; i++)
        fprintf(out, ",\"%s\":%" PRId64, numbers[i].name, numbers[i].value);
    /* Pairs: an upper bound in microseconds, and how many requests were below it
     * but not below the one before. */
    fputs(",\"latency us\":[", out);
    const char *comma = "";
    for (int i = 0; i < BOARD_BUCKETS; i++) {
        uint64_t in_bucket = LOAD(view->sum.latency[i]);
        if (in_bucket == 0)
            continue;
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, UINT64_C(1) << i, in_bucket);
        comma = ",";
    }
    fputc(']', out);
    if (full) {
        struct line line;
        comma = "";
        fputs(",\"processes\":[", out);
        for (uint32_t i = 0; i < view->board->head->slots; i++) {
            if (!read_line(&line, view, i))
                continue;
            fputs(comma, out);
            write_json_line(out, &line);
            comma = ",";
        }
        fputc(']', out);
    }
    fputs("}\n", out);
}

/* --- OpenMetrics
 * ----------------------------------------------------------------------------------- */

/* Independent of the decimal point of the locale. */
static void
print_seconds(FILE *out, uint64_t us)
{
    fprintf(out, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static void
write_histogram(FILE *out, const struct board_slot *sum)
{
    static const char name[] = "fcgi_server_request_duration_seconds";
    uint64_t below = 0;
    fprintf(out, "# TYPE %s histogram\n# UNIT %s seconds\n# HELP %s Time to answer a request.\n",
            name, name, name);
    for (int i = 0; i < BOARD_BUCKETS - 1; i++) {
        below += LOAD(sum->latency[i]);
        fprintf(out, "%s_bucket{le=\"", name);
        print_seconds(out, UINT64_C(1) << i);
        fprintf(out, "\"} %" PRIu64 "\n", below);
    }
    below += LOAD(sum->latency[BOARD_BUCKETS - 1]);
    fprintf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_count %" PRIu64 "\n%s_sum ", name, below,
            name, below, name);
    print_seconds(out, LOAD(sum->latency_us_sum));
    fputc('\n', out);
}

/* Writes one family of per-child series; <read> gives the value. */
static void
write_series(FILE *out, const struct status_view *view, const char *name, const char *type,
             const char *help, uint64_t (*read)(const struct board_slot *slot))
{
    const char *suffix = strcmp(type, "counter") == 0 ? "_total" : "";
    fprintf(out, "# TYPE %s %s\n# HELP %s %s.\n", name, type, name, help);
    for (uint32_t i = 0; i < view->board->head->slots; i++) {
        const struct board_slot *slot = &view->board->slot[i];
        uint32_t state = LOAD(slot->state);
        if (state != BOARD_FREE)
            fprintf(out, "%s%s{pid=\"%d\",state=\"%s\"} %" PRIu64 "\n", name, suffix,
                    LOAD(slot->pid), board_state_name((enum board_state)state), read(slot));
    }
}

static uint64_t
read_requests(const struct board_slot *slot)
{
    return LOAD(slot->requests);
}

static uint64_t
read_in_flight(const struct board_slot *slot)
{
    return LOAD(slot->in_flight);
}

static uint64_t
read_kept(const struct board_slot *slot)
{
    return LOAD(slot->connections_idle);
}

void
status_write_openmetrics(FILE *out, const struct status_view *view, bool full)
{
    struct number numbers[NUMBERS_MAX];
    size_t count = collect(numbers, view);
    fputs("# TYPE phpfpm_up gauge\n# HELP phpfpm_up The server answers.\nphpfpm_up 1\n", out);
    for (size_t i = 0; i < count; i++) {
        const struct number *number = &numbers[i];
        const char *suffix = strcmp(number->type, "counter") == 0 ? "_total" : "";
        fprintf(out, "# TYPE %s %s\n# HELP %s %s.\n%s%s %" PRId64 "\n", number->metric,
                number->type, number->metric, number->help, number->metric, suffix, number->value);
    }
    write_histogram(out, &view->sum);
    if (full) {
        write_series(out, view, "fcgi_server_child_requests", "counter",
                     "Requests answered by this child", read_requests);
        write_series(out, view, "fcgi_server_child_in_flight", "gauge",
                     "Requests running or waiting in this child", read_in_flight);
        write_series(out, view, "fcgi_server_child_kept_idle", "gauge",
                     "Kept connections without a request in this child", read_kept);
    }
    fputs("# EOF\n", out);
}
