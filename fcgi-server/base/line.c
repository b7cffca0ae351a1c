/* SPDX-License-Identifier: MIT */
#include "base/line.h"

#include <stdio.h>
#include <string.h>

void
line_add(struct line *line, const char *text, size_t length)
{
    size_t room = LINE_SIZE - 1 - line->used;
    if (length > room)
        length = room;
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

void
line_add_escaped(struct line *line, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = text != NULL ? strnlen(text, LINE_VALUE_MAX) : 0;
    if (length == 0)
        line_add(line, "-", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
            line_add(line, text + i, 1);
        } else {
            char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            line_add(line, escaped, sizeof escaped);
        }
    }
}

void
line_add_number(struct line *line, long long value)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%lld", value);
    line_add(line, text, (size_t)length);
}

void
line_end(struct line *line)
{
    line->text[line->used++] = '\n';
}
