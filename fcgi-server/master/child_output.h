/* SPDX-License-Identifier: MIT */
/*
 * child_output.h - what a child prints, cut into lines for the log. Never blocks. A
 * line over CHILD_OUTPUT_LINE_MAX is logged in pieces; a last line without a line end is
 * logged when the child has ended.
 */
#ifndef CHILD_OUTPUT_H
#define CHILD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHILD_OUTPUT_LINE_MAX = 65536 };

struct child_output {
    int fd;       /* non-blocking read end; -1: closed */
    char *buffer; /* an incomplete line; NULL without one */
    size_t used;
};

/* Logs the whole lines that can be read now, in the name of <pid>. Returns 1 if
 * there may be more, 0 if not, -1 at the end of file. */
int child_output_read(struct child_output *output, pid_t pid, bool decorate);

/* Reads what is left, logs it and closes. */
void child_output_close(struct child_output *output, pid_t pid, bool decorate);

#endif
