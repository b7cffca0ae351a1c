/* SPDX-License-Identifier: MIT */
/* fcgi.c - see fcgi.h */
#include "protocol/fcgi.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum record_type {
    BEGIN_REQUEST = 1,
    END_REQUEST = 3,
    PARAMS = 4,
    STDIN = 5,
    STDOUT = 6,
    STDERR = 7,
};

enum { VERSION = 1, REQUEST_ID = 1, RESPONDER = 1, KEEP_CONN = 1, MAX_CONTENT = 65535 };

/* Values of END_REQUEST's protocolStatus. */
enum { REQUEST_COMPLETE = 0, OVERLOADED = 2 };

void
fcgi_start(struct fcgi *f, struct answer *answer, uint32_t header_limit)
{
    *answer = (struct answer){.keep = true};
    *f = (struct fcgi){.answer = answer, .header_limit = header_limit};
}

/* A line of the CGI header is complete: its beginning is in f->line. */
static enum answer_state
header_line(struct fcgi *f)
{
    struct answer *a = f->answer;
    size_t n = f->line_length;
    if (n == 0) {
        a->header_done = true;
        if (a->status == 0)
            a->status = 200;
        return ANSWER_MORE;
    }
    if (n >= 7 && strncasecmp(f->line, "Status:", 7) == 0) {
        const char *p = f->line + 7, *end = f->line + n;
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        unsigned status = 0;
        while (p < end && *p >= '0' && *p <= '9' && status < 1000)
            status = status * 10 + (unsigned)(*p++ - '0');
        if (status < 100 || status > 999)
            return answer_fail(a, FAULT_MALFORMED, "a Status header without a code");
        a->status = (uint16_t)status;
    } else if (n >= 9 && strncasecmp(f->line, "Location:", 9) == 0 && a->status == 0) {
        a->status = 302;
    }
    f->line_length = 0;
    return ANSWER_MORE;
}

/* Bytes of the STDOUT stream: the CGI header, then the body. */
static enum answer_state
output(struct fcgi *f, const char *data, size_t n)
{
    struct answer *a = f->answer;
    size_t i = 0;
    while (i < n && !a->header_done) {
        char c = data[i++];
        if (++a->header_bytes > f->header_limit)
            return answer_fail(a, FAULT_BIG_HEADER, "the header passes the limit");
        if (c == '\n') {
            if (f->line_length == 1 && f->line[0] == '\r')
                f->line_length = 0;
            if (header_line(f) == ANSWER_BAD)
                return ANSWER_BAD;
        } else if (f->line_length < sizeof(f->line)) {
            f->line[f->line_length++] = c;
        }
    }
    if (i < n)
        answer_body(a, data + i, n - i);
    return ANSWER_MORE;
}

/* A record's own header is complete. */
static enum answer_state
record_begins(struct fcgi *f)
{
    const unsigned char *h = f->head;
    unsigned id = h[2] << 8 | h[3];
    if (h[0] != VERSION)
        return answer_fail(f->answer, FAULT_MALFORMED, "a record of another version than 1");
    if (h[1] != END_REQUEST && h[1] != STDOUT && h[1] != STDERR)
        return answer_fail(f->answer, FAULT_MALFORMED, "a record type that no application sends");
    if (id != REQUEST_ID)
        return answer_fail(f->answer, FAULT_MALFORMED, "a record of another request");
    f->content_left = (uint16_t)(h[4] << 8 | h[5]);
    f->padding_left = h[6];
    if (h[1] == END_REQUEST && f->content_left != 8)
        return answer_fail(f->answer, FAULT_MALFORMED, "END_REQUEST must have 8 bytes");
    return ANSWER_MORE;
}

/* Content of the current record. */
static enum answer_state
content(struct fcgi *f, const char *data, size_t n)
{
    switch (f->head[1]) {
    case STDOUT:
        return output(f, data, n);
    case STDERR:
        f->answer->stderr_bytes += (uint32_t)n;
        return ANSWER_MORE;
    default:
        memcpy(f->end + f->end_length, data, n);
        f->end_length = (uint8_t)(f->end_length + n);
        return ANSWER_MORE;
    }
}

/* END_REQUEST is complete, padding included. */
static enum answer_state
request_ends(struct fcgi *f)
{
    struct answer *a = f->answer;
    const unsigned char *e = f->end;
    f->ended = true;
    if (e[4] == OVERLOADED)
        return answer_fail(a, FAULT_OVERLOADED, "the application is overloaded");
    if (e[4] != REQUEST_COMPLETE)
        return answer_fail(a, FAULT_REFUSED, "the application refused the request");
    if (!a->header_done)
        return answer_fail(a, FAULT_MALFORMED, "END_REQUEST before the end of the header");
    a->app_status = (e[0] | e[1] | e[2] | e[3]) != 0;
    return ANSWER_DONE;
}

enum answer_state
fcgi_feed(struct fcgi *f, const char *data, size_t n)
{
    while (n > 0) {
        if (f->ended)
            return answer_fail(f->answer, FAULT_SURPLUS, "bytes after END_REQUEST");
        size_t part;
        if (f->head_length < sizeof(f->head)) {
            part = sizeof(f->head) - f->head_length;
            part = part < n ? part : n;
            memcpy(f->head + f->head_length, data, part);
            f->head_length = (uint8_t)(f->head_length + part);
            if (f->head_length == sizeof(f->head) && record_begins(f) == ANSWER_BAD)
                return ANSWER_BAD;
        } else if (f->content_left > 0) {
            part = f->content_left < n ? f->content_left : n;
            f->content_left = (uint16_t)(f->content_left - part);
            if (content(f, data, part) == ANSWER_BAD)
                return ANSWER_BAD;
        } else {
            part = f->padding_left < n ? f->padding_left : n;
            f->padding_left = (uint8_t)(f->padding_left - part);
        }
        data += part;
        n -= part;
        if (f->head_length < sizeof(f->head) || f->content_left > 0 || f->padding_left > 0)
            continue;
        f->head_length = 0;
        if (f->end_length == sizeof(f->end) && request_ends(f) == ANSWER_BAD)
            return ANSWER_BAD;
    }
    return f->ended ? ANSWER_DONE : ANSWER_MORE;
}

enum answer_state
fcgi_end(struct fcgi *f)
{
    struct answer *a = f->answer;
    if (f->head_length == 0 && a->header_bytes == 0 && a->stderr_bytes == 0)
        return answer_fail(a, FAULT_EMPTY, "closed before the answer");
    return answer_fail(a, FAULT_CUT, "closed before END_REQUEST");
}

int
fcgi_param(struct fcgi_params *p, const char *name, const char *value)
{
    size_t i = 0;
    while (i < p->count && strcmp(p->pair[i].name, name) != 0)
        i++;
    if (i == sizeof(p->pair) / sizeof(p->pair[0]))
        return -1;
    if (i == p->count)
        p->pair[p->count++].name = bytes_duplicate(name, strlen(name));
    free(p->pair[i].value);
    p->pair[i].value = bytes_duplicate(value, strlen(value));
    return 0;
}

const char *
fcgi_param_value(const struct fcgi_params *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->pair[i].name, name) == 0)
            return p->pair[i].value;
    return NULL;
}

void
fcgi_params_free(struct fcgi_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->pair[i].name);
        free(p->pair[i].value);
    }
    *p = (struct fcgi_params){0};
}

static void
add_record(struct bytes *out, enum record_type type, const char *data, size_t n)
{
    const unsigned char head[8] = {VERSION,    (unsigned char)type,     0,
                                   REQUEST_ID, (unsigned char)(n >> 8), (unsigned char)n};
    bytes_add(out, head, sizeof(head));
    bytes_add(out, data, n);
}

/* A stream: as many records as it takes, then the empty one that ends it. */
static void
add_stream(struct bytes *out, enum record_type type, const char *data, size_t n)
{
    while (n > 0) {
        size_t part = n < MAX_CONTENT ? n : MAX_CONTENT;
        add_record(out, type, data, part);
        data += part;
        n -= part;
    }
    add_record(out, type, NULL, 0);
}

/* Lengths up to 127 take one byte, greater ones four with the top bit set. */
static void
add_length(struct bytes *out, size_t n)
{
    unsigned char length[4] = {(unsigned char)(n >> 24 | 0x80), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 8), (unsigned char)n};
    bytes_add(out, n < 128 ? length + 3 : length, n < 128 ? 1 : 4);
}

void
fcgi_request_bytes(struct bytes *out, const struct fcgi_params *params, const char *body,
                   size_t body_length, bool keep)
{
    const char begin[8] = {0, RESPONDER, keep ? KEEP_CONN : 0};
    add_record(out, BEGIN_REQUEST, begin, sizeof(begin));
    struct bytes pairs = {0};
    for (size_t i = 0; i < params->count; i++) {
        size_t name = strlen(params->pair[i].name), value = strlen(params->pair[i].value);
        add_length(&pairs, name);
        add_length(&pairs, value);
        bytes_add(&pairs, params->pair[i].name, name);
        bytes_add(&pairs, params->pair[i].value, value);
    }
    add_stream(out, PARAMS, pairs.data, pairs.length);
    add_stream(out, STDIN, body, body_length);
    bytes_free(&pairs);
}
