/* SPDX-License-Identifier: MIT */
/*
 * hello - greets ?name=, or the world if it is absent or empty. The name is escaped for
 * HTML; the page is UTF-8 whatever bytes come.
 */
#include "fcgi-handler.h"

#include <stdbool.h>
#include <string.h>

static const char *const escapes[256] = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

/* Bytes of the UTF-8 character at <text> (RFC 3629), of which <left> are there; 0 if it is
 * not one. */
static size_t
utf8_length(const unsigned char *text, size_t left)
{
    unsigned char first = text[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool surrogate = first == 0xed && text[1] > 0x9f;
    return overlong || surrogate || (first == 0xf4 && text[1] > 0x8f) ? 0 : length;
}

/* Writes runs of harmless bytes in one piece; for each that is not UTF-8, U+FFFD. */
static void
write_escaped(struct fh_request *request, const char *text, size_t length)
{
    size_t start = 0;
    for (size_t i = 0; i < length;) {
        size_t bytes = utf8_length((const unsigned char *)text + i, length - i);
        const char *escape = bytes == 0 ? "\xef\xbf\xbd" : escapes[(unsigned char)text[i]];
        bytes += bytes == 0;
        if (escape != NULL) {
            fh_write(request, text + start, i - start);
            fh_write(request, escape, strlen(escape));
            start = i + bytes;
        }
        i += bytes;
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
