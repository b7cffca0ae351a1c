/* SPDX-License-Identifier: MIT */
/* http.c - see http.h */
#include "protocol/http.h"

#include <string.h>
#include <strings.h>

static bool
interim(const llhttp_t *parser)
{
    return parser->status_code / 100 == 1;
}

static int
on_headers_complete(llhttp_t *parser)
{
    struct http *h = parser->data;
    if (interim(parser))
        return 0;
    h->answer->status = parser->status_code;
    h->answer->header_done = true;
    /* 1 tells llhttp that no body follows, whatever lengths the header names. */
    if (h->head || parser->status_code == 204 || parser->status_code == 304)
        return 1;
    h->chunked = (parser->flags & F_CHUNKED) != 0;
    h->answer->keep = llhttp_should_keep_alive(parser);
    return h->chunked ? HPE_PAUSED : 0;
}

static int
on_body(llhttp_t *parser, const char *data, size_t n)
{
    struct http *h = parser->data;
    answer_body(h->answer, data, n);
    return 0;
}

static int
on_message_complete(llhttp_t *parser)
{
    struct http *h = parser->data;
    if (interim(parser))
        return parser->status_code == 101 ? -1 : 0;
    h->answer->keep = llhttp_should_keep_alive(parser);
    h->complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void
http_start(struct http *h, struct answer *answer, bool head, uint32_t header_limit)
{
    *answer = (struct answer){0};
    llhttp_init(&h->parser, HTTP_RESPONSE, &settings);
    h->parser.data = h;
    h->answer = answer;
    h->header_limit = header_limit;
    h->head = head;
    h->chunked = h->complete = false;
    chunk_start(&h->chunk, header_limit);
}

static enum answer_state
feed_chunks(struct http *h, const char *data, size_t n)
{
    size_t used;
    enum answer_state state = chunk_feed(&h->chunk, h->answer, data, n, &used);
    h->complete = state == ANSWER_DONE;
    if (h->complete && used < n)
        return answer_fail(h->answer, FAULT_SURPLUS, "bytes after the end of the answer");
    return state;
}

/* Gives llhttp <n> bytes and reads its verdict. */
static enum answer_state
execute(struct http *h, const char *data, size_t n)
{
    if (h->chunked)
        return feed_chunks(h, data, n);
    llhttp_errno_t error = llhttp_execute(&h->parser, data, n);
    if (h->complete) {
        const char *end = llhttp_get_error_pos(&h->parser);
        if (error == HPE_PAUSED && end != data + n)
            return answer_fail(h->answer, FAULT_SURPLUS, "bytes after the end of the answer");
        return ANSWER_DONE;
    }
    if (error == HPE_OK)
        return ANSWER_MORE;
    if (error == HPE_PAUSED && h->chunked) {
        const char *body = llhttp_get_error_pos(&h->parser);
        return feed_chunks(h, body, (size_t)(data + n - body));
    }
    const char *reason = llhttp_get_error_reason(&h->parser);
    if (reason == NULL || *reason == '\0')
        reason = llhttp_errno_name(error);
    return answer_fail(h->answer, FAULT_MALFORMED, reason);
}

enum answer_state
http_feed(struct http *h, const char *data, size_t n)
{
    struct answer *a = h->answer;
    while (!a->header_done && n > 0) {
        size_t room = h->header_limit - a->header_bytes;
        size_t part = n < room ? n : room;
        enum answer_state state = execute(h, data, part);
        a->header_bytes += (uint32_t)part;
        if (state == ANSWER_DONE && part < n)
            return answer_fail(a, FAULT_SURPLUS, "bytes after the end of the answer");
        if (state != ANSWER_MORE)
            return state;
        if (!a->header_done && a->header_bytes == h->header_limit)
            return answer_fail(a, FAULT_BIG_HEADER, "the header passes the limit");
        data += part;
        n -= part;
    }
    return n > 0 ? execute(h, data, n) : ANSWER_MORE;
}

enum answer_state
http_end(struct http *h)
{
    struct answer *a = h->answer;
    if (a->header_bytes == 0)
        return answer_fail(a, FAULT_EMPTY, "closed before the answer");
    /* A body that the end of the connection delimits completes in llhttp_finish();
     * anything else was cut. */
    if (!h->chunked)
        llhttp_finish(&h->parser);
    if (h->complete)
        return ANSWER_DONE;
    return answer_fail(a, FAULT_CUT, "closed inside the answer");
}

bool
http_header(const char *data, size_t n, const char *name, char *value, size_t size)
{
    size_t name_length = strlen(name);
    const char *end = data + n, *line = data;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        if ((size_t)(end - line) <= name_length || *line == '\r')
            return false;
        if (strncasecmp(line, name, name_length) != 0 || line[name_length] != ':')
            continue;
        const char *start = line + name_length + 1;
        while (start < end && (*start == ' ' || *start == '\t'))
            start++;
        size_t length = 0;
        while (start + length < end && length < size - 1 && start[length] != '\r' &&
               start[length] != '\n')
            length++;
        memcpy(value, start, length);
        value[length] = '\0';
        return true;
    }
    return false;
}

static bool
has_header(const struct http_request *request, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < request->header_count; i++)
        if (strncasecmp(request->headers[i], name, n) == 0 && request->headers[i][n] == ':')
            return true;
    return false;
}

void
http_request_bytes(struct bytes *out, const struct http_request *request)
{
    bytes_print(out, "%s %s HTTP/1.1\r\n", request->method, request->target);
    if (!has_header(request, "Host"))
        bytes_print(out, "Host: %s\r\n", request->host);
    if (!request->keep_alive && !has_header(request, "Connection"))
        bytes_print(out, "Connection: close\r\n");
    if (request->content_type != NULL && !has_header(request, "Content-Type"))
        bytes_print(out, "Content-Type: %s\r\n", request->content_type);
    if (request->body != NULL && !has_header(request, "Content-Length"))
        bytes_print(out, "Content-Length: %zu\r\n", request->body_length);
    for (size_t i = 0; i < request->header_count; i++)
        bytes_print(out, "%s\r\n", request->headers[i]);
    bytes_add(out, "\r\n", 2);
    if (request->body != NULL)
        bytes_add(out, request->body, request->body_length);
}
