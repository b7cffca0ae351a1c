/* SPDX-License-Identifier: MIT */
/* chunk.c - see chunk.h */
#include "protocol/chunk.h"

enum state {
    SIZE = 0,  /* hexadecimal digits */
    EXTENSION, /* up to the end of the line */
    DATA,
    DATA_CR, /* the line end behind the data */
    DATA_LF,
    TRAILER,      /* at the beginning of a line behind the last chunk */
    TRAILER_LINE, /* inside one */
    TRAILER_LF,   /* after the CR of the empty line */
};

void
chunk_start(struct chunk *c, uint32_t line_limit)
{
    *c = (struct chunk){.line_room = line_limit};
}

static int
digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The line with the size ends. */
static void
end_size_line(struct chunk *c)
{
    c->state = c->left > 0 ? DATA : TRAILER;
    c->digits = 0;
}

static enum answer_state
size_byte(struct chunk *c, struct answer *a, char byte)
{
    int value = digit(byte);
    if (value >= 0) {
        if (++c->digits > 16 || c->left >> 60)
            return answer_fail(a, FAULT_MALFORMED, "a chunk size beyond 64 bits");
        c->left = c->left << 4 | (unsigned)value;
        return ANSWER_MORE;
    }
    if (c->digits == 0)
        return answer_fail(a, FAULT_MALFORMED, "a chunk without a size");
    if (byte == '\n')
        end_size_line(c);
    else if (byte == ';' || byte == '\r' || byte == ' ' || byte == '\t')
        c->state = EXTENSION;
    else
        return answer_fail(a, FAULT_MALFORMED, "a character that is no chunk size");
    return ANSWER_MORE;
}

/* One byte of what is not data. */
static enum answer_state
line_byte(struct chunk *c, struct answer *a, char byte)
{
    bool end = byte == '\n';
    switch ((enum state)c->state) {
    case SIZE:
        return size_byte(c, a, byte);
    case EXTENSION:
        if (end)
            end_size_line(c);
        break;
    case DATA_CR:
        if (byte != '\r' && !end)
            return answer_fail(a, FAULT_MALFORMED, "a chunk longer than its size");
        c->state = end ? SIZE : DATA_LF;
        return ANSWER_MORE;
    case DATA_LF:
        if (!end)
            return answer_fail(a, FAULT_MALFORMED, "a chunk longer than its size");
        c->state = SIZE;
        return ANSWER_MORE;
    case TRAILER:
        if (end)
            return ANSWER_DONE;
        c->state = byte == '\r' ? TRAILER_LF : TRAILER_LINE;
        break;
    case TRAILER_LINE:
        if (end)
            c->state = TRAILER;
        break;
    case TRAILER_LF:
        if (end)
            return ANSWER_DONE;
        return answer_fail(a, FAULT_MALFORMED, "a carriage return inside the trailers");
    case DATA:
        break;
    }
    if (c->line_room-- == 0)
        return answer_fail(a, FAULT_BIG_HEADER, "extensions and trailers pass the header limit");
    return ANSWER_MORE;
}

enum answer_state
chunk_feed(struct chunk *c, struct answer *answer, const char *data, size_t n, size_t *used)
{
    enum answer_state state = ANSWER_MORE;
    size_t i = 0;
    while (i < n && state == ANSWER_MORE) {
        if (c->state != DATA) {
            state = line_byte(c, answer, data[i++]);
            continue;
        }
        size_t part = c->left < n - i ? (size_t)c->left : n - i;
        answer_body(answer, data + i, part);
        i += part;
        c->left -= part;
        if (c->left == 0)
            c->state = DATA_CR;
    }
    *used = i;
    return state;
}
