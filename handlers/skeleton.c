/* SPDX-License-Identifier: MIT */
/*
 * skeleton - the template to copy: every function of the contract in its place,
 * doing next to nothing. It counts the requests of its child, waits for ?ms=
 * without keeping the child busy, and answers with the count. fcgi-handler(3)
 * tells the rules; leave out what you do not need.
 */
#include "fcgi-handler.h"

#include <stdio.h>
#include <stdlib.h>

/* Made by init(), one for each route in each child. */
struct skeleton {
    const char *title;
    unsigned long served;
};

static int
init(const char *argument, void **state, char *error, size_t error_size)
{
    struct skeleton *skeleton = calloc(1, sizeof *skeleton);
    if (skeleton == NULL) {
        snprintf(error, error_size, "out of memory");
        return -1; /* the server does not start, and says why */
    }
    skeleton->title = argument != NULL ? argument : "skeleton";
    *state = skeleton;
    return 0;
}

static enum fh_result
answer(struct skeleton *skeleton, struct fh_request *request)
{
    fh_header(request, "Content-Type", "text/plain");
    fh_print(request, "%s %lu\n", skeleton->title, ++skeleton->served);
    return FH_OK;
}

static enum fh_result
handle(void *state, struct fh_request *request)
{
    const char *ms = fh_query(request, "ms", NULL);
    if (ms == NULL)
        return answer(state, request);
    unsigned long timeout_ms = strtoul(ms, NULL, 10);
    return fh_wait(request, -1, 0, timeout_ms < 60000 ? (uint32_t)timeout_ms : 60000);
}

static enum fh_result
resume(void *state, struct fh_request *request, short revents)
{
    (void)revents;
    return answer(state, request);
}

static void
cancel(void *state, struct fh_request *request)
{
    (void)state;
    (void)request; /* close here what handle() opened and left in fh_slot(request) */
}

static void
fini(void *state)
{
    free(state);
}

const struct fh_handler fcgi_handler = {
    FH_ABI,           sizeof(struct fh_handler), .name = "skeleton", .init = init,
    .handle = handle, .resume = resume,          .cancel = cancel,   .fini = fini};
