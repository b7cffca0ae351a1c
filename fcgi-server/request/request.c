/* SPDX-License-Identifier: MIT */
#include "request/request.h"
#include "base/log.h"
#include "handler/router.h"
#include "request/request_host.h"
#include "request/response.h"

#include <stdlib.h>
#include <string.h>

/* The size over which the body buffer does not stay. */
#define OUT_KEPT ((size_t)131072)

void
request_init(struct request *request, const struct request_io *io, void *owner)
{
    request->head.host = &request_host;
    request->io = io;
    request->owner = owner;
    arena_init(&request->arena, REQUEST_ARENA_MAX);
    request_reset(request);
}

void
request_reset(struct request *request)
{
    arena_reset(&request->arena);
    response_drop(request);
    request->id = 0;
    request->keep = false;
    request->params = NULL;
    request->param_count = 0;
    request->body = (struct request_body){.spool_fd = -1};
    request->entry = NULL;
    request->slot = NULL;
    request->wait = (struct request_wait){.fd = -1};
    request->is_head = false;
    request->head_sent = false;
    request->broken = false;
    request->timed_out = false;
    request->told_slow = false;
    request->lines = NULL; /* was in the arena */
    request->lines_size = 0;
    if (request->out_size > OUT_KEPT) {
        free(request->out);
        request->out = NULL;
        request->out_size = 0;
    }
}

void
request_fini(struct request *request)
{
    arena_free(&request->arena);
    free(request->out);
    request->out = NULL;
    request->out_size = 0;
}

/* What the handler returned becomes the answer, or stays FH_WAIT. */
static enum fh_result
settle(struct request *request, enum fh_result result)
{
    char what[256];
    if (result == FH_WAIT && request->wait.asked && request->entry->handler->resume != NULL)
        return FH_WAIT;
    if (result != FH_OK && result != FH_NOT_FOUND && result != FH_ERROR) {
        request_describe(request, what, sizeof what);
        log_error("%s: returned %d%s (%s)", request->entry->file, (int)result,
                  result == FH_WAIT ? " without fh_wait(), or has no resume" : "", what);
        result = FH_ERROR;
    }
    if (result == FH_OK || request->broken)
        return FH_OK;
    if (request->head_sent)
        request->broken = true; /* only closing tells that the answer is not whole */
    else if (result == FH_NOT_FOUND)
        request_refuse(request, 404);
    else
        request_refuse(request, request->timed_out ? 504 : 500);
    return FH_OK;
}

void
request_route(struct request *request, const struct router *router)
{
    size_t length;
    const char *path = request_path(request, &length);
    const char *method = request_param(request, "REQUEST_METHOD", NULL);
    request->is_head = method != NULL && strcmp(method, "HEAD") == 0;
    request->entry = router_find(router, path, length);
}

enum fh_result
request_run(struct request *request)
{
    const struct router_entry *entry = request->entry;
    if (entry == NULL) {
        request_refuse(request, 404);
        return FH_OK;
    }
    return settle(request, entry->handler->handle(entry->state, &request->head));
}

enum fh_result
request_resume(struct request *request, short revents)
{
    const struct router_entry *entry = request->entry;
    request->wait.asked = false;
    return settle(request, entry->handler->resume(entry->state, &request->head, revents));
}

void
request_cancel(struct request *request, int status)
{
    const struct router_entry *entry = request->entry;
    if (entry->handler->cancel != NULL)
        entry->handler->cancel(entry->state, &request->head);
    if (status == 0 || request->head_sent)
        request->broken = true;
    else
        request_refuse(request, status);
}
