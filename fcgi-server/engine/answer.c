/* SPDX-License-Identifier: MIT */
#include "engine/answer.h"
#include "request/response.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define JOINED_MAX 2048

static void
add(struct answer *answer, void *bytes, size_t length)
{
    if (length > 0) {
        answer->part[answer->count++] = (struct iovec){bytes, length};
        answer->left += length;
    }
}

/* Copies a small answer behind its head: sending one buffer instead of three saves more
 * than the copy costs. */
static void
join(struct answer *answer)
{
    char *to = answer->head + answer->part[0].iov_len;
    if (answer->count < 2 || answer->part[0].iov_base != answer->head ||
        answer->left > sizeof answer->head || answer->left > JOINED_MAX)
        return;
    for (int i = 1; i < answer->count; i++) {
        memcpy(to, answer->part[i].iov_base, answer->part[i].iov_len);
        to += answer->part[i].iov_len;
    }
    answer->part[0].iov_len = answer->left;
    answer->count = 1;
}

static size_t
first_part(size_t length)
{
    return length < RECORD_CONTENT_MAX ? length : RECORD_CONTENT_MAX;
}

void
answer_build(struct answer *answer, struct request *request, bool last)
{
    char *body = request->out;
    size_t body_left = response_sends_body(request) ? request->out_length : 0;
    int records = 0;
    answer->count = 0;
    answer->left = 0;
    if (!request->head_sent) {
        size_t head = response_head(request, answer->head + RECORD_HEADER_SIZE, last);
        size_t part = first_part(head + body_left) - head;
        record_encode_header(answer->head, RECORD_STDOUT, request->id, (uint16_t)(head + part), 0);
        add(answer, answer->head, RECORD_HEADER_SIZE + head);
        if (part > 0) { /* <out> is NULL before the first body */
            add(answer, body, part);
            body += part;
            body_left -= part;
        }
    }
    while (body_left > 0) {
        size_t part = first_part(body_left);
        char *frame = answer->frame[records++];
        record_encode_header(frame, RECORD_STDOUT, request->id, (uint16_t)part, 0);
        add(answer, frame, RECORD_HEADER_SIZE);
        add(answer, body, part);
        body += part;
        body_left -= part;
    }
    request->out_length = 0;
    if (last) {
        record_encode_header(answer->tail, RECORD_STDOUT, request->id, 0, 0);
        record_encode_end(answer->tail + RECORD_HEADER_SIZE, request->id, 0,
                          RECORD_REQUEST_COMPLETE);
        add(answer, answer->tail, sizeof answer->tail);
    }
    join(answer);
}

/* Removes <length> sent bytes from the front. */
static void
advance(struct answer *answer, size_t length)
{
    int done = 0;
    answer->left -= length;
    while (done < answer->count && length >= answer->part[done].iov_len)
        length -= answer->part[done++].iov_len;
    answer->count -= done;
    memmove(answer->part, answer->part + done, (size_t)answer->count * sizeof *answer->part);
    if (answer->count > 0) {
        answer->part[0].iov_base = (char *)answer->part[0].iov_base + length;
        answer->part[0].iov_len -= length;
    }
}

static ssize_t
send_parts(const struct answer *answer, int fd)
{
    struct msghdr message = {.msg_iov = (struct iovec *)answer->part,
                             .msg_iovlen = (size_t)answer->count};
    if (answer->count == 1) {
        return send(fd, answer->part[0].iov_base, answer->part[0].iov_len,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int
answer_send(struct answer *answer, int fd)
{
    while (answer->left > 0) {
        ssize_t sent = send_parts(answer, fd);
        if (sent == (ssize_t)answer->left)
            return 0;
        if (sent >= 0)
            advance(answer, (size_t)sent);
        else if (errno == EAGAIN)
            return 1;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

void
answer_rest(const struct answer *answer, char *to)
{
    for (int i = 0; i < answer->count; i++) {
        memcpy(to, answer->part[i].iov_base, answer->part[i].iov_len);
        to += answer->part[i].iov_len;
    }
}

void
answer_briefly(const struct request *request, int fd, int status)
{
    static struct answer answer;
    struct request refusal = {0};
    if (request->head_sent)
        return;
    request_init(&refusal, NULL, NULL);
    refusal.id = request->id;
    response_refuse(&refusal, status);
    answer_build(&answer, &refusal, true);
    answer_send(&answer, fd);
}
