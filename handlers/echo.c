/* SPDX-License-Identifier: MIT */
/*
 * echo - a static text. The route's argument is the text, sent as it is.
 */
#include "fcgi-handler.h"

#include <string.h>

static int
init(const char *argument, void **state, char *error, size_t error_size)
{
    (void)error;
    (void)error_size;
    *state = (void *)(argument != NULL ? argument : "hello world\n");
    return 0;
}

static enum fh_result
handle(void *state, struct fh_request *request)
{
    const char *text = state;
    fh_header(request, "Content-Type", "text/plain");
    fh_write(request, text, strlen(text));
    return FH_OK;
}

const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler), .name = "echo",
                                        .init = init, .handle = handle};
