/* SPDX-License-Identifier: MIT */
#include "request.h"
#include "log.h"
#include "query.h"
#include "reason.h"
#include "record.h"
#include "router.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT_TYPE "text/plain; charset=utf-8"

/* The body buffer: its first size, and the size over which it does not stay. */
#define OUT_FIRST ((size_t)4096)
#define OUT_KEPT  ((size_t)131072)

static struct request *
of(struct fh_request *head)
{
    return (struct request *)head;
}

/* --- parameters -------------------------------------------------------------------- */

int
request_reserve_params(struct request *request, size_t count)
{
    request->params = arena_alloc(&request->arena, count * sizeof *request->params);
    request->param_count = 0;
    return request->params == NULL ? -1 : 0;
}

void
request_add_param(struct request *request, struct request_param param)
{
    request->params[request->param_count++] = param;
}

int
request_set_params(struct request *request, char *bytes, size_t length)
{
    const char *end = bytes + length;
    const char *cursor = bytes;
    struct record_pair pair;
    size_t count = 0;
    int found;

    while ((found = record_next_pair(&cursor, end, &pair)) == 1) {
        count++;
    }
    if (found == -1) {
        return 400;
    }
    if (request_reserve_params(request, count) == -1) {
        return 500;
    }
    cursor = bytes;
    while (record_next_pair(&cursor, end, &pair) == 1) {
        request_add_param(request, (struct request_param){pair.name, pair.value, pair.name_length,
                                                          pair.value_length});
    }
    /* Only now: the NUL falls on the length byte of the pair behind. */
    for (size_t index = 0; index < count; index++) {
        const struct request_param *param = &request->params[index];
        bytes[param->value + param->value_length - bytes] = '\0';
    }
    return 0;
}

const char *
request_param(const struct request *request, const char *name, size_t *length)
{
    size_t name_length = strlen(name);

    for (size_t index = 0; index < request->param_count; index++) {
        const struct request_param *param = &request->params[index];
        if (param->name_length == name_length && memcmp(param->name, name, name_length) == 0) {
            if (length != NULL) {
                *length = param->value_length;
            }
            return param->value;
        }
    }
    return NULL;
}

const char *
request_path(struct request *request, size_t *length)
{
    size_t script_length = 0;
    size_t info_length = 0;
    const char *script = request_param(request, "SCRIPT_NAME", &script_length);
    const char *info = request_param(request, "PATH_INFO", &info_length);

    if (script_length + info_length == 0) {
        const char *uri = request_param(request, "DOCUMENT_URI", length);
        if (uri == NULL && (uri = request_param(request, "REQUEST_URI", length)) != NULL) {
            *length = strcspn(uri, "?");
        }
        if (uri == NULL || *length == 0) {
            uri = "/";
            *length = 1;
        }
        return uri;
    }
    *length = script_length + info_length;
    if (info_length == 0) {
        return script;
    }
    char *path = arena_alloc(&request->arena, *length + 1);
    if (path == NULL) {
        *length = script_length;
        return script;
    }
    memcpy(path, script == NULL ? "" : script, script_length);
    memcpy(path + script_length, info, info_length + 1);
    return path;
}

int
request_check_length(const struct request *request, uint64_t length)
{
    const char *announced = request_param(request, "CONTENT_LENGTH", NULL);
    uint64_t number = 0;

    if (announced == NULL || *announced == '\0') {
        return 0;
    }
    for (const char *digit = announced; *digit != '\0'; digit++) {
        if (!isdigit((unsigned char)*digit) || number > UINT64_MAX / 10 - 1) {
            return 400;
        }
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number == length ? 0 : 400;
}

/* --- the answer -------------------------------------------------------------------- */

/* Room for <length> more bytes in <out>, which stays within REQUEST_OUT_MAX. */
static int
grow_out(struct request *request, size_t length)
{
    size_t size = request->out_size == 0 ? OUT_FIRST : request->out_size;

    while (size < request->out_length + length) {
        size *= 2;
    }
    if (size == request->out_size) {
        return 0;
    }
    char *out = realloc(request->out, size);
    if (out == NULL) {
        return -1;
    }
    request->out = out;
    request->out_size = size;
    return 0;
}

bool
request_sends_body(const struct request *request)
{
    return !request->is_head && request->status != 204 && request->status != 304;
}

static int
do_write(struct fh_request *head, const void *data, size_t length)
{
    struct request *request = of(head);
    const char *from = data;

    if (request->broken) {
        return -1;
    }
    request->written += length;
    if (!request_sends_body(request)) {
        return 0;
    }
    while (length > 0) {
        size_t part = REQUEST_OUT_MAX - request->out_length;
        part = part < length ? part : length;
        if (grow_out(request, part) == -1) {
            request->broken = true;
            return -1;
        }
        memcpy(request->out + request->out_length, from, part);
        request->out_length += part;
        from += part;
        length -= part;
        if (request->out_length == REQUEST_OUT_MAX && request->io->flush(request) == -1) {
            request->broken = true;
            return -1;
        }
    }
    return 0;
}

__attribute__((format(printf, 2, 0))) static int
do_vprint(struct fh_request *head, const char *format, va_list arguments)
{
    char text[1024];
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments);
    int result = -1;
    if (length >= 0 && (size_t)length < sizeof text) {
        result = do_write(head, text, (size_t)length);
    } else if (length >= 0) {
        char *long_text = malloc((size_t)length + 1);
        if (long_text != NULL) {
            vsnprintf(long_text, (size_t)length + 1, format, again);
            result = do_write(head, long_text, (size_t)length);
            free(long_text);
        }
    }
    va_end(again);
    return result;
}

static int
do_status(struct fh_request *head, int code)
{
    struct request *request = of(head);

    if (code < 200 || code > 599 || request->head_sent) {
        return -1;
    }
    request->status = code;
    return 0;
}

/* RFC 9110, section 5.6.2: the characters of a token. */
static bool
is_token(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("!#$%&'*+-.^_`|~", *at) == NULL) {
            return false;
        }
    }
    return *text != '\0';
}

static int
set_length(struct request *request, const char *value)
{
    char *end;

    errno = 0;
    long long length = strtoll(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end != '\0' || errno != 0) {
        return -1;
    }
    request->length = length;
    return 0;
}

static int
set_type(struct request *request, const char *value, size_t length)
{
    char *type = arena_alloc(&request->arena, length + 1);

    if (type == NULL || length > 256) {
        return -1;
    }
    request->type = memcpy(type, value, length + 1);
    return 0;
}

static int
add_line(struct request *request, const char *name, size_t name_length, const char *value,
         size_t value_length)
{
    size_t needed = request->lines_length + name_length + value_length + 4;

    if (needed > REQUEST_HEAD_MAX) {
        return -1;
    }
    if (needed > request->lines_size) {
        size_t size = request->lines_size == 0 ? 512 : request->lines_size * 2;
        while (size < needed) {
            size *= 2;
        }
        char *lines = arena_alloc(&request->arena, size);
        if (lines == NULL) {
            return -1;
        }
        if (request->lines_length > 0) {
            memcpy(lines, request->lines, request->lines_length);
        }
        request->lines = lines;
        request->lines_size = size;
    }
    char *to = request->lines + request->lines_length;
    memcpy(to, name, name_length);
    memcpy(to + name_length, ": ", 2);
    memcpy(to + name_length + 2, value, value_length);
    memcpy(to + name_length + 2 + value_length, "\r\n", 2);
    request->lines_length = needed;
    return 0;
}

static int
do_header(struct fh_request *head, const char *name, const char *value)
{
    struct request *request = of(head);
    size_t length = strlen(value);

    /* "Status" is how CGI spells what fh_status() is for. */
    if (request->head_sent || !is_token(name) || value[strcspn(value, "\r\n")] != '\0' ||
        strcasecmp(name, "Status") == 0) {
        return -1;
    }
    if (strcasecmp(name, "Content-Type") == 0) {
        return set_type(request, value, length);
    }
    if (strcasecmp(name, "Content-Length") == 0) {
        return set_length(request, value);
    }
    return add_line(request, name, strlen(name), value, length);
}

static char *
put(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static char *
put_text(char *to, const char *text)
{
    return put(to, text, strlen(text));
}

static char *
put_number(char *to, uint64_t number)
{
    char digits[20];
    size_t length = 0;

    do {
        digits[sizeof digits - ++length] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(to, digits + sizeof digits - length, length);
}

/* Formatted by hand: this runs for every request. */
size_t
request_head(struct request *request, char *to, bool complete)
{
    bool empty = request->status == 204 || request->status == 304;
    char *at = to;

    if (request->status != 0) {
        at = put_text(at, "Status: ");
        at = put_number(at, (uint64_t)request->status);
        at = put_text(at, " ");
        at = put_text(at, reason_of(request->status));
        at = put_text(at, "\r\n");
    }
    if (request->type != NULL || !empty) {
        at = put_text(at, "Content-Type: ");
        at = put_text(at, request->type != NULL ? request->type : DEFAULT_TYPE);
        at = put_text(at, "\r\n");
    }
    int64_t length = complete ? (int64_t)request->written : request->length;
    if (request->is_head && request->length >= 0 && request->written == 0) {
        length = request->length;
    }
    if (length >= 0 && !empty) {
        at = put_text(at, "Content-Length: ");
        at = put_number(at, (uint64_t)length);
        at = put_text(at, "\r\n");
    }
    if (request->lines_length > 0) {
        at = put(at, request->lines, request->lines_length);
    }
    at = put_text(at, "\r\n");
    request->head_sent = true;
    return (size_t)(at - to);
}

static void
drop_answer(struct request *request)
{
    request->status = 0;
    request->type = NULL;
    request->lines_length = 0;
    request->length = -1;
    request->out_length = 0;
    request->written = 0;
}

void
request_refuse(struct request *request, int status)
{
    const char *reason = reason_of(status);

    drop_answer(request);
    request->status = status;
    do_write(&request->head, reason, strlen(reason));
    do_write(&request->head, "\n", 1);
    if (status == 503) {
        do_header(&request->head, "Retry-After", "1");
    }
}

/* --- the rest of struct fh_host ---------------------------------------------------- */

static const char *
do_param(struct fh_request *head, const char *name, size_t *length)
{
    return request_param(of(head), name, length);
}

static const char *
do_query(struct fh_request *head, const char *key, size_t *length)
{
    struct request *request = of(head);
    size_t text_length = 0;
    const char *text = request_param(request, "QUERY_STRING", &text_length);
    struct query_pair pair;

    if (text == NULL || !query_find(text, text_length, key, strlen(key), &pair)) {
        return NULL;
    }
    char *value = arena_alloc(&request->arena, pair.value_length + 1);
    if (value == NULL) {
        return NULL;
    }
    size_t decoded = query_decode(value, pair.value, pair.value_length);
    value[decoded] = '\0';
    if (length != NULL) {
        *length = decoded;
    }
    return value;
}

static ptrdiff_t
do_read(struct fh_request *head, void *buffer, size_t size)
{
    struct request *request = of(head);
    struct request_body *body = &request->body;
    uint64_t left = body->length - body->taken;

    if (request->io->read != NULL) {
        return request->io->read(request, buffer, size);
    }
    if (size > left) {
        size = (size_t)left;
    }
    if (size > 0 && body->spool_fd == -1) {
        memcpy(buffer, body->memory + body->taken, size);
    } else if (size > 0) {
        ssize_t got;
        do {
            got = pread(body->spool_fd, buffer, size, (off_t)body->taken);
        } while (got == -1 && errno == EINTR);
        if (got <= 0) {
            return -1;
        }
        size = (size_t)got;
    }
    body->taken += size;
    return (ptrdiff_t)size;
}

/* "GET /path", for log lines. */
static void
describe(struct request *request, char *text, size_t size)
{
    const char *method = request_param(request, "REQUEST_METHOD", NULL);
    size_t length;
    const char *path = request_path(request, &length);

    snprintf(text, size, "%s %.*s", method == NULL ? "-" : method, length > 200 ? 200 : (int)length,
             path);
}

__attribute__((format(printf, 4, 0))) static enum fh_result
do_vfail(struct fh_request *head, const char *file, int line, const char *format, va_list arguments)
{
    char reason[1024];
    char what[256];

    vsnprintf(reason, sizeof reason, format, arguments);
    describe(of(head), what, sizeof what);
    if (file != NULL) {
        log_error("%s:%d: %s (%s)", file, line, reason, what);
    } else {
        log_error("%s (%s)", reason, what);
    }
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
    .status = do_status,
    .header = do_header,
    .write = do_write,
    .vprint = do_vprint,
    .vfail = do_vfail,
    .alloc = do_alloc,
    .slot = do_slot,
    .wait = do_wait,
    .gone = do_gone,
};

/* --- running ------------------------------------------------------------------------ */

void
request_init(struct request *request, const struct request_io *io, void *owner)
{
    request->head.host = &host;
    request->io = io;
    request->owner = owner;
    arena_init(&request->arena, REQUEST_ARENA_MAX);
    request_reset(request);
}

void
request_reset(struct request *request)
{
    arena_reset(&request->arena);
    drop_answer(request);
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

    if (result == FH_WAIT && request->wait.asked && request->entry->handler->resume != NULL) {
        return FH_WAIT;
    }
    if (result != FH_OK && result != FH_NOT_FOUND && result != FH_ERROR) {
        describe(request, what, sizeof what);
        log_error("%s: returned %d%s (%s)", request->entry->file, (int)result,
                  result == FH_WAIT ? " without fh_wait(), or has no resume" : "", what);
        result = FH_ERROR;
    }
    if (result == FH_OK || request->broken) {
        return FH_OK;
    }
    if (request->head_sent) {
        request->broken = true; /* only closing tells that the answer is not whole */
    } else if (result == FH_NOT_FOUND) {
        request_refuse(request, 404);
    } else {
        request_refuse(request, request->timed_out ? 504 : 500);
    }
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
request_cancel(struct request *request)
{
    const struct router_entry *entry = request->entry;

    if (entry->handler->cancel != NULL) {
        entry->handler->cancel(entry->state, &request->head);
    }
}
