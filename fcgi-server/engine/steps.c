/* SPDX-License-Identifier: MIT */
#include "engine/steps.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/process.h"
#include "config/client_list.h"
#include "config/config.h"
#include "engine/slow_watch.h"
#include "engine/time_limit.h"
#include "handler/router.h"
#include "handler/side_effects.h"
#include "request/dispatch.h"
#include "request/intake.h"
#include "request/request.h"
#include "status/access_log.h"
#include "status/board.h"
#include "status/slow_log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define TELL_FULL_NS INT64_C(5000000000) /* time between two log lines of one child */

struct intake_limits
steps_limits(const struct config *config)
{
    const char *spool_folder = getenv("TMPDIR");
    return (struct intake_limits){
        .spool_folder = strdup(spool_folder != NULL ? spool_folder : "/tmp"),
        .params_max = config->params_max,
        .body_max = config->body_max,
        .connections = config->connections_max,
        .requests = config->requests_max,
    };
}

uint64_t
steps_quota(const struct config *config)
{
    uint64_t jitter = 0;
    if (config->max_requests == 0)
        return UINT64_MAX;
    if (getrandom(&jitter, sizeof jitter, GRND_NONBLOCK) != sizeof jitter)
        jitter = (uint64_t)getpid();
    return config->max_requests + jitter % (config->max_requests / 10 + 1);
}

int
steps_accept(struct engine_context *context, short *hang_events)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int fd = descriptors_lift(accept4(context->listen_fd, (struct sockaddr *)&address, &length,
                                      SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd == -1) {
        /* A client that gave up while it waited does not stop accepting (see accept(2)). */
        if (errno == ECONNABORTED || errno == EINTR)
            errno = EAGAIN;
        return -1;
    }
    *hang_events = address.ss_family == AF_UNIX ? 0 : POLLRDHUP;
    if (address.ss_family != AF_UNIX) {
        if (!client_list_allows(context->config, (struct sockaddr *)&address)) {
            board_count(&context->slot->rejected);
            log_warn("refused a client: its address is not in allowed_clients");
            close(fd);
            errno = EAGAIN;
            return -1;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    board_count(&context->slot->accepted);
    return fd;
}

bool
steps_lost(int error)
{
    if (error != EBADF && error != ENOTSOCK && error != EINVAL && error != EOPNOTSUPP)
        return false;
    log_error("a handler has closed descriptors of the server: this child ends");
    return true;
}

void
steps_tell_full(int64_t now_ns)
{
    static int64_t next_ns;
    if (now_ns < next_ns)
        return;
    next_ns = now_ns + TELL_FULL_NS;
    log_error("accept: %s; raise rlimit_files or lower connections_max", strerror(errno));
}

int
steps_peer_gone(int fd, short hang_events)
{
    struct pollfd poll_fd = {.fd = fd, .events = hang_events};
    return poll(&poll_fd, 1, 0) == 1;
}

int
steps_take(struct request *request, struct intake *intake)
{
    request->id = intake->id;
    request->keep = intake->keep;
    request->body = (struct request_body){
        .memory = intake->buffer + intake->body,
        .spool_fd = intake->spool_fd,
        .length = intake->body_length,
    };
    int refused = request_set_params(request, intake->buffer + intake->params,
                                     intake->params_end - intake->params);
    return refused != 0 ? refused : request_check_length(request, intake->body_length);
}

void
steps_begin(struct engine_context *context, struct request *request, int64_t now_ns)
{
    size_t uri_length = 0;
    const char *uri = request_param(request, "REQUEST_URI", &uri_length);
    if (uri == NULL)
        uri = request_path(request, &uri_length);
    request->start_ns = now_ns;
    board_request_begin(context->slot, now_ns, request_param(request, "REQUEST_METHOD", NULL), uri,
                        uri_length, request->entry == NULL ? NULL : request->entry->file,
                        request->body.length);
}

enum fh_result
steps_call(struct slow_watch *watch, int64_t now_ns, bool watched, struct request *request,
           const short *revents)
{
    time_limit_run(request);
    slow_watch_enter(watch, now_ns, watched);
    bool own = request->entry == NULL || request->entry->builtin;
    if (own)
        side_effects_own_begin();
    enum fh_result result =
        revents == NULL ? dispatch_run(request) : dispatch_resume(request, *revents);
    if (own)
        side_effects_own_end();
    else
        side_effects_leave();
    process_end_copy();
    slow_watch_leave(watch);
    time_limit_run(NULL);
    return result;
}

static const char *
param_of(void *request, const char *name)
{
    return request_value(request, name, NULL);
}

static void
tell_slow(struct engine_context *context, struct request *request, int64_t elapsed_ns)
{
    const char *method = request_param(request, "REQUEST_METHOD", NULL);
    size_t length;
    const char *path = request_path(request, &length);
    char what[300];
    board_count(&context->slot->slow);
    snprintf(what, sizeof what, "%s %.*s", method == NULL ? "-" : method,
             length > 256 ? 256 : (int)length, path);
    slow_log_write(what, request->entry == NULL ? "-" : request->entry->file,
                   (uint64_t)elapsed_ns / 1000000, NULL);
}

void
steps_end(struct engine_context *context, struct request *request, int64_t now_ns)
{
    const struct config *config = context->config;
    int status = request->status == 0 ? 200 : request->status;
    int64_t elapsed_ns = now_ns - request->start_ns;
    board_request_end(context->slot, now_ns, request->start_ns, status);
    if (config->slow_ms > 0 && elapsed_ns >= (int64_t)config->slow_ms * 1000000)
        tell_slow(context, request, elapsed_ns);
    if (access_log_wanted()) {
        access_log_write(&(struct access_entry){
            .status = status,
            .body_bytes = request->written,
            .duration_ns = elapsed_ns,
            .handler = request->entry == NULL ? NULL : request->entry->file,
            .param = param_of,
            .request = request,
        });
    }
}
