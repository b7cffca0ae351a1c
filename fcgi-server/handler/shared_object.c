/* SPDX-License-Identifier: MIT */
#include "handler/shared_object.h"
#include "fcgi-handler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Older handlers may end before members that were appended later; everything up
 * to fini has been there from the start. */
#define SIZE_MIN (offsetof(struct fh_handler, fini) + sizeof(void *))

static const char *
flaw(const struct fh_handler *handler, char *text, size_t size)
{
    if (handler->abi != FH_ABI) {
        snprintf(text, size, "made for handler ABI %u, this server has %u; compile it again",
                 handler->abi, FH_ABI);
        return text;
    }
    if (handler->size < SIZE_MIN) {
        snprintf(text, size, "its fcgi_handler has %u bytes, at least %zu are needed",
                 handler->size, SIZE_MIN);
        return text;
    }
    if (handler->name == NULL || handler->handle == NULL)
        return "its fcgi_handler has no name or no handle function";
    return NULL;
}

const struct fh_handler *
shared_object_load(const char *file, char *error, size_t error_size)
{
    char text[128];
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *reason = dlerror();
        /* The loader names the file in most of its messages, not in all. */
        if (strstr(reason, file) != NULL)
            snprintf(error, error_size, "%s", reason);
        else
            snprintf(error, error_size, "%s: %s", file, reason);
        return NULL;
    }
    const struct fh_handler *handler = dlsym(object, "fcgi_handler");
    if (handler == NULL) {
        snprintf(error, error_size, "%s: exports no fcgi_handler (see fcgi-handler(3))", file);
        return NULL;
    }
    const char *reason = flaw(handler, text, sizeof text);
    if (reason != NULL) {
        snprintf(error, error_size, "%s: %s", file, reason);
        return NULL;
    }
    return handler;
}
