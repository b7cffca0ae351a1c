/* SPDX-License-Identifier: MIT */
/*
 * hello - greets ?name=, or the world if it is absent or empty. The name is
 * escaped for HTML, byte by byte: it may be in any encoding.
 */
#include "fcgi-handler.h"

#include <string.h>

static const char *const escapes[256] = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

/* Writes runs of harmless bytes in one piece. */
static void
write_escaped(struct fh_request *request, const char *text, size_t length)
{
    size_t start = 0;
    for (size_t i = 0; i < length; i++) {
        const char *escape = escapes[(unsigned char)text[i]];
        if (escape != NULL) {
            fh_write(request, text + start, i - start);
            fh_write(request, escape, strlen(escape));
            start = i + 1;
        }
    }
    fh_write(request, text + start, length - start);
}

static enum fh_result
handle(void *state, struct fh_request *request)
{
    (void)state;
    size_t length = 0;
    const char *name = fh_query(request, "name", &length);
    if (length == 0) {
        name = "world";
        length = strlen(name);
    }
    fh_header(request, "Content-Type", "text/html; charset=utf-8");
    fh_print(request, "<h1>Hello ");
    write_escaped(request, name, length);
    fh_print(request, "</h1>");
    return FH_OK;
}

const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler), .name = "hello",
                                        .handle = handle};
