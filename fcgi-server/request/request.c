/* SPDX-License-Identifier: MIT */
#include "request/request.h"
#include "base/log.h"
#include "request/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size over which the body buffer does not stay. */
#define OUT_KEPT ((size_t)131072)

void
request_init(struct request *request, const struct request_io *io, void *owner)
{
    request->io = io;
    request->owner = owner;
    arena_init(&request->arena, REQUEST_ARENA_MAX);
    request_reset(request);
}

void
request_drop_answer(struct request *request)
{
    request->status = 0;
    request->type = NULL;
    request->lines_length = 0;
    request->length = -1;
    request->out_length = 0;
    request->written = 0;
}

void
request_reset(struct request *request)
{
    arena_reset(&request->arena);
    request_drop_answer(request);
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

/* --- parameters ------------------------------------------------------------ */

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
    while ((found = record_next_pair(&cursor, end, &pair)) == 1)
        count++;
    if (found == -1)
        return 400;
    if (request_reserve_params(request, count) == -1)
        return 500;
    cursor = bytes;
    while (record_next_pair(&cursor, end, &pair) == 1) {
        request_add_param(request, (struct request_param){pair.name, pair.value, pair.name_length,
                                                          pair.value_length});
    }
    /* Only now: the NUL falls on the length byte of the pair behind. */
    for (size_t i = 0; i < count; i++) {
        const struct request_param *param = &request->params[i];
        bytes[param->value + param->value_length - bytes] = '\0';
    }
    return 0;
}

/* The next parameter <name> from <i> on; NULL behind the last. */
static struct request_param *
find_param(const struct request *request, const char *name, size_t i)
{
    size_t name_length = strlen(name);
    for (; i < request->param_count; i++) {
        struct request_param *param = &request->params[i];
        if (param->name_length == name_length && memcmp(param->name, name, name_length) == 0)
            return param;
    }
    return NULL;
}

const char *
request_param(const struct request *request, const char *name, size_t *length)
{
    const struct request_param *param = find_param(request, name, 0);
    if (param == NULL)
        return NULL;
    if (length != NULL)
        *length = param->value_length;
    return param->value;
}

/* All values of <name>, of which <first> is the first, become one; the others are no parameters any
 * more. Left as they are when out of memory. */
static void
join_params(struct request *request, struct request_param *first, const char *name)
{
    const struct request_param *base = request->params;
    struct request_param *next = first;
    size_t length = first->value_length;
    while ((next = find_param(request, name, (size_t)(next - base) + 1)) != NULL)
        length += 2 + (size_t)next->value_length;
    if (length == first->value_length || length > UINT32_MAX)
        return;
    char *joined = arena_alloc(&request->arena, length + 1);
    if (joined == NULL)
        return;
    const char *separator = strcmp(name, "HTTP_COOKIE") == 0 ? "; " : ", ";
    memcpy(joined, first->value, first->value_length);
    char *to = joined + first->value_length;
    for (next = first; (next = find_param(request, name, (size_t)(next - base) + 1)) != NULL;) {
        memcpy(to, separator, 2);
        memcpy(to + 2, next->value, next->value_length);
        to += 2 + next->value_length;
        next->name_length = 0;
    }
    *to = '\0';
    first->value = joined;
    first->value_length = (uint32_t)length;
}

const char *
request_value(struct request *request, const char *name, size_t *length)
{
    struct request_param *first = find_param(request, name, 0);
    if (first == NULL)
        return NULL;
    if (strncmp(name, "HTTP_", 5) == 0)
        join_params(request, first, name);
    if (length != NULL)
        *length = first->value_length;
    return first->value;
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
        if (uri == NULL && (uri = request_param(request, "REQUEST_URI", length)) != NULL)
            *length = strcspn(uri, "?");
        if (uri == NULL || *length == 0) {
            uri = "/";
            *length = 1;
        }
        return uri;
    }
    *length = script_length + info_length;
    if (info_length == 0)
        return script;
    char *path = arena_alloc(&request->arena, *length + 1);
    if (path == NULL) {
        *length = script_length;
        return script;
    }
    memcpy(path, script == NULL ? "" : script, script_length);
    memcpy(path + script_length, info, info_length + 1);
    return path;
}

void
request_describe(struct request *request, char *text, size_t size)
{
    const char *method = request_param(request, "REQUEST_METHOD", NULL);
    size_t length;
    const char *path = request_path(request, &length);
    snprintf(text, size, "%s %.*s", method == NULL ? "-" : method, length > 200 ? 200 : (int)length,
             path);
}

/* <text> as a length; UINT64_MAX if it is none. */
static uint64_t
length_of(const char *text)
{
    uint64_t length = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (length > UINT64_MAX / 10 - 1)
            return UINT64_MAX;
        length = length * 10 + (uint64_t)(*text - '0');
    }
    return *text == '\0' ? length : UINT64_MAX;
}

int
request_check_length(struct request *request, uint64_t length)
{
    const char *announced = request_param(request, "CONTENT_LENGTH", NULL);
    char what[256];
    /* Caddy's -1: a body of unknown length, which ends where STDIN does. */
    if (announced == NULL || *announced == '\0' || strcmp(announced, "-1") == 0)
        return 0;
    uint64_t number = length_of(announced);
    if (number == length && number != UINT64_MAX)
        return 0;
    request_describe(request, what, sizeof what);
    if (number == UINT64_MAX)
        log_warn("%s: answered 400: CONTENT_LENGTH '%.40s' is not a length", what, announced);
    else
        log_warn("%s: answered 400: CONTENT_LENGTH is %" PRIu64 ", the body that came has %" PRIu64
                 " bytes",
                 what, number, length);
    return 400;
}
