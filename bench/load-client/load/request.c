/* SPDX-License-Identifier: MIT */
/* request.c - see request.h */
#include "load/request.h"
#include "protocol/fcgi.h"
#include "protocol/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What -p sends without a type, as ab and curl do. */
#define FORM "application/x-www-form-urlencoded"

/* A header of -H: "Name: value", blanks around the value left out. */
struct header {
    const char *name, *value;
    size_t name_length, value_length;
};

static struct header
take_apart(const char *text)
{
    struct header h = {.name = text, .name_length = strcspn(text, ":")};
    h.value = text + h.name_length + 1;
    h.value += strspn(h.value, " \t");
    h.value_length = strlen(h.value);
    while (h.value_length > 0 && strchr(" \t", h.value[h.value_length - 1]) != NULL)
        h.value_length--;
    return h;
}

static bool
is_named(const struct header *h, const char *name)
{
    return strlen(name) == h->name_length && strncasecmp(h->name, name, h->name_length) == 0;
}

/* "X-Forwarded-For" becomes HTTP_X_FORWARDED_FOR; two headers have a parameter
 * of their own (RFC 3875, section 4.1). */
static char *
param_name(const struct header *h)
{
    bool own = is_named(h, "Content-Type") || is_named(h, "Content-Length");
    struct bytes name = {0};
    bytes_print(&name, "%s%.*s", own ? "" : "HTTP_", (int)h->name_length, h->name);
    for (char *c = name.data; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return name.data;
}

/* Headers of one name become one parameter, joined as a web server joins them;
 * the first replaces the default. */
static int
add_headers(struct fcgi_params *p, const struct list *headers)
{
    int failed = 0;
    for (size_t i = 0; i < headers->count; i++) {
        struct header h = take_apart(headers->item[i]);
        struct bytes value = {0};
        bytes_print(&value, "%.*s", (int)h.value_length, h.value);
        bool is_first = true;
        for (size_t k = 0; k < headers->count; k++) {
            struct header other = take_apart(headers->item[k]);
            bool same = other.name_length == h.name_length &&
                        strncasecmp(other.name, h.name, h.name_length) == 0;
            if (same && k < i)
                is_first = false;
            if (same && k > i)
                bytes_print(&value, "%s%.*s", is_named(&h, "Cookie") ? "; " : ", ",
                            (int)other.value_length, other.value);
        }
        char *name = param_name(&h);
        if (is_first)
            failed |= fcgi_param(p, name, value.data);
        free(name);
        bytes_free(&value);
    }
    return failed;
}

static int
add_params(struct fcgi_params *p, const struct list *params)
{
    int failed = 0;
    for (size_t i = 0; i < params->count; i++) {
        size_t n = strcspn(params->item[i], "=");
        char *name = bytes_duplicate(params->item[i], n);
        failed |= fcgi_param(p, name, params->item[i] + n + 1);
        free(name);
    }
    return failed;
}

/* The parameters that nginx sends with the fastcgi_params file of its package. */
static int
standard_params(struct fcgi_params *p, const struct request *r, const struct url *url,
                const struct options *o, const char *method, const struct bytes *body)
{
    size_t path_length = strcspn(r->path, "?");
    char *script = bytes_duplicate(r->path, path_length), length[24] = "";
    if (body->data != NULL)
        snprintf(length, sizeof(length), "%zu", body->length);
    const struct {
        const char *name, *value;
    } standard[] = {
        {"QUERY_STRING", r->path[path_length] ? r->path + path_length + 1 : ""},
        {"REQUEST_METHOD", method},
        {"CONTENT_TYPE", o->content_type ? o->content_type
                         : body->data    ? FORM
                                         : ""},
        {"CONTENT_LENGTH", length},
        {"SCRIPT_FILENAME", o->script_filename ? o->script_filename : script},
        {"SCRIPT_NAME", script},
        {"REQUEST_URI", r->path},
        {"DOCUMENT_URI", script},
        {"DOCUMENT_ROOT", "/"},
        {"SERVER_PROTOCOL", "HTTP/1.1"},
        {"REQUEST_SCHEME", "http"},
        {"GATEWAY_INTERFACE", "CGI/1.1"},
        {"SERVER_SOFTWARE", "load-client"},
        {"REMOTE_ADDR", "127.0.0.1"},
        {"REMOTE_PORT", "0"},
        {"SERVER_ADDR", "127.0.0.1"},
        {"SERVER_PORT", *url->port ? url->port : "80"},
        {"SERVER_NAME", url->host},
        {"REDIRECT_STATUS", "200"},
        {"HTTP_HOST", url->authority},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
        failed |= fcgi_param(p, standard[i].name, standard[i].value);
    free(script);
    return failed;
}

static bool
is_idempotent(const char *method)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(method, methods[i]) == 0)
            return true;
    return false;
}

static int
build_fcgi(struct request *r, const struct url *url, const struct options *o, const char *method,
           const struct bytes *body)
{
    struct fcgi_params p = {0};
    int failed = standard_params(&p, r, url, o, method, body);
    failed |= add_headers(&p, &o->headers);
    failed |= add_params(&p, &o->params);
    const char *asked = fcgi_param_value(&p, "REQUEST_METHOD");
    r->idempotent = is_idempotent(asked ? asked : method);
    fcgi_request_bytes(&r->bytes, &p, body->data, body->length, o->keep_alive);
    fcgi_params_free(&p);
    return failed;
}

static void
build_http(struct request *r, const struct url *url, const struct options *o, const char *method,
           const struct bytes *body)
{
    const struct http_request request = {
        .method = method,
        .target = r->path,
        .host = url->authority,
        .headers = o->headers.item,
        .header_count = o->headers.count,
        .content_type = o->content_type ? o->content_type
                        : body->data    ? FORM
                                        : NULL,
        .body = body->data,
        .body_length = body->length,
        .keep_alive = o->keep_alive,
    };
    r->idempotent = is_idempotent(method);
    http_request_bytes(&r->bytes, &request);
}

int
request_build(struct request *r, const struct url *url, const struct options *o, const char *method,
              const struct bytes *body, char *message, size_t size)
{
    struct bytes label = {0};
    r->head = strcmp(method, "HEAD") == 0;
    bytes_print(&label, "%s %s", method, r->path);
    r->label = label.data;
    if (!url->fcgi) {
        build_http(r, url, o, method, body);
    } else if (build_fcgi(r, url, o, method, body) == -1) {
        snprintf(message, size, "too many FastCGI parameters; at most 128 can be sent");
        return -1;
    }
    return expect_init(&r->expect, o, message, size);
}

void
request_free(struct request *r)
{
    bytes_free(&r->bytes);
    free((char *)r->path);
    free(r->label);
}
