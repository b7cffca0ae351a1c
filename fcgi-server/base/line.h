/* SPDX-License-Identifier: MIT */
/* line.h - builds a log line piece by piece; what does not fit is cut off. */
#ifndef LINE_H
#define LINE_H

#include <stddef.h>

#define LINE_SIZE      8192
#define LINE_VALUE_MAX 2048 /* most bytes of one escaped text */

struct line {
    char text[LINE_SIZE];
    size_t used; /* 0 at first */
};

void line_add(struct line *line, const char *text, size_t length);

/* Quotes, backslashes and everything but printable ASCII become \xHH; NULL and "" become
 * "-". */
void line_add_escaped(struct line *line, const char *text);

void line_add_number(struct line *line, long long value);

/* Adds the line end, for which there is always room. */
void line_end(struct line *line);

#endif
