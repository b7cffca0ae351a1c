/* SPDX-License-Identifier: MIT */
#include "request/dispatch.h"
#include "base/log.h"
#include "handler/router.h"
#include "request/query.h"
#include "request/response.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- what a handler may ask for --------------------------------------------- */

static struct request *
of(struct fh_request *head)
{
    return (struct request *)head;
}

static const char *
do_param(struct fh_request *head, const char *name, size_t *length)
{
    return request_value(of(head), name, length);
}

static const char *
do_query(struct fh_request *head, const char *key, size_t *length)
{
    struct request *request = of(head);
    size_t text_length = 0;
    const char *text = request_param(request, "QUERY_STRING", &text_length);
    struct query_pair pair;
    if (text == NULL || !query_find(text, text_length, key, strlen(key), &pair))
        return NULL;
    char *value = arena_alloc(&request->arena, pair.value_length + 1);
    if (value == NULL)
        return NULL;
    size_t decoded = query_decode(value, pair.value, pair.value_length);
    value[decoded] = '\0';
    if (length != NULL)
        *length = decoded;
    return value;
}

static ptrdiff_t
do_read(struct fh_request *head, void *buffer, size_t size)
{
    struct request *request = of(head);
    struct request_body *body = &request->body;
    uint64_t left = body->length - body->taken;
    if (request->io->read != NULL)
        return request->io->read(request, buffer, size);
    if (size > left)
        size = (size_t)left;
    if (size > 0 && body->spool_fd == -1) {
        memcpy(buffer, body->memory + body->taken, size);
    } else if (size > 0) {
        ssize_t got;
        do {
            got = pread(body->spool_fd, buffer, size, (off_t)body->taken);
        } while (got == -1 && errno == EINTR);
        if (got <= 0)
            return -1;
        size = (size_t)got;
    }
    body->taken += size;
    return (ptrdiff_t)size;
}

__attribute__((format(printf, 4, 0))) static enum fh_result
do_vfail(struct fh_request *head, const char *file, int line, const char *format, va_list arguments)
{
    char reason[1024];
    char what[256];
    vsnprintf(reason, sizeof reason, format, arguments);
    request_describe(of(head), what, sizeof what);
    if (file != NULL)
        log_error("%s:%d: %s (%s)", file, line, reason, what);
    else
        log_error("%s (%s)", reason, what);
    return FH_ERROR;
}

static void *
do_alloc(struct fh_request *head, size_t size)
{
    return arena_alloc(&of(head)->arena, size);
}

static void **
do_slot(struct fh_request *head)
{
    return &of(head)->slot;
}

static enum fh_result
do_wait(struct fh_request *head, int fd, short events, uint32_t timeout_ms)
{
    of(head)->wait = (struct request_wait){fd, events, timeout_ms, true};
    return FH_WAIT;
}

static int
do_gone(struct fh_request *head)
{
    struct request *request = of(head);
    return request->broken || request->io->gone(request);
}

static const struct fh_host host = {
    .abi = FH_ABI,
    .size = sizeof host,
    .param = do_param,
    .query = do_query,
    .read = do_read,
    .status = response_status,
    .header = response_header,
    .write = response_write,
    .vprint = response_vprint,
    .vfail = do_vfail,
    .alloc = do_alloc,
    .slot = do_slot,
    .wait = do_wait,
    .gone = do_gone,
};

/* --- calling the handler ---------------------------------------------------- */

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
    if (result == FH_OK && response_is_short(request)) {
        request_describe(request, what, sizeof what);
        log_error("%s: %" PRIu64 " bytes were written of a Content-Length of %" PRId64, what,
                  request->written, request->length);
        request->broken = true;
    }
    if (result == FH_OK || request->broken)
        return FH_OK;
    if (request->head_sent)
        request->broken = true; /* only closing tells that the answer is not whole */
    else if (result == FH_NOT_FOUND)
        response_refuse(request, 404);
    else
        response_refuse(request, request->timed_out ? 504 : 500);
    return FH_OK;
}

void
dispatch_route(struct request *request, const struct router *router)
{
    size_t length;
    const char *path = request_path(request, &length);
    const char *method = request_param(request, "REQUEST_METHOD", NULL);
    request->head.host = &host;
    request->is_head = method != NULL && strcmp(method, "HEAD") == 0;
    request->entry = router_find(router, path, length);
}

enum fh_result
dispatch_run(struct request *request)
{
    const struct router_entry *entry = request->entry;
    if (entry == NULL) {
        response_refuse(request, 404);
        return FH_OK;
    }
    return settle(request, entry->handler->handle(entry->state, &request->head));
}

enum fh_result
dispatch_resume(struct request *request, short revents)
{
    const struct router_entry *entry = request->entry;
    request->wait.asked = false;
    return settle(request, entry->handler->resume(entry->state, &request->head, revents));
}

void
dispatch_cancel(struct request *request, int status)
{
    const struct router_entry *entry = request->entry;
    if (entry->handler->cancel != NULL)
        entry->handler->cancel(entry->state, &request->head);
    if (status == 0 || request->head_sent)
        request->broken = true;
    else
        response_refuse(request, status);
}
