/* SPDX-License-Identifier: MIT */
/*
 * answer.h - the answer to a request, as records ready for one sendmsg(): head,
 * body, end of STDOUT and END_REQUEST together, because a front end that sees the end late
 * does not keep the connection.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include "request/record.h"
#include "request/request.h"

#include <sys/uio.h>

enum {
    /* Records that hold a full head and a full body. */
    ANSWER_RECORDS = (REQUEST_HEAD_ROOM + REQUEST_OUT_MAX) / RECORD_CONTENT_MAX + 1,
    ANSWER_PARTS = 2 * ANSWER_RECORDS + 2,
};

/* About 17 KiB: one for each child is enough, since the rest that a peer does not
 * take at once is copied (see answer_rest()). */
struct answer {
    struct iovec part[ANSWER_PARTS];
    int count;
    size_t left; /* bytes not sent yet */
    char head[RECORD_HEADER_SIZE + REQUEST_HEAD_ROOM];
    char frame[ANSWER_RECORDS][RECORD_HEADER_SIZE];
    char tail[RECORD_HEADER_SIZE + RECORD_END_SIZE];
};

/* Puts what <request> has not sent yet into <answer>, which points into its <out>.
 * <last>: adds the end of the request. */
void answer_build(struct answer *answer, struct request *request, bool last);

/* Sends as much as the socket takes without blocking. Returns 0 when all is sent,
 * 1 when some is left, -1 when the peer has gone. */
int answer_send(struct answer *answer, int fd);

/* Answers <status> to <request> on <fd> while its handler, or another one, runs: neither
 * reads nor changes the answer of the handler. Sends nothing if the head has been sent. For
 * one thread of the process. */
void answer_briefly(const struct request *request, int fd, int status);

/* Copies the rest that answer_send() left to <to>, which has room for <left>. */
void answer_rest(const struct answer *answer, char *to);

#endif
