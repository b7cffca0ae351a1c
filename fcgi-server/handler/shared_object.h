/* SPDX-License-Identifier: MIT */
/*
 * shared_object.h - handlers from shared objects. The only place that calls dlopen().
 * An object is never closed again: its code may be on a stack or in a table.
 */
#ifndef SHARED_OBJECT_H
#define SHARED_OBJECT_H

#include <stddef.h>

struct fh_handler;

/* Loads the shared object <file> and checks what it exports as fcgi_handler.
 * Returns it, or NULL with the reason, which names the file, in <error>. The
 * object's constructors run in here. Does not call init(). */
const struct fh_handler *shared_object_load(const char *file, char *error, size_t error_size);

#endif
