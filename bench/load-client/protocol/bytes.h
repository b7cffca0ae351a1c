/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - a growing run of bytes, for what is built before the run starts
 * (requests) or after it ended (reports). Never used while load is running.
 */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>

/* All zero is an empty run. <data> is always followed by a 0 byte once
 * anything was added. */
struct bytes {
    char *data;
    size_t length;
    size_t capacity;
};

/* Appends <n> bytes of <data>. Ends the program when memory is out. */
void bytes_add(struct bytes *b, const void *data, size_t n);

/* Appends formatted text. */
void bytes_print(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends the whole file at <path>, at most 256 MiB. 0, or -1 with errno (EFBIG: larger). */
int bytes_read_file(struct bytes *b, const char *path);

/* Frees the data and leaves an empty run. */
void bytes_free(struct bytes *b);

/* malloc and strdup that end the program with a message instead of failing. */
void *bytes_allocate(size_t count, size_t size); /* zeroed */
char *bytes_duplicate(const char *text, size_t n);

#endif
