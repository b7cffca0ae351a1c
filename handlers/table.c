/* SPDX-License-Identifier: MIT */
/*
 * table - a triangular HTML table of ?max= rows (0 to 999, 99 if absent): row r
 * has the cells "r 0" to "r r-1". No newlines; 67,840 bytes for 99 rows.
 */
#include "fcgi-handler.h"

#include <string.h>

enum { ROWS_DEFAULT = 99, ROWS_MAX = 999 };

/* The longest cell is "<td>998 997</td>", without a NUL. */
enum { CELL_SIZE = 16, ROW_SIZE = sizeof "<tr></tr>" + (ROWS_MAX - 1) * CELL_SIZE };

/* The whole number in <text>, or -1 if it is none or over <max>. */
static int
whole_number(const char *text, size_t length, int max)
{
    int value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
        if (value > max)
            return -1;
    }
    return length > 0 ? value : -1;
}

static char *
put(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

#define PUT(to, text) put(to, text, sizeof(text) - 1)

/* printf() would take most of the time of the page. */
static char *
put_number(char *to, int number)
{
    if (number >= 100)
        *to++ = (char)('0' + number / 100);
    if (number >= 10)
        *to++ = (char)('0' + number / 10 % 10);
    *to++ = (char)('0' + number % 10);
    return to;
}

static char *
put_row(char *to, int row)
{
    char head[CELL_SIZE];
    size_t head_length = (size_t)(PUT(put_number(PUT(head, "<td>"), row), " ") - head);
    to = PUT(to, "<tr>");
    for (int column = 0; column < row; column++) {
        to = put(to, head, head_length);
        to = put_number(to, column);
        to = PUT(to, "</td>");
    }
    return PUT(to, "</tr>");
}

static enum fh_result
handle(void *state, struct fh_request *request)
{
    (void)state;
    char line[ROW_SIZE];
    size_t length = 0;
    const char *text = fh_query(request, "max", &length);
    int rows = text == NULL ? ROWS_DEFAULT : whole_number(text, length, ROWS_MAX);

    if (rows == -1) {
        fh_status(request, 400);
        fh_header(request, "Content-Type", "text/plain");
        fh_print(request, "max must be a whole number from 0 to %d\n", ROWS_MAX);
        return FH_OK;
    }
    fh_header(request, "Content-Type", "text/html; charset=utf-8");
    fh_print(request, "<table>");
    for (int row = 0; row < rows; row++)
        if (fh_write(request, line, (size_t)(put_row(line, row) - line)) == -1)
            return FH_OK; /* nobody reads the rest */
    fh_print(request, "</table>");
    return FH_OK;
}

const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler), .name = "table",
                                        .handle = handle};
