/* SPDX-License-Identifier: MIT */
/* connection.c - see connection.h */
#include "load/connection.h"
#include "load/backoff.h"
#include "load/outcome.h"
#include "load/resend.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LEAST_PATIENCE_NS (100 * NS_PER_US) /* less counts as none */

/* Requests above this size may be cut into segments, and Nagle's algorithm
 * would hold the last one back until the server acknowledges. */
#define NODELAY_BYTES 1000

#define BROKEN (EPOLLERR | EPOLLHUP) /* epoll: the connection is of no more use */

static void open_socket(struct worker *w, struct connection *c);
static void send_request(struct worker *w, struct connection *c);
static bool receive(struct worker *w, struct connection *c, bool hangup);

void
connection_close(struct worker *w, struct connection *c, bool abort)
{
    if (c->fd == -1)
        return;
    if (abort) {
        const struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    }
    close(c->fd);
    c->fd = -1;
    c->generation++;
    if (c->state != STATE_CONNECTING)
        counter_set(&w->tally->open, --w->open);
}

/* The request has failed; the connection is of no more use. */
static void
fail(struct worker *w, struct connection *c, enum failure kind, const char *why)
{
    outcome_failed(w, c, kind, why);
    connection_close(w, c, true);
    if (kind == FAIL_CONNECT)
        backoff_failed(w, c);
    else
        slots_move(w, c, STATE_NEXT, w->now_ns);
}

static const struct {
    enum event event;
    enum failure failure;
} faults[] = {
    [FAULT_MALFORMED] = {EVENTS, FAIL_PROTOCOL},
    [FAULT_SURPLUS] = {EVENT_SURPLUS, FAIL_PROTOCOL},
    [FAULT_BIG_HEADER] = {EVENT_BIG_HEADER, FAIL_PROTOCOL},
    [FAULT_CUT] = {EVENT_CUT, FAIL_RECEIVE},
    [FAULT_EMPTY] = {EVENT_CLOSED_EARLY, FAIL_RECEIVE},
    [FAULT_OVERLOADED] = {EVENT_OVERLOADED, FAIL_PROTOCOL},
    [FAULT_REFUSED] = {EVENTS, FAIL_PROTOCOL},
};

static void
fail_fault(struct worker *w, struct connection *c)
{
    enum event event = faults[c->answer.fault].event;
    if (event != EVENTS && c->measured)
        tally_event(w->tally, event);
    fail(w, c, faults[c->answer.fault].failure, c->answer.reason);
}

/* The server may end a kept connection between two requests whenever it likes,
 * so a request that went out on one is sent once more, on a new connection. */
static void
redo(struct worker *w, struct connection *c)
{
    tally_event(w->tally, EVENT_REDONE);
    tally_event(w->tally, EVENT_SERVER_CLOSED);
    connection_close(w, c, false);
    c->redone = true;
    open_socket(w, c);
}

/* The connection broke before the answer was complete. */
static void
broken(struct worker *w, struct connection *c, enum failure kind, int error)
{
    if (resend_is_safe(w, c, true)) {
        redo(w, c);
        return;
    }
    if (error == ECONNRESET || error == EPIPE)
        tally_event(w->tally, EVENT_RESET);
    fail(w, c, kind, strerror(error));
}

/* --- connecting ---------------------------------------------------------- */

static const struct {
    int error;
    enum event event;
    const char *why;
} connect_errors[] = {
    {ECONNREFUSED, EVENT_REFUSED, "connection refused: nothing listens there"},
    {ENOENT, EVENT_REFUSED, "no such socket"},
    {EAGAIN, EVENT_QUEUE_FULL, "the listen queue is full"},
    {ETIMEDOUT, EVENT_CONNECT_TIMEOUT, "no answer to the connect in time"},
    {EADDRNOTAVAIL, EVENT_NO_PORTS, "no free local port"},
    {EMFILE, EVENT_NO_DESCRIPTORS, "no free descriptor"},
    {ENFILE, EVENT_NO_DESCRIPTORS, "no free descriptor on this machine"},
};

static void
connect_failed(struct worker *w, struct connection *c, int error)
{
    connection_close(w, c, false);
    if (++c->addresses_tried < w->run->target->addresses && error != EMFILE) {
        tally_event(w->tally, EVENT_NEXT_ADDRESS);
        c->address = (uint8_t)((c->address + 1) % w->run->target->addresses);
        c->generation++;
        open_socket(w, c);
        return;
    }
    const char *why = strerror(error);
    for (size_t i = 0; i < sizeof(connect_errors) / sizeof(connect_errors[0]); i++) {
        if (connect_errors[i].error != error)
            continue;
        why = connect_errors[i].why;
        tally_event(w->tally, connect_errors[i].event);
    }
    c->answer = (struct answer){0};
    fail(w, c, FAIL_CONNECT, why);
}

static void
connected(struct worker *w, struct connection *c)
{
    histogram_record(&w->tally->span[SPAN_CONNECT], w->now_ns - c->connect_ns);
    tally_event(w->tally, EVENT_OPENED);
    counter_set(&w->tally->open, ++w->open);
    c->served = 0;
    c->seen_byte = false;
    if (c->request->bytes.length > NODELAY_BYTES && c->fd != -1 && !*w->run->target->url.socket)
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (w->open > w->peak_open)
        w->peak_open = w->open;
    backoff_succeeded(w, c);
    send_request(w, c);
}

static int
watch(struct worker *w, struct connection *c, int operation)
{
    /* Edge-triggered and armed once: no call to epoll_ctl() per request. A
     * unix socket would report each byte that the server read as writable, so
     * there EPOLLOUT is asked for only while the socket's buffer is full. */
    bool is_unix = *w->run->target->url.socket != '\0';
    uint32_t out = !is_unix || c->want_write ? EPOLLOUT : 0;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | out};
    event.data.u64 = (uint64_t)(c - w->connection) << 32 | c->generation;
    return epoll_ctl(w->epoll_fd, operation, c->fd, &event);
}

static void
open_socket(struct worker *w, struct connection *c)
{
    const struct address *a = &w->run->target->address[c->address];
    slots_move(w, c, STATE_CONNECTING, w->now_ns + w->run->options->connect_timeout_ns);
    c->connect_ns = w->now_ns;
    c->want_write = false;
    c->fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd == -1) {
        connect_failed(w, c, errno);
        return;
    }
    int result = connect(c->fd, (const struct sockaddr *)&a->socket, a->length);
    if (result == -1 && errno != EINPROGRESS && errno != EINTR) {
        connect_failed(w, c, errno);
        return;
    }
    bool at_once = result == 0;
    if (watch(w, c, EPOLL_CTL_ADD) == -1) {
        connect_failed(w, c, errno);
    } else if (at_once) {
        w->now_ns = clock_now_ns();
        connected(w, c);
    }
}

/* The user's requests in the order of their weights. */
static struct request *
next_request(struct worker *w)
{
    struct target *t = w->run->target;
    if (w->next_request == t->sequence_length)
        w->next_request = 0;
    return &t->request[t->sequence[w->next_request++]];
}

void
connection_begin(struct worker *w, struct connection *c, uint64_t intended_ns, bool measured)
{
    c->request = next_request(w);
    c->intended_ns = intended_ns;
    c->begun_ns = w->now_ns;
    c->measured = measured;
    c->redone = false;
    c->addresses_tried = 0;
    counter_set(&w->tally->busy, ++w->busy);
    if (measured)
        counter_add(&w->tally->started, 1);
    if (c->fd == -1) {
        c->address = w->address;
        open_socket(w, c);
    } else {
        tally_event(w->tally, EVENT_REUSED);
        send_request(w, c);
    }
}

/* --- sending ------------------------------------------------------------- */

/* A server that refuses a body answers first and resets afterwards: whatever
 * has arrived is read before the request is called failed. */
static void
send_failed(struct worker *w, struct connection *c, int error)
{
    uint32_t generation = c->generation;
    c->send_error = error;
    if (c->sent == 0 && resend_is_safe(w, c, true))
        redo(w, c);
    else if (receive(w, c, true))
        slots_move(w, c, STATE_NEXT, w->now_ns);
    else if (c->generation == generation)
        broken(w, c, FAIL_SEND, error);
}

/* Sends what is left of the request. An answer may come before all is sent. */
static void
send_more(struct worker *w, struct connection *c)
{
    const struct bytes *bytes = &c->request->bytes;
    while (c->sent < bytes->length) {
        ssize_t n = send(c->fd, bytes->data + c->sent, bytes->length - c->sent, MSG_NOSIGNAL);
        if (n >= 0) {
            c->sent += (uint32_t)n;
            counter_add(&w->tally->sent_bytes, (uint64_t)n);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN) {
            bool armed = c->want_write || !*w->run->target->url.socket;
            c->want_write = true;
            if (!armed && watch(w, c, EPOLL_CTL_MOD) == -1)
                send_failed(w, c, errno);
            return;
        }
        send_failed(w, c, errno);
        return;
    }
}

static void
send_request(struct worker *w, struct connection *c)
{
    w->run->target->protocol->start(&c->parser, &c->answer, c->request->head,
                                    w->run->target->header_limit);
    c->sent = 0;
    c->send_error = 0;
    c->first_ns = 0;
    c->sent_ns = w->now_ns;
    slots_move(w, c, STATE_ACTIVE, w->now_ns + w->run->options->timeout_ns);
    send_more(w, c);
}

/* --- receiving ----------------------------------------------------------- */

/* The answer is complete. <ended>: the server has closed its side already.
 * True: the slot is free. */
static bool
complete(struct worker *w, struct connection *c, bool ended)
{
    bool unsent = c->sent < c->request->bytes.length;
    bool keep = w->run->options->keep_alive && c->answer.keep;
    outcome_answered(w, c);
    c->served++;
    if (unsent)
        tally_event(w->tally, EVENT_ANSWERED_EARLY);
    if (!keep && !ended && !unsent && w->patience_ns > 0) {
        c->paused_ns = w->now_ns;
        slots_move(w, c, STATE_CLOSING, w->now_ns + w->patience_ns);
        return false;
    }
    bool left_open = !keep && !ended && !unsent;
    if (left_open)
        tally_event(w->tally, EVENT_LEFT_OPEN);
    if (keep && ended)
        tally_event(w->tally, EVENT_SERVER_CLOSED);
    if (!keep || ended || unsent)
        connection_close(w, c, left_open); /* a reset leaves no port in TIME_WAIT here */
    return true;
}

/* The server closed in order while an answer was due. */
static bool
ended(struct worker *w, struct connection *c)
{
    if (w->run->target->protocol->end(&c->parser) == ANSWER_DONE)
        return complete(w, c, true);
    if (c->send_error != 0)
        broken(w, c, FAIL_SEND, c->send_error);
    else if (resend_is_safe(w, c, false))
        redo(w, c);
    else
        fail_fault(w, c);
    return false;
}

static void
learn_server(struct worker *w, const char *data, size_t n)
{
    if (!http_header(data, n, "Server", w->server, sizeof(w->server)))
        memcpy(w->server, "-", 2);
}

/* Reads until the answer is complete or nothing is left. A read that did not
 * fill the buffer has emptied the socket; only when the server has closed as
 * well (<hangup>) is there one more thing to read, its end. True: the slot is
 * free. */
static bool
receive(struct worker *w, struct connection *c, bool hangup)
{
    for (;;) {
        ssize_t n = recv(c->fd, w->buffer, WORKER_BUFFER, 0);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno == EAGAIN)
            return false;
        int error = errno;
        w->now_ns = clock_now_ns();
        if (n == -1) {
            broken(w, c, c->send_error ? FAIL_SEND : FAIL_RECEIVE,
                   c->send_error ? c->send_error : error);
            return false;
        }
        if (n == 0)
            return ended(w, c);
        if (c->first_ns == 0)
            c->first_ns = w->now_ns;
        c->seen_byte = true;
        if (c->measured)
            counter_add(&w->tally->received_bytes, (uint64_t)n);
        if (*w->server == '\0')
            learn_server(w, w->buffer, (size_t)n);
        switch (w->run->target->protocol->feed(&c->parser, w->buffer, (size_t)n)) {
        case ANSWER_DONE:
            return complete(w, c, hangup);
        case ANSWER_BAD:
            fail_fault(w, c);
            return false;
        case ANSWER_MORE:
            break;
        }
        if (n < WORKER_BUFFER && !hangup)
            return false;
    }
}

/* Something came on a connection that has no request: its end, as a rule. */
static void
unasked(struct worker *w, struct connection *c)
{
    ssize_t n = recv(c->fd, w->buffer, WORKER_BUFFER, 0);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    tally_event(w->tally, n > 0 ? EVENT_SURPLUS : EVENT_SERVER_CLOSED);
    connection_close(w, c, n > 0);
}

static bool
closing(struct worker *w, struct connection *c)
{
    ssize_t n = recv(c->fd, w->buffer, WORKER_BUFFER, 0);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return false;
    w->now_ns = clock_now_ns();
    if (n > 0)
        tally_event(w->tally, EVENT_SURPLUS);
    w->patience_ns = w->patience_ns * 2 < PATIENCE_NS ? w->patience_ns * 2 : PATIENCE_NS;
    connection_close(w, c, n > 0);
    return true;
}

/* The server was asked to close, and did not. */
static void
left_open(struct worker *w, struct connection *c)
{
    w->patience_ns = w->patience_ns / 4 < LEAST_PATIENCE_NS ? 0 : w->patience_ns / 4;
    tally_event(w->tally, EVENT_LEFT_OPEN);
    connection_close(w, c, true);
}

/* --- what the loop calls ------------------------------------------------- */

static void
connecting(struct worker *w, struct connection *c, uint32_t events)
{
    w->now_ns = clock_now_ns();
    if (events & BROKEN) {
        int error = 0;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof(error)});
        connect_failed(w, c, error ? error : ECONNRESET);
    } else if (events & EPOLLOUT) {
        connected(w, c);
    }
}

static bool
active(struct worker *w, struct connection *c, uint32_t events)
{
    if (c->want_write && (events & EPOLLOUT)) {
        uint32_t generation = c->generation;
        c->want_write = false;
        send_more(w, c);
        if (generation != c->generation)
            return false;
    }
    if (events & (EPOLLIN | EPOLLRDHUP | BROKEN))
        return receive(w, c, (events & (EPOLLRDHUP | BROKEN)) != 0);
    return false;
}

bool
connection_event(struct worker *w, struct connection *c, uint32_t events)
{
    switch ((enum state)c->state) {
    case STATE_CONNECTING:
        connecting(w, c, events);
        return false;
    case STATE_ACTIVE:
        return active(w, c, events);
    case STATE_CLOSING:
        return closing(w, c);
    default:
        if (events & (EPOLLIN | EPOLLRDHUP | BROKEN))
            unasked(w, c);
        return false;
    }
}

/* A late thread finds deadlines passed whose events wait to be read. */
static bool
connect_is_over(struct worker *w, struct connection *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLOUT};
    if (poll(&fd, 1, 0) != 1)
        return false;
    connecting(w, c, fd.revents & POLLOUT ? EPOLLOUT : EPOLLERR);
    return true;
}

static bool
answer_is_late(struct worker *w, struct connection *c)
{
    uint32_t generation = c->generation;
    if (receive(w, c, false))
        return true;
    if (c->generation == generation && c->state == STATE_ACTIVE)
        fail(w, c, FAIL_TIMEOUT,
             c->first_ns ? "the answer was not complete in time" : "no answer in time");
    return false;
}

bool
connection_deadline(struct worker *w, struct connection *c)
{
    switch ((enum state)c->state) {
    case STATE_CONNECTING:
        if (!connect_is_over(w, c))
            connect_failed(w, c, ETIMEDOUT);
        return false;
    case STATE_ACTIVE:
        return answer_is_late(w, c);
    case STATE_CLOSING:
        left_open(w, c);
        return true;
    default:
        return true;
    }
}
