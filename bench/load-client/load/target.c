/* SPDX-License-Identifier: MIT */
/* target.c - see target.h */
#include "load/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { MAX_REQUESTS = 1000 };

static void
start_http(union parser *p, struct answer *a, bool head, uint32_t limit)
{
    http_start(&p->http, a, head, limit);
}

static enum answer_state
feed_http(union parser *p, const char *data, size_t n)
{
    return http_feed(&p->http, data, n);
}

static enum answer_state
end_http(union parser *p)
{
    return http_end(&p->http);
}

static void
start_fcgi(union parser *p, struct answer *a, bool head, uint32_t limit)
{
    (void)head; /* an application may send a body to HEAD; a web server drops it */
    fcgi_start(&p->fcgi, a, limit);
}

static enum answer_state
feed_fcgi(union parser *p, const char *data, size_t n)
{
    return fcgi_feed(&p->fcgi, data, n);
}

static enum answer_state
end_fcgi(union parser *p)
{
    return fcgi_end(&p->fcgi);
}

static const struct protocol protocols[] = {
    {"http", start_http, feed_http, end_http},
    {"fcgi", start_fcgi, feed_fcgi, end_fcgi},
};

static bool
is_local(const struct sockaddr *a)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
    if (a->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_UNIX || IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int
resolve(struct target *t, char *message, size_t size)
{
    const struct url *url = &t->url;
    if (*url->socket) {
        struct sockaddr_un *path = (struct sockaddr_un *)&t->address[0].socket;
        path->sun_family = AF_UNIX;
        memcpy(path->sun_path, url->socket, strlen(url->socket) + 1);
        t->address[0].length = sizeof(*path);
        t->addresses = 1;
        t->local = true;
        return 0;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list;
    int error = getaddrinfo(url->host, url->port, &hints, &list);
    if (error != 0) {
        snprintf(message, size, "cannot resolve '%s': %s", url->host, gai_strerror(error));
        return -1;
    }
    for (struct addrinfo *i = list; i != NULL && t->addresses < 8; i = i->ai_next) {
        memcpy(&t->address[t->addresses].socket, i->ai_addr, i->ai_addrlen);
        t->address[t->addresses++].length = i->ai_addrlen;
    }
    t->local = is_local((const struct sockaddr *)&t->address[0].socket);
    freeaddrinfo(list);
    return 0;
}

/* Spreads the requests over a sequence so that each appears as often as its
 * weight says and as evenly as possible: every step, each request gains its
 * weight, and the richest one is taken and pays the total. */
static void
make_sequence(struct target *t)
{
    long total = 0;
    long *credit = bytes_allocate(t->requests, sizeof(*credit));
    for (size_t i = 0; i < t->requests; i++)
        total += t->request[i].weight;
    t->sequence = bytes_allocate((size_t)total, sizeof(*t->sequence));
    t->sequence_length = (size_t)total;
    for (size_t step = 0; step < t->sequence_length; step++) {
        size_t richest = 0;
        for (size_t i = 0; i < t->requests; i++) {
            credit[i] += t->request[i].weight;
            if (credit[i] > credit[richest])
                richest = i;
        }
        credit[richest] -= total;
        t->sequence[step] = (uint16_t)richest;
    }
    free(credit);
}

static struct request *
add_request(struct target *t, const char *path, unsigned weight)
{
    if (t->requests == t->capacity)
        return NULL;
    struct request *r = &t->request[t->requests++];
    *r = (struct request){.path = bytes_duplicate(path, strlen(path)), .weight = weight};
    return r;
}

/* One line: "[WEIGHT] [METHOD] /path". Words before the path may be left out. */
static int
parse_line(struct target *t, char *line, const char **method)
{
    unsigned weight = 1;
    char *save = NULL, *word = strtok_r(line, " \t\r", &save);
    if (word == NULL || *word == '#')
        return 0;
    if (*word >= '0' && *word <= '9') {
        char *end;
        unsigned long number = strtoul(word, &end, 10);
        if (*end != '\0' || number < 1 || number > 1000)
            return -1;
        weight = (unsigned)number;
        word = strtok_r(NULL, " \t\r", &save);
    }
    if (word != NULL && *word >= 'A' && *word <= 'Z') {
        *method = word;
        word = strtok_r(NULL, " \t\r", &save);
    }
    if (word == NULL || *word != '/' || strtok_r(NULL, " \t\r", &save) != NULL)
        return -1;
    return add_request(t, word, weight) ? 0 : -1;
}

static int
read_requests(struct target *t, const struct options *o, const char *method,
              const struct bytes *body, char *message, size_t size)
{
    struct bytes text = {0};
    const struct bytes nothing = {0};
    int result = bytes_read_file(&text, o->requests_file);
    if (result == -1)
        snprintf(message, size, "--requests-file: %s: %s", o->requests_file, strerror(errno));
    size_t number = 0;
    for (char *line = text.data, *next; result == 0 && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        size_t before = t->requests;
        const char *own = method;
        if (parse_line(t, line, &own) == -1) {
            snprintf(message, size,
                     "%s:%zu: expected '[WEIGHT 1-1000] [METHOD] /path', "
                     "at most %d lines",
                     o->requests_file, number, MAX_REQUESTS);
            result = -1;
        } else if (t->requests > before) {
            bool with_body = strcmp(own, "GET") != 0 && strcmp(own, "HEAD") != 0;
            result = request_build(&t->request[before], &t->url, o, own,
                                   with_body ? body : &nothing, message, size);
        }
    }
    bytes_free(&text);
    if (result == 0 && t->requests == 0) {
        snprintf(message, size, "%s: no request in it", o->requests_file);
        result = -1;
    }
    return result;
}

int
target_init(struct target *t, const struct options *o, char *message, size_t size)
{
    *t = (struct target){.header_limit = (uint32_t)o->header_limit};
    struct bytes body = {0};
    if (url_parse(&t->url, o->url, message, size) == -1)
        return -1;
    if (!t->url.fcgi && (o->script_filename != NULL || o->params.count > 0)) {
        snprintf(message, size,
                 "%s is for FastCGI: give a URL with fcgi:// or fcgi+unix:, or -H for a header",
                 o->script_filename ? "--script-filename" : "--param");
        return -1;
    }
    if (resolve(t, message, size) == -1)
        return -1;
    t->protocol = &protocols[t->url.fcgi];
    if (o->body_file != NULL && bytes_read_file(&body, o->body_file) == -1) {
        snprintf(message, size, "-p: %s: %s", o->body_file, strerror(errno));
        return -1;
    }
    t->body_length = body.length;
    const char *method = o->head ? "HEAD" : o->method ? o->method : body.data ? "POST" : "GET";
    t->capacity = o->requests_file ? MAX_REQUESTS : 1;
    t->request = bytes_allocate(t->capacity, sizeof(*t->request));
    int result;
    if (o->requests_file != NULL) {
        result = read_requests(t, o, method, &body, message, size);
    } else {
        struct request *r = add_request(t, t->url.target, 1);
        result = request_build(r, &t->url, o, method, &body, message, size);
    }
    bytes_free(&body);
    if (result == 0)
        make_sequence(t);
    return result;
}

void
target_free(struct target *t)
{
    for (size_t i = 0; i < t->requests; i++)
        request_free(&t->request[i]);
    free(t->request);
    free(t->sequence);
    *t = (struct target){0};
}
