/* SPDX-License-Identifier: MIT */
/*
 * status.c - sums up the scoreboard, and has the handlers that show it. The three
 * formats are in status_format.c.
 */
#include "status/status.h"
#include "base/clock.h"
#include "config/config.h"
#include "fcgi-handler.h"
#include "status/listen_queue.h"
#include "status/status_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const struct config *config;
    struct board *board;
    int listen_fd;
} source = {.listen_fd = -1};

void
status_setup(const struct config *config, struct board *board, int listen_fd)
{
    source.config = config;
    source.board = board;
    source.listen_fd = listen_fd;
}

/* --- counting ---------------------------------------------------------------------------- */

static void
count_slot(struct status_view *view, const struct board_slot *slot)
{
    uint32_t in_flight = atomic_load_explicit(&slot->in_flight, memory_order_relaxed);
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    view->total++;
    view->starting += state == BOARD_STARTING;
    view->draining += state == BOARD_DRAINING;
    if (state == BOARD_IDLE && in_flight == 0)
        view->idle++;
    else if (state != BOARD_STARTING)
        view->active++;
    view->in_flight += in_flight;
    view->connections_active += atomic_load(&slot->connections_active);
    view->connections_idle += atomic_load(&slot->connections_idle);
    board_sum(&view->sum, slot);
}

static void
gather(struct status_view *view)
{
    struct board *board = source.board;
    *view = (struct status_view){
        .config = source.config,
        .board = board,
        .now_ms = clock_wall_ms(),
        .now_ns = clock_ns(),
        .listen_queue = listen_queue_length(source.listen_fd),
    };
    board_sum(&view->sum, &board->head->retired);
    for (uint32_t i = 0; i < board->head->slots; i++)
        if (atomic_load_explicit(&board->slot[i].state, memory_order_relaxed) != BOARD_FREE)
            count_slot(view, &board->slot[i]);
    view->max_listen_queue = atomic_load(&board->head->max_listen_queue);
    if (view->listen_queue > 0 && (uint64_t)view->listen_queue > view->max_listen_queue)
        view->max_listen_queue = (uint64_t)view->listen_queue;
    view->max_active = atomic_load(&board->head->max_active);
    if (view->active > view->max_active)
        view->max_active = view->active;
}

char *
status_text(enum status_format format, bool full, size_t *length)
{
    static void (*const writers[])(FILE *, const struct status_view *, bool) = {
        [STATUS_TEXT] = status_write_text,
        [STATUS_JSON] = status_write_json,
        [STATUS_OPENMETRICS] = status_write_openmetrics,
    };
    struct status_view view;
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (out == NULL)
        return NULL;
    gather(&view);
    writers[format](out, &view, full);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* --- queries -------------------------------------------------------------------------------- */

/* Whether <query> holds <word> or "word=...". */
static bool
has_word(const char *query, const char *word)
{
    size_t length = strlen(word);
    while (query != NULL && *query != '\0') {
        size_t end = strcspn(query, "=&");
        if (end == length && memcmp(query, word, length) == 0)
            return true;
        query += strcspn(query, "&");
        query += *query == '&';
    }
    return false;
}

static enum status_format
format_of(const char *query)
{
    if (has_word(query, "json"))
        return STATUS_JSON;
    return has_word(query, "openmetrics") ? STATUS_OPENMETRICS : STATUS_TEXT;
}

char *
status_query_text(const char *query, size_t *length)
{
    return status_text(format_of(query), has_word(query, "full"), length);
}

/* --- handlers --------------------------------------------------------------------------------- */

static void
forbid_caching(struct fh_request *request)
{
    fh_header(request, "Expires", "Thu, 01 Jan 1970 00:00:00 GMT");
    fh_header(request, "Cache-Control", "no-cache, no-store, must-revalidate, max-age=0");
}

static enum fh_result
handle_status(void *unused, struct fh_request *request)
{
    static const char *const types[] = {
        [STATUS_TEXT] = "text/plain",
        [STATUS_JSON] = "application/json",
        [STATUS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
    };
    size_t length;
    const char *query = fh_param(request, "QUERY_STRING", NULL);
    char *text = status_query_text(query, &length);
    (void)unused;
    if (text == NULL)
        return fh_fail(request, "out of memory for the status");
    fh_header(request, "Content-Type", types[format_of(query)]);
    forbid_caching(request);
    fh_write(request, text, length);
    free(text);
    return FH_OK;
}

static enum fh_result
handle_ping(void *unused, struct fh_request *request)
{
    (void)unused;
    fh_header(request, "Content-Type", "text/plain");
    forbid_caching(request);
    fh_write(request, "pong", 4);
    return FH_OK;
}

static const struct fh_handler status_handler = {FH_ABI, sizeof(struct fh_handler),
                                                 .name = "status", .handle = handle_status};
static const struct fh_handler ping_handler = {FH_ABI, sizeof(struct fh_handler), .name = "ping",
                                               .handle = handle_ping};

const struct fh_handler *
status_builtin(const char *name)
{
    if (strcmp(name, "status") == 0)
        return &status_handler;
    return strcmp(name, "ping") == 0 ? &ping_handler : NULL;
}
