/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/request/intake.c fcgi-server/request/record.c fcgi-server/request/request.c fcgi-server/request/dispatch.c fcgi-server/engine/answer.c */
/* links: fcgi-server/request/arena.c fcgi-server/request/query.c */
/* links: fcgi-server/request/response.c */
/* The life of requests in memory: bytes of a connection in, answers out. Whatever comes in,
 * what goes out is whole records of open ids, one end for each request, and a head that no
 * input can break apart. */
#include "request/request.h"
#include "base/log.h"
#include "engine/answer.h"
#include "handler/router.h"
#include "request/dispatch.h"
#include "request/intake.h"
#include "request/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct intake_limits limits = {.spool_folder = "/tmp",
                                            .params_max = 60000,
                                            .body_max = 200000,
                                            .connections = 1,
                                            .requests = 1};
static struct answer answer;

static void
check(int good)
{
    if (!good)
        abort();
}

void
log_line(enum log_level level, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    check(level <= LOG_LEVEL_DEBUG);
}

/* A handler that does with the request whatever its query says. */
static enum fh_result
handle(void *state, struct fh_request *request)
{
    (void)state;
    size_t length = 0;
    char block[1000];
    const char *text = fh_query(request, "status", NULL);
    if (text)
        fh_status(request, (int)strtol(text, NULL, 10));
    const char *value = fh_query(request, "value", &length);
    const char *name = fh_query(request, "header", NULL);
    if (name && value)
        fh_header(request, name, value);
    if (value)
        fh_header(request, "X-Value", value);
    text = fh_param(request, "CONTENT_TYPE", NULL);
    if (text)
        fh_header(request, "Content-Type", text);
    if (fh_query(request, "missing", NULL))
        return FH_NOT_FOUND;
    ptrdiff_t got;
    while ((got = fh_read(request, block, sizeof block)) > 0)
        if (fh_write(request, block, (size_t)got) == -1)
            return FH_ERROR;
    if (fh_query(request, "many", NULL))
        for (int i = 0; i < 400; i++)
            fh_write(request, block, sizeof block);
    if (fh_query(request, "fail", NULL))
        return fh_fail(request, "%s", value ? value : "no value");
    fh_print(request, "%zu %s", length, value ? value : "");
    char *memory = fh_alloc(request, length + 1);
    if (memory && value)
        memcpy(memory, value, length + 1);
    return FH_OK;
}

static const struct fh_handler handler = {FH_ABI, sizeof handler, .name = "fuzz", .handle = handle};
static const struct router_entry entry = {
    .path = "/", .path_length = 1, .file = "fuzz", .handler = &handler};

const struct router_entry *
router_find(const struct router *router, const char *path, size_t length)
{
    (void)router;
    check(path != NULL);
    return length > 0 && path[length - 1] == '!' ? NULL : &entry;
}

/* --- what goes out ------------------------------------------------------------------- */

struct output {
    char *bytes;
    size_t length;
};

static void
collect(struct output *output, struct request *request, bool last)
{
    answer_build(&answer, request, last);
    output->bytes = realloc(output->bytes, output->length + answer.left + 1);
    check(output->bytes != NULL && answer.count <= ANSWER_PARTS);
    answer_rest(&answer, output->bytes + output->length);
    output->length += answer.left;
}

static int
flush(struct request *request)
{
    collect(request->owner, request, false);
    return 0;
}

static int
gone(struct request *request)
{
    (void)request;
    return 0;
}

static const struct request_io io = {.flush = flush, .gone = gone};

/* No line of the head but those that the server and the handler made. */
static void
check_head(const char *head, size_t length)
{
    const char *end = head + length;
    for (const char *line = head; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        check(stop != NULL);
        if (stop == line + 1 && *line == '\r')
            return;
        check(stop > line && stop[-1] == '\r' && memchr(line, ':', (size_t)(stop - line)) != NULL);
        check(memchr(line, '\0', (size_t)(stop - line)) == NULL);
        line = stop + 1;
    }
    abort();
}

static void
check_output(const struct output *output, uint16_t id)
{
    char head[REQUEST_HEAD_ROOM];
    size_t at = 0, head_length = 0;
    int ends = 0;
    while (at < output->length) {
        check(output->length - at >= RECORD_HEADER_SIZE && ends == 0);
        struct record_header header = record_decode_header(output->bytes + at);
        check(header.version == 1 && header.id == id);
        check(header.type == RECORD_STDOUT || header.type == RECORD_END_REQUEST);
        ends += header.type == RECORD_END_REQUEST;
        at += RECORD_HEADER_SIZE;
        if (header.type == RECORD_STDOUT && head_length < sizeof head) {
            size_t part = header.content_length < sizeof head - head_length
                              ? header.content_length
                              : sizeof head - head_length;
            memcpy(head + head_length, output->bytes + at, part);
            head_length += part;
        }
        at += (size_t)header.content_length + header.padding_length;
    }
    check(at == output->length && ends == 1);
    check_head(head, head_length);
}

static void
serve(struct request *request, struct intake *intake)
{
    struct output output = {0};
    request->owner = &output;
    request->id = intake->id;
    request->keep = intake->keep;
    request->body = (struct request_body){.memory = intake->buffer + intake->body,
                                          .spool_fd = intake->spool_fd,
                                          .length = intake->body_length};
    int refused = request_set_params(request, intake->buffer + intake->params,
                                     intake->params_end - intake->params);
    if (refused == 0)
        refused = request_check_length(request, intake->body_length);
    if (refused != 0) {
        response_refuse(request, refused);
    } else {
        dispatch_route(request, NULL);
        check(dispatch_run(request) == FH_OK);
    }
    if (!request->broken) {
        collect(&output, request, true);
        check_output(&output, request->id);
    }
    free(output.bytes);
    request_reset(request);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request request = {0};
    struct intake intake;
    size_t fed = 0;
    int requests = 0;
    request_init(&request, &io, NULL);
    intake_init(&intake, &limits);
    while (requests < 100) {
        enum intake_result result = intake_next(&intake);
        if (result == INTAKE_MORE) {
            char *room;
            size_t length = intake_room(&intake, &room);
            if (length > size - fed)
                length = size - fed;
            if (length == 0)
                break;
            memcpy(room, data + fed, length);
            intake_filled(&intake, length);
            fed += length;
        } else if (result == INTAKE_REQUEST) {
            serve(&request, &intake);
            intake_reset(&intake);
            requests++;
        } else if (result >= INTAKE_REFUSED || intake.closing) {
            break;
        }
    }
    intake_fini(&intake);
    request_fini(&request);
    return 0;
}
