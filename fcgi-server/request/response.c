/* SPDX-License-Identifier: MIT */
#include "request/response.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The registry of status codes (RFC 9110, section 16.2.1). */
static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {208, "Already Reported"},
    {226, "IM Used"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

/* "Unknown" if there are none. */
static const char *
reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

#define DEFAULT_TYPE "text/plain; charset=utf-8"

/* The first size of the body buffer. */
#define OUT_FIRST ((size_t)4096)

static struct request *
of(struct fh_request *head)
{
    return (struct request *)head;
}

/* Room for <length> more bytes in <out>, which stays within REQUEST_OUT_MAX. */
static int
grow_out(struct request *request, size_t length)
{
    size_t size = request->out_size == 0 ? OUT_FIRST : request->out_size;
    while (size < request->out_length + length)
        size *= 2;
    if (size == request->out_size)
        return 0;
    char *out = realloc(request->out, size);
    if (out == NULL)
        return -1;
    request->out = out;
    request->out_size = size;
    return 0;
}

/* RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5. */
static bool
is_bodiless(int status)
{
    return status == 204 || status == 205 || status == 304;
}

bool
response_sends_body(const struct request *request)
{
    return !request->is_head && !is_bodiless(request->status);
}

/* The handler's Content-Length was too small. While the head is here the server counts instead;
 * later, more bytes would be taken for the next answer on the client's connection. */
static int
outgrow_length(struct request *request)
{
    char what[256];
    if (request->head_sent) {
        request_describe(request, what, sizeof what);
        log_error("%s: more was written than the Content-Length of %" PRId64 " bytes", what,
                  request->length);
        request->broken = true;
        return -1;
    }
    request->length = -1;
    return 0;
}

bool
response_is_short(const struct request *request)
{
    return request->head_sent && response_sends_body(request) && request->length >= 0 &&
           request->written < (uint64_t)request->length;
}

int
response_write(struct fh_request *head, const void *data, size_t length)
{
    struct request *request = of(head);
    const char *from = data;
    if (request->broken)
        return -1;
    request->written += length;
    if (!response_sends_body(request))
        return 0;
    if (request->length >= 0 && request->written > (uint64_t)request->length &&
        outgrow_length(request) == -1)
        return -1;
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

int
response_vprint(struct fh_request *head, const char *format, va_list arguments)
{
    char text[1024];
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments);
    int result = -1;
    if (length >= 0 && (size_t)length < sizeof text) {
        result = response_write(head, text, (size_t)length);
    } else if (length >= 0) {
        char *long_text = malloc((size_t)length + 1);
        if (long_text != NULL) {
            vsnprintf(long_text, (size_t)length + 1, format, again);
            result = response_write(head, long_text, (size_t)length);
            free(long_text);
        }
    }
    va_end(again);
    return result;
}

int
response_status(struct fh_request *head, int code)
{
    struct request *request = of(head);
    if (code < 200 || code > 599 || request->head_sent)
        return -1;
    request->status = code;
    return 0;
}

/* RFC 9110, section 5.6.2: the characters of a token; whatever the locale. */
static bool
is_token(const char *text)
{
    static const char allowed[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "!#$%&'*+-.^_`|~";
    return *text != '\0' && text[strspn(text, allowed)] == '\0';
}

/* RFC 9110, section 5.5: no control character but the tab. */
static bool
is_value(const char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static int
set_length(struct request *request, const char *value)
{
    char *end;
    errno = 0;
    long long length = strtoll(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0)
        return -1;
    request->length = length;
    return 0;
}

static int
set_type(struct request *request, const char *value, size_t length)
{
    char *type = arena_alloc(&request->arena, length + 1);
    if (type == NULL || length > 256)
        return -1;
    request->type = memcpy(type, value, length + 1);
    return 0;
}

static int
add_line(struct request *request, const char *name, size_t name_length, const char *value,
         size_t value_length)
{
    size_t needed = request->lines_length + name_length + value_length + 4;
    if (needed > REQUEST_HEAD_MAX)
        return -1;
    if (needed > request->lines_size) {
        size_t size = request->lines_size == 0 ? 512 : request->lines_size * 2;
        while (size < needed)
            size *= 2;
        char *lines = arena_alloc(&request->arena, size);
        if (lines == NULL)
            return -1;
        if (request->lines_length > 0)
            memcpy(lines, request->lines, request->lines_length);
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

/* Headers that are not a handler's to send. "Status" is how CGI spells what fh_status() is for; the
 * others are about the connection to the client, which is the web server's alone (RFC 3875,
 * section 6.3.4). HAProxy 2.6 ends itself over a Transfer-Encoding. */
static bool
is_reserved(const char *name)
{
    static const char *const reserved[] = {
        "Status", "Connection", "Keep-Alive",        "Proxy-Connection",
        "TE",     "Trailer",    "Transfer-Encoding", "Upgrade"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(name, reserved[i]) == 0)
            return true;
    return false;
}

int
response_header(struct fh_request *head, const char *name, const char *value)
{
    struct request *request = of(head);
    size_t length = strlen(value);
    if (request->head_sent || !is_token(name) || !is_value(value) || is_reserved(name))
        return -1;
    if (strcasecmp(name, "Content-Type") == 0)
        return set_type(request, value, length);
    if (strcasecmp(name, "Content-Length") == 0)
        return set_length(request, value);
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
response_head(struct request *request, char *to, bool complete)
{
    bool empty = is_bodiless(request->status);
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
    if (request->is_head && request->length >= 0 && request->written == 0)
        length = request->length;
    if (request->status == 205)
        length = 0; /* as it must be told */
    if (length >= 0 && (!empty || request->status == 205)) {
        at = put_text(at, "Content-Length: ");
        at = put_number(at, (uint64_t)length);
        at = put_text(at, "\r\n");
    }
    if (request->lines_length > 0)
        at = put(at, request->lines, request->lines_length);
    at = put_text(at, "\r\n");
    request->head_sent = true;
    return (size_t)(at - to);
}

void
response_refuse(struct request *request, int status)
{
    const char *reason = reason_of(status);
    request_drop_answer(request);
    request->status = status;
    response_write(&request->head, reason, strlen(reason));
    response_write(&request->head, "\n", 1);
    if (status == 503)
        response_header(&request->head, "Retry-After", "1");
}
