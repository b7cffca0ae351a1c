/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/descriptors.c fcgi-server/request/intake.c fcgi-server/request/record.c */
/* The bytes of a connection, cut anywhere, give the same requests and replies as in one
 * piece. The first byte of the input chooses the cuts. */
#include "request/intake.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    const uint8_t *data;
    size_t size;
    size_t fed;
    uint64_t digest;
    unsigned requests;
};

static const struct intake_limits limits = {.spool_folder = "/tmp",
                                            .params_max = 100000,
                                            .body_max = 300000,
                                            .connections = 7,
                                            .requests = 9};

static void
mix(struct run *run, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++)
        run->digest = (run->digest ^ at[i]) * 1099511628211u;
}

static void
mix_number(struct run *run, uint64_t number)
{
    mix(run, &number, sizeof number);
}

static void
mix_request(struct run *run, const struct intake *intake)
{
    mix_number(run, intake->id);
    mix_number(run, intake->keep);
    mix_number(run, intake->params_end - intake->params);
    mix(run, intake->buffer + intake->params, intake->params_end - intake->params);
    mix_number(run, intake->body_length);
    if (intake->body_length > limits.body_max ||
        intake->params_end - intake->params > limits.params_max)
        abort();
    if (intake->spool_fd == -1) {
        mix(run, intake->buffer + intake->body, intake->body_length);
        return;
    }
    char block[4096];
    for (uint64_t at = 0; at < intake->body_length;) {
        ssize_t got = pread(intake->spool_fd, block, sizeof block, (off_t)at);
        if (got <= 0)
            abort();
        mix(run, block, (size_t)got);
        at += (uint64_t)got;
    }
}

static int
feed(struct run *run, struct intake *intake, size_t step)
{
    char *room;
    size_t length = intake_room(intake, &room);
    if (length == 0)
        abort();
    if (length > step)
        length = step;
    if (length > run->size - run->fed)
        length = run->size - run->fed;
    memcpy(room, run->data + run->fed, length);
    intake_filled(intake, length);
    run->fed += length;
    return length > 0;
}

/* Returns 0 when the connection would be closed. */
static int
step(struct run *run, struct intake *intake, size_t cut)
{
    enum intake_result result = intake_next(intake);
    if (result == INTAKE_MORE)
        return feed(run, intake, cut);
    if (result == INTAKE_REQUEST && intake->end - intake->next < RECORD_HEADER_SIZE &&
        feed(run, intake, cut))
        return 1; /* its abort may stand right behind it */
    mix_number(run, result);
    switch (result) {
    case INTAKE_REQUEST:
        mix_request(run, intake);
        intake_reset(intake);
        return ++run->requests < 1000;
    case INTAKE_REPLY:
    case INTAKE_ABORTED:
        if (intake->reply_length > sizeof intake->reply)
            abort();
        mix(run, intake->reply, intake->reply_length);
        return !intake->closing;
    case INTAKE_REFUSED:
        mix_number(run, intake->refused);
        return 0;
    default:
        return 0;
    }
}

static uint64_t
digest(const uint8_t *data, size_t size, size_t cut)
{
    struct run run = {data, size, 0, 14695981039346656037u, 0};
    struct intake intake;
    intake_init(&intake, &limits);
    while (step(&run, &intake, cut))
        continue;
    if (intake.size > 1u << 20)
        abort(); /* memory stays bounded whatever comes */
    intake_fini(&intake);
    return run.digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint64_t whole = digest(data + 1, size - 1, SIZE_MAX);
    uint64_t cut = digest(data + 1, size - 1, (size_t)data[0] % 64 + 1);
    if (whole != cut)
        abort();
    return 0;
}
