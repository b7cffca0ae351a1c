/* SPDX-License-Identifier: MIT */
#include "master/child_output.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Stores <length> bytes of a line whose end has not arrived yet. */
static void
keep(struct child_output *output, const char *text, size_t length, pid_t pid, bool decorate)
{
    if (length == 0)
        return;
    if (output->buffer == NULL)
        output->buffer = malloc(CHILD_OUTPUT_LINE_MAX);
    if (output->buffer == NULL || output->used + length > CHILD_OUTPUT_LINE_MAX) {
        if (output->used > 0)
            log_printed(pid, output->buffer, output->used, decorate);
        output->used = 0;
        if (output->buffer == NULL) {
            log_printed(pid, text, length, decorate);
            return;
        }
    }
    memcpy(output->buffer + output->used, text, length);
    output->used += length;
}

static void
finish_line(struct child_output *output, pid_t pid, bool decorate)
{
    log_printed(pid, output->buffer != NULL ? output->buffer : "", output->used, decorate);
    output->used = 0;
    free(output->buffer);
    output->buffer = NULL;
}

static void
cut(struct child_output *output, const char *text, size_t length, pid_t pid, bool decorate)
{
    const char *end;
    while (length > 0 && (end = memchr(text, '\n', length)) != NULL) {
        size_t part = (size_t)(end - text);
        if (output->used == 0) {
            log_printed(pid, text, part, decorate);
        } else {
            keep(output, text, part, pid, decorate);
            finish_line(output, pid, decorate);
        }
        text += part + 1;
        length -= part + 1;
    }
    keep(output, text, length, pid, decorate);
}

int
child_output_read(struct child_output *output, pid_t pid, bool decorate)
{
    char text[16384];
    ssize_t length;
    do
        length = read(output->fd, text, sizeof text);
    while (length == -1 && errno == EINTR);
    if (length == -1)
        return errno == EAGAIN ? 0 : -1;
    if (length == 0)
        return -1;
    cut(output, text, (size_t)length, pid, decorate);
    return 1;
}

void
child_output_close(struct child_output *output, pid_t pid, bool decorate)
{
    if (output->fd == -1)
        return;
    /* A grandchild may hold the other end and keep printing: read no more than a pipe
     * holds. */
    for (int reads = 0; reads < 8 && child_output_read(output, pid, decorate) == 1; reads++)
        continue;
    if (output->used > 0)
        finish_line(output, pid, decorate);
    close(output->fd);
    output->fd = -1;
}
