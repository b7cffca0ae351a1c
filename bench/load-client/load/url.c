/* SPDX-License-Identifier: MIT */
/* url.c - see url.h */
#include "load/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *prefix;
    bool fcgi, is_unix;
    const char *port;
} schemes[] = {
    {"http+unix:", false, true, ""},
    {"fcgi+unix:", true, true, ""},
    {"http://", false, false, "80"},
    {"fcgi://", true, false, ""},
};

static int
fail(char *message, size_t size, const char *text, const char *why)
{
    snprintf(message, size, "'%s': %s", text, why);
    return -1;
}

/* <rest> is "/socket:/path". */
static int
parse_unix(struct url *url, const char *text, const char *rest, char *message, size_t size)
{
    const char *colon = strchr(rest, ':');
    size_t n = colon ? (size_t)(colon - rest) : strlen(rest);
    if (n == 0 || *rest != '/')
        return fail(message, size, text,
                    "expected an absolute socket path, as in http+unix:/run/s:/");
    if (n >= sizeof(url->socket))
        return fail(message, size, text, "the socket path is longer than 107 bytes");
    memcpy(url->socket, rest, n);
    snprintf(url->host, sizeof(url->host), "localhost");
    snprintf(url->authority, sizeof(url->authority), "localhost");
    url->target = colon && colon[1] ? colon + 1 : "/";
    if (*url->target != '/')
        return fail(message, size, text, "expected a path that begins with '/' after the socket");
    return 0;
}

static bool
valid_port(const char *port)
{
    char *end;
    long number = strtol(port, &end, 10);
    return *port >= '0' && *port <= '9' && *end == '\0' && number >= 1 && number <= 65535;
}

/* <rest> is "host[:port][/path]". */
static int
parse_tcp(struct url *url, const char *text, const char *rest, char *message, size_t size)
{
    size_t n = strcspn(rest, "/?#");
    if (memchr(rest, '@', n) != NULL) {
        /* The text is not repeated: logs shall not learn the password. */
        snprintf(message, size,
                 "user and password do not go into the URL; give them as a header: "
                 "-H \"Authorization: Basic $(printf user:password | base64)\"");
        return -1;
    }
    bool bracket = *rest == '[';
    const char *host = rest + bracket;
    const char *close = bracket ? memchr(host, ']', n ? n - 1 : 0) : NULL;
    if (bracket && close == NULL)
        return fail(message, size, text, "the bracket around the IPv6 address is not closed");
    const char *colon = bracket ? close + 1 : memchr(rest, ':', n);
    if (colon == NULL)
        colon = rest + n;
    size_t host_length = (size_t)((bracket ? close : colon) - host);
    if (host_length == 0 || host_length >= sizeof(url->host))
        return fail(message, size, text, "the host is missing or too long");
    memcpy(url->host, host, host_length);
    size_t port_length = (size_t)(rest + n - colon);
    if (port_length > 0) {
        if (*colon != ':' || port_length - 1 >= sizeof(url->port))
            return fail(message, size, text, "the port must be a number from 1 to 65535");
        memcpy(url->port, colon + 1, port_length - 1);
        url->port[port_length - 1] = '\0';
    }
    if (!valid_port(url->port))
        return fail(message, size, text, "a port from 1 to 65535 is needed");
    snprintf(url->authority, sizeof(url->authority), "%.*s", (int)n, rest);
    url->target = rest[n] == '/' ? rest + n : "/";
    if (rest[n] == '?')
        return fail(message, size, text, "write the path before the query: host/?query");
    return 0;
}

/* Neither a blank nor a control character, which would end the request's line, nor '#'. */
static bool
is_plain(const char *target)
{
    for (; *target != '\0'; target++)
        if ((unsigned char)*target <= ' ' || *target == '#' || *target == 0x7f)
            return false;
    return true;
}

int
url_parse(struct url *url, const char *text, char *message, size_t size)
{
    *url = (struct url){0};
    if (strncmp(text, "https:", 6) == 0)
        return fail(message, size, text, "TLS is not supported; load the plain port behind it");
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t n = strlen(schemes[i].prefix);
        if (strncmp(text, schemes[i].prefix, n) != 0)
            continue;
        url->fcgi = schemes[i].fcgi;
        snprintf(url->port, sizeof(url->port), "%s", schemes[i].port);
        int result = schemes[i].is_unix ? parse_unix(url, text, text + n, message, size)
                                        : parse_tcp(url, text, text + n, message, size);
        if (result == 0 && !is_plain(url->target))
            return fail(message, size, text,
                        "blanks, '#' and control characters must be percent-encoded (%20, %23)");
        return result;
    }
    return fail(message, size, text,
                "expected http://host[:port]/path, http+unix:/socket:/path, "
                "fcgi://host:port/path or fcgi+unix:/socket:/path");
}
