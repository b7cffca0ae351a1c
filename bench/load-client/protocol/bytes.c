/* SPDX-License-Identifier: MIT */
/* bytes.c - see bytes.h */
#include "protocol/bytes.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that never ends (/dev/zero) shall not fill the memory. */
#define FILE_MAX ((size_t)256 << 20)

void *
bytes_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (memory == NULL)
        errx(1, "out of memory: %zu bytes for %zu items", count * size, count);
    return memory;
}

char *
bytes_duplicate(const char *text, size_t n)
{
    char *copy = bytes_allocate(n + 1, 1);
    memcpy(copy, text, n);
    return copy;
}

static void
reserve(struct bytes *b, size_t more)
{
    if (b->length + more < b->capacity)
        return;
    b->capacity = (b->length + more + 1) * 2;
    b->data = realloc(b->data, b->capacity);
    if (b->data == NULL)
        errx(1, "out of memory: %zu bytes for a buffer", b->capacity);
}

void
bytes_add(struct bytes *b, const void *data, size_t n)
{
    reserve(b, n);
    if (n > 0)
        memcpy(b->data + b->length, data, n);
    b->length += n;
    b->data[b->length] = '\0';
}

void
bytes_print(struct bytes *b, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = NULL;
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n == -1)
        errx(1, "out of memory while printing");
    bytes_add(b, text, (size_t)n);
    free(text);
}

int
bytes_read_file(struct bytes *b, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return -1;
    for (;;) {
        reserve(b, 65536);
        ssize_t n = read(fd, b->data + b->length, b->capacity - b->length - 1);
        if (n > 0 && b->length + (size_t)n > FILE_MAX) {
            n = -1;
            errno = EFBIG;
        }
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0) {
            int saved = errno;
            close(fd);
            errno = saved;
            b->data[b->length] = '\0';
            return n == 0 ? 0 : -1;
        }
        b->length += (size_t)n;
    }
}

void
bytes_free(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}
