/* SPDX-License-Identifier: MIT */
/*
 * url.h - the four forms of address that can be loaded:
 *   http://host[:port]/path?query       http+unix:/socket:/path?query
 *   fcgi://host:port/path?query         fcgi+unix:/socket:/path?query
 * No I/O.
 */
#ifndef URL_H
#define URL_H

#include <stdbool.h>
#include <stddef.h>

struct url {
    bool fcgi;           /* FastCGI, else HTTP */
    char socket[108];    /* path of a unix socket; empty for TCP */
    char host[256];      /* without brackets; "localhost" for a unix socket */
    char port[6];        /* decimal */
    char authority[272]; /* for the Host header: brackets and port where needed */
    const char *target;  /* path and query inside the text; "/" when there is none */
};

/* Splits <text>, which must live as long as <url>. 0, or -1 with the reason
 * and the remedy in <message>. */
int url_parse(struct url *url, const char *text, char *message, size_t size);

#endif
