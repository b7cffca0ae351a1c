/* SPDX-License-Identifier: MIT */
/*
 * libfcgi_loop.c - one connection at a time, through libfcgi: how FastCGI
 * programs have been written since 1996, kept to compare the other engine with.
 * The library parses the request (behind libfcgi_input.h) and writes the answer. As in
 * its own accept loop, an idle kept connection holds the child; unlike there, it
 * is given up for one that waits to be accepted. Run more children than the
 * front end keeps connections, or do not let it keep any.
 */
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "engine/answer.h"
#include "engine/engine.h"
#include "engine/libfcgi/libfcgi_connection.h"
#include "engine/libfcgi/libfcgi_input.h"
#include "engine/queue_deadline.h"
#include "engine/slow_watch.h"
#include "engine/steps.h"
#include "engine/time_limit.h"
#include "handler/router.h"
#include "handler/side_effects.h"
#include "request/dispatch.h"
#include "request/intake.h"
#include "request/request.h"
#include "request/response.h"
#include "status/board.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct loop {
    struct engine_context *context;
    struct intake_limits limits;
    int accept_fd; /* epoll: the listening socket, exclusively, and the orders */
    struct libfcgi_connection connection;
    uint64_t left; /* requests left until the child ends */
    struct request request;
    FCGX_Request library;
    struct answer answer;
    struct slow_watch watch; /* checks the time while a handler runs */
};

static struct loop loop_here = {.connection.fd = -1};

/* Sends what does not go through the library: refusals, replies to management records. */
static void
send_refusal(struct loop *loop, int status)
{
    loop->request.id = loop->connection.intake.id;
    response_refuse(&loop->request, status);
    answer_build(&loop->answer, &loop->request, true);
    while (answer_send(&loop->answer, loop->connection.fd) == 1 &&
           libfcgi_connection_wait_writable(&loop->connection)) {
    }
}

static int
send_reply(struct loop *loop)
{
    ssize_t sent = send(loop->connection.fd, loop->connection.intake.reply,
                        loop->connection.intake.reply_length, MSG_NOSIGNAL);
    return sent == loop->connection.intake.reply_length && !loop->connection.intake.closing;
}

/* --- what a request needs of its engine ----------------------------------------------- */

/* <last>: nothing follows. Returns the length of the head to send; 0 if it was sent before. */
static size_t
take_head(struct request *request, bool last)
{
    struct loop *loop = request->owner;
    return request->head_sent ? 0 : response_head(request, loop->answer.head, last);
}

static int
put_library(struct request *request, size_t head_length)
{
    struct loop *loop = request->owner;
    if (head_length > 0)
        FCGX_PutStr(loop->answer.head, (int)head_length, loop->library.out);
    if (request->out_length > 0 && response_sends_body(request)) {
        FCGX_PutStr(request->out, (int)request->out_length, loop->library.out);
        request->out_length = 0;
    }
    return FCGX_GetError(loop->library.out) == 0 ? 0 : -1;
}

/* The lock covers the building of the head: from then on the watch must not write a 504
 * into the answer. */
static int
io_flush(struct request *request)
{
    struct loop *loop = request->owner;
    pthread_mutex_lock(&loop->watch.lock);
    size_t head_length = take_head(request, false);
    pthread_mutex_unlock(&loop->watch.lock);
    return put_library(request, head_length) == -1 || FCGX_FFlush(loop->library.out) == -1 ? -1 : 0;
}

static ptrdiff_t
io_read(struct request *request, void *buffer, size_t size)
{
    struct loop *loop = request->owner;
    int length = FCGX_GetStr(buffer, size > 1 << 20 ? 1 << 20 : (int)size, loop->library.in);
    return length == 0 && FCGX_GetError(loop->library.in) != 0 ? -1 : length;
}

static int
io_gone(struct request *request)
{
    struct loop *loop = request->owner;
    return request->timed_out || steps_peer_gone(loop->connection.fd, loop->connection.hang_events);
}

static const struct request_io io = {.flush = io_flush, .read = io_read, .gone = io_gone};

/* --- one request ---------------------------------------------------------------------- */

/* The parameters as the library has them: "NAME=VALUE". Returns 0 or a status. */
static int
take_params(struct request *request, char **environment)
{
    size_t count = 0;
    while (environment[count] != NULL)
        count++;
    if (request_reserve_params(request, count) == -1)
        return 500;
    for (size_t i = 0; i < count; i++) {
        const char *name = environment[i];
        /* A NUL in the name ends the library's string before the '='. */
        size_t name_length = strcspn(name, "=");
        const char *value = name + name_length + (name[name_length] == '=');
        request_add_param(request, (struct request_param){name, value, (uint32_t)name_length,
                                                          (uint32_t)strlen(value)});
    }
    return 0;
}

/* Lets the library parse the request. Returns 0 or a status to refuse it with. */
static int
take_request(struct loop *loop)
{
    struct request *request = &loop->request;
    const struct intake *intake = &loop->connection.intake;
    const char *cursor = intake->buffer + intake->params;
    const char *end = intake->buffer + intake->params_end;
    struct record_pair pair;
    int found;
    while ((found = record_next_pair(&cursor, end, &pair)) == 1) {
    }
    if (found == -1)
        return 400; /* the library would drop the connection */
    libfcgi_input_offer(intake);
    loop->library.ipcFd = loop->connection.fd;
    loop->library.keepConnection = 1; /* else FCGX_Accept_r() closes ipcFd before it begins */
    if (FCGX_Accept_r(&loop->library) != 0) {
        loop->library.ipcFd = -1;
        return 500;
    }
    request->id = intake->id;
    request->keep = intake->keep;
    request->body.length = intake->body_length;
    int refused = take_params(request, loop->library.envp);
    if (refused == 0)
        refused = request_check_length(request, intake->body_length);
    return refused != 0 ? refused : queue_deadline_check(loop->context->config, request);
}

static enum fh_result
call(struct loop *loop, const short *revents)
{
    const struct config *config = loop->context->config;
    struct request *request = &loop->request;
    bool limited = config->request_timeout_ms > 0 || config->slow_ms > 0;
    enum fh_result result = steps_call(&loop->watch, clock_ns(), limited, request, revents);
    if (request->timed_out) {
        board_count(&loop->context->slot->timed_out);
        loop->left = 0; /* a handler stopped at an arbitrary point may leave anything behind */
    }
    return result;
}

/* In this engine a waiting handler holds the child, as every connection does. */
static enum fh_result
wait_and_resume(struct loop *loop)
{
    struct request *request = &loop->request;
    int64_t limit_ms = (int64_t)loop->context->config->request_timeout_ms;
    int64_t limit_ns = limit_ms == 0 ? INT64_MAX : request->start_ns + limit_ms * 1000000;
    int64_t wait_ns = clock_ns() + (int64_t)request->wait.timeout_ms * 1000000;
    int64_t end_ns = wait_ns < limit_ns ? wait_ns : limit_ns;
    for (;;) {
        struct pollfd fds[] = {{.fd = request->wait.fd, .events = request->wait.events},
                               {.fd = loop->connection.fd, .events = loop->connection.hang_events}};
        int64_t left_ns = end_ns - clock_ns();
        int ready = poll(fds, 2, left_ns <= 0 ? 0 : (int)((left_ns + 999999) / 1000000));
        if (ready > 0 && fds[0].revents != 0)
            return call(loop, &fds[0].revents);
        if (ready == 0 && left_ns <= 0 && end_ns < limit_ns)
            return call(loop, &fds[0].revents); /* 0: the time has passed */
        if (ready == 0 && left_ns <= 0) {
            board_count(&loop->context->slot->timed_out);
            dispatch_cancel(request, 504);
            return FH_OK;
        }
        if (ready > 0 && steps_peer_gone(loop->connection.fd, loop->connection.hang_events)) {
            board_count(&loop->context->slot->aborted);
            dispatch_cancel(request, 0);
            return FH_OK;
        }
    }
}

static void
run_request(struct loop *loop)
{
    struct engine_context *context = loop->context;
    struct request *request = &loop->request;
    loop->left--;
    dispatch_route(request, context->router);
    steps_begin(context, request, clock_ns());
    enum fh_result result = call(loop, NULL);
    while (result == FH_WAIT)
        result = wait_and_resume(loop);
    bool whole = !request->broken && put_library(request, take_head(request, true)) == 0;
    steps_end(context, request, clock_ns()); /* while the parameters are still valid */
    if (whole) {
        loop->library.keepConnection = 1; /* we close it ourselves: the library would wait 2 s */
        FCGX_Finish_r(&loop->library);
        request->broken = loop->library.ipcFd == -1; /* closed by the library after an error */
        loop->connection.fd = request->broken ? -1 : loop->connection.fd;
    } else {
        FCGX_Free(&loop->library, 0);
    }
    loop->library.ipcFd = -1;
}

/* Runs or refuses the whole request. Returns whether the connection stays. */
static int
serve_request(struct loop *loop)
{
    struct request *request = &loop->request;
    int refused = take_request(loop);
    if (refused != 0) {
        FCGX_Free(&loop->library, 0);
        loop->library.ipcFd = -1;
        request->keep = loop->connection.intake.keep;
        send_refusal(loop, refused);
    } else if (steps_peer_gone(loop->connection.fd, loop->connection.hang_events)) {
        board_count(&loop->context->slot->aborted);
        board_count(&loop->context->slot->skipped);
        FCGX_Free(&loop->library, 0);
        request->broken = true;
    } else {
        run_request(loop);
    }
    int stays = request->keep && !request->broken;
    libfcgi_input_offer(NULL);
    request_reset(request);
    if (loop->connection.fd != -1)
        intake_reset(&loop->connection.intake);
    return stays;
}

/* Serves the connection until it ends or the child must end. */
static void
serve_connection(struct loop *loop)
{
    intake_init(&loop->connection.intake, &loop->limits);
    loop->connection.served = false;
    while (loop->connection.fd != -1) {
        enum intake_result result = intake_next(&loop->connection.intake);
        int stays = 1;
        switch (result) {
        case INTAKE_MORE:
            stays = libfcgi_connection_read(&loop->connection);
            break;
        case INTAKE_REQUEST:
            stays = serve_request(loop) && loop->left > 0;
            loop->connection.served = true;
            break;
        case INTAKE_ABORTED:
            board_count(&loop->context->slot->aborted);
            board_count(&loop->context->slot->skipped);
            stays = send_reply(loop);
            break;
        case INTAKE_REPLY:
            stays = send_reply(loop);
            break;
        case INTAKE_REFUSED:
            send_refusal(loop, loop->connection.intake.refused);
            request_reset(&loop->request);
            libfcgi_connection_drop_slowly(&loop->connection);
            break;
        case INTAKE_BROKEN:
            board_count(&loop->context->slot->dropped);
            stays = 0;
            break;
        }
        if (!stays && loop->connection.fd != -1)
            libfcgi_connection_drop(&loop->connection);
    }
}

/* --- the loop ------------------------------------------------------------------------- */

/* FCGX_Init() changes PIPE, USR1 and TERM; this restores what the child had. */
static int
init_library(void)
{
    static const int taken[] = {SIGPIPE, SIGUSR1, SIGTERM};
    struct sigaction saved[3];
    for (int i = 0; i < 3; i++)
        sigaction(taken[i], NULL, &saved[i]);
    int result = FCGX_Init();
    for (int i = 0; i < 3; i++)
        sigaction(taken[i], &saved[i], NULL);
    return result;
}

/* Called by the slow watch: the running handler is slow. */
static int64_t
on_slow(void *owner, int64_t now_ns)
{
    struct loop *loop = owner;
    if (time_limit_running() == NULL)
        return INT64_MAX;
    int64_t next_ns = time_limit_keep(loop->context->config, &loop->watch, now_ns);
    if (next_ns == TIME_LIMIT_OVER) {
        time_limit_give_up(loop->context->slot, &loop->request, loop->connection.fd);
        _exit(CHILD_EXIT_TIMEOUT);
    }
    return next_ns;
}

static int
prepare(struct engine_context *context)
{
    struct loop *loop = &loop_here;
    struct epoll_event listener = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    struct epoll_event orders = {.events = EPOLLIN};
    loop->context = context;
    loop->connection.context = context;
    loop->limits = steps_limits(context->config);
    loop->left = steps_quota(context->config);
    if (libfcgi_input_check() == -1) {
        log_error("libfcgi does not read through OS_Read() of this program; link with the shared "
                  "library, or use "
                  "-e event");
        return -1;
    }
    loop->accept_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->accept_fd == -1 ||
        epoll_ctl(loop->accept_fd, EPOLL_CTL_ADD, loop->context->listen_fd, &listener) == -1 ||
        epoll_ctl(loop->accept_fd, EPOLL_CTL_ADD, loop->context->order_fd, &orders) == -1) {
        log_error("epoll: %s", strerror(errno));
        return -1;
    }
    if (init_library() != 0 || FCGX_InitRequest(&loop->library, -1, 0) != 0) {
        log_error("cannot initialise libfcgi");
        return -1;
    }
    loop->library.ipcFd = -1;
    request_init(&loop->request, &io, loop);
    time_limit_prepare();
    slow_watch_init(&loop->watch, on_slow, loop);
    return 0;
}

/* The library blocks when it reads and writes; a peer that takes nothing is dropped. */
static void
make_blocking(struct loop *loop)
{
    uint64_t timeout_ms = loop->context->config->read_timeout_ms;
    struct timeval timeout = {.tv_sec = (time_t)(timeout_ms / 1000),
                              .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
    fcntl(loop->connection.fd, F_SETFL, 0);
    setsockopt(loop->connection.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

static int
serve(void)
{
    struct loop *loop = &loop_here;
    while (loop->left > 0 && loop->context->order() == CHILD_SERVE) {
        struct epoll_event event;
        board_state(loop->context->slot, BOARD_IDLE);
        int count = epoll_wait(loop->accept_fd, &event, 1, side_effects_undo(clock_ns(), -1));
        if (count == -1 && errno != EINTR) { /* a handler has closed a descriptor of the server */
            log_error("epoll: %s; this child ends", strerror(errno));
            return 1;
        }
        if (count <= 0)
            continue;
        loop->connection.fd = steps_accept(loop->context, &loop->connection.hang_events);
        if (loop->connection.fd != -1) {
            make_blocking(loop);
            serve_connection(loop);
        } else if (errno != EAGAIN && steps_lost(errno)) {
            return 1;
        } else if (errno != EAGAIN) {
            steps_tell_full(clock_ns());
            poll(NULL, 0, 100); /* out of descriptors or memory: wait before the next attempt */
        }
    }
    return 0;
}

const struct engine engine_libfcgi = {.prepare = prepare, .serve = serve};
