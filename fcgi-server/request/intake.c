/* SPDX-License-Identifier: MIT */
#include "request/intake.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum phase {
    PHASE_IDLE = 0, /* no request is open; intake_is_empty() relies on the 0 */
    PHASE_PARAMS = 1,
    PHASE_BODY = 2,
    PHASE_WHOLE = 3,
};

enum sink {
    SINK_NOTHING = 0,
    SINK_PARAMS = 1,
    SINK_BODY = 2,
};

/* The first buffer: common requests fit, and one read fills no more. */
#define FIRST_SIZE ((size_t)16384)

/* A buffer over this, grown by one large request, does not stay. */
#define KEPT_SIZE ((size_t)65536)

/* on_record() and its kind: go on with the next record. */
#define GO_ON ((enum intake_result) - 1)

void
intake_init(struct intake *intake, const struct intake_limits *limits)
{
    *intake = (struct intake){.limits = limits, .spool_fd = -1};
}

/* --- the buffer ------------------------------------------------------------------ */

/* The first offset behind the contents that were put together. */
static uint32_t
contents_end(const struct intake *intake)
{
    if (intake->body_end > intake->body)
        return intake->body_end;
    /* One byte more: request_set_params() puts a NUL behind the last value. */
    return intake->params_end > intake->params ? intake->params_end + 1 : 0;
}

static void
move_down(struct intake *intake)
{
    uint32_t to = contents_end(intake);
    uint32_t length = intake->end - intake->next;
    if (to < intake->next) {
        memmove(intake->buffer + to, intake->buffer + intake->next, length);
        intake->next = to;
        intake->end = to + length;
    }
}

size_t
intake_room(struct intake *intake, char **room)
{
    if (intake->size - intake->end < INTAKE_ROOM)
        move_down(intake);
    /* Never more than params_max, INTAKE_BODY_MEMORY and one record, rounded up to
     * a power of two: parameters over the limit are refused, bodies are spooled. */
    if (intake->size - intake->end < INTAKE_ROOM) {
        size_t size = intake->size == 0 ? FIRST_SIZE : (size_t)intake->size * 2;
        char *buffer = realloc(intake->buffer, size);
        if (buffer == NULL)
            return 0;
        intake->buffer = buffer;
        intake->size = (uint32_t)size;
    }
    *room = intake->buffer + intake->end;
    return intake->size - intake->end;
}

void
intake_filled(struct intake *intake, size_t length)
{
    intake->end += (uint32_t)length;
}

/* --- where content goes ------------------------------------------------------------ */

/* A file without a name; on disk rather than in memory, which a peer could fill. */
static int
open_spool(const char *folder)
{
    int fd = descriptors_lift(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return fd != -1 ? fd : descriptors_lift(memfd_create("request body", MFD_CLOEXEC));
}

static int
write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written == -1 && errno != EINTR)
            return -1;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* Appends <length> bytes at <next> to a stretch of contents. The first piece
 * stays where it is. */
static void
append(struct intake *intake, uint32_t *start, uint32_t *end, uint32_t length)
{
    if (*start == *end)
        *start = *end = intake->next;
    else if (*end != intake->next)
        memmove(intake->buffer + *end, intake->buffer + intake->next, length);
    *end += length;
}

static int
append_body(struct intake *intake, uint32_t length)
{
    intake->body_length += length;
    if (intake->spool_fd == -1 && intake->body_length <= INTAKE_BODY_MEMORY) {
        append(intake, &intake->body, &intake->body_end, length);
        return 0;
    }
    if (intake->spool_fd == -1) {
        intake->spool_fd = open_spool(intake->limits->spool_folder);
        if (intake->spool_fd == -1 || write_all(intake->spool_fd, intake->buffer + intake->body,
                                                intake->body_end - intake->body) == -1)
            return -1;
        intake->body_end = intake->body;
    }
    return write_all(intake->spool_fd, intake->buffer + intake->next, length);
}

/* Takes what is there of the current record. Returns -1 if there is no place for
 * the body. */
static int
take_content(struct intake *intake)
{
    uint32_t there = intake->end - intake->next;
    uint32_t length = intake->content_left < there ? intake->content_left : there;
    if (length > 0) {
        if (intake->sink == SINK_PARAMS)
            append(intake, &intake->params, &intake->params_end, length);
        else if (intake->sink == SINK_BODY && append_body(intake, length) == -1)
            return -1;
        intake->next += length;
        intake->content_left -= length;
        there -= length;
    }
    if (intake->content_left == 0 && intake->padding_left > 0) {
        uint8_t padding = there < intake->padding_left ? (uint8_t)there : intake->padding_left;
        intake->next += padding;
        intake->padding_left -= padding;
    }
    return 0;
}

/* Moves on over a header; the content then goes to <sink>. */
static enum intake_result
accept_record(struct intake *intake, const struct record_header *header, enum sink sink)
{
    intake->next += RECORD_HEADER_SIZE;
    intake->content_left = header->content_length;
    intake->padding_left = header->padding_length;
    intake->sink = (uint8_t)sink;
    return GO_ON;
}

/* --- the records ------------------------------------------------------------------- */

static void
close_request(struct intake *intake)
{
    intake->phase = PHASE_IDLE;
    intake->params = intake->params_end = 0;
    intake->body = intake->body_end = 0;
    intake->body_length = 0;
    if (intake->spool_fd != -1) {
        close(intake->spool_fd);
        intake->spool_fd = -1;
    }
}

static enum intake_result
reply_end(struct intake *intake, uint16_t id, enum record_status status)
{
    record_encode_end(intake->reply, id, 0, status);
    intake->reply_length = RECORD_END_SIZE;
    return INTAKE_REPLY;
}

static enum intake_result
on_management(struct intake *intake, const struct record_header *header)
{
    if (header->type == RECORD_GET_VALUES) {
        if (intake->end - intake->next < RECORD_HEADER_SIZE + (uint32_t)header->content_length)
            return INTAKE_MORE;
        const char *query = intake->buffer + intake->next + RECORD_HEADER_SIZE;
        intake->reply_length =
            (uint8_t)record_encode_values(intake->reply, query, header->content_length,
                                          intake->limits->connections, intake->limits->requests);
        accept_record(intake, header, SINK_NOTHING);
        return INTAKE_REPLY;
    }
    if (header->type < RECORD_GET_VALUES)
        return INTAKE_BROKEN; /* these belong to requests, and 0 is no request's id */
    accept_record(intake, header, SINK_NOTHING);
    if (header->type == RECORD_UNKNOWN_TYPE)
        return GO_ON; /* an answer to an answer would go on for ever */
    record_encode_unknown(intake->reply, header->type);
    intake->reply_length = RECORD_END_SIZE;
    return INTAKE_REPLY;
}

static enum intake_result
on_begin(struct intake *intake, const struct record_header *header)
{
    if (header->content_length != 8 || (intake->phase != PHASE_IDLE && header->id == intake->id))
        return INTAKE_BROKEN;
    if (intake->end - intake->next < RECORD_HEADER_SIZE + 8)
        return INTAKE_MORE;
    const uint8_t *content = (const uint8_t *)intake->buffer + intake->next + RECORD_HEADER_SIZE;
    bool keep = (content[2] & RECORD_KEEP_CONNECTION) != 0;
    int role = content[0] << 8 | content[1];
    accept_record(intake, header, SINK_NOTHING);
    if (intake->phase != PHASE_IDLE)
        return reply_end(intake, header->id, RECORD_CANT_MPX_CONN);
    if (role != RECORD_RESPONDER) {
        intake->closing = !keep;
        return reply_end(intake, header->id, RECORD_UNKNOWN_ROLE);
    }
    intake->phase = PHASE_PARAMS;
    intake->id = header->id;
    intake->keep = keep;
    return GO_ON;
}

static enum intake_result
on_params(struct intake *intake, const struct record_header *header)
{
    if (intake->phase != PHASE_PARAMS)
        return INTAKE_BROKEN;
    uint64_t length = (uint64_t)(intake->params_end - intake->params) + header->content_length;
    if (length > intake->limits->params_max) {
        intake->refused = 431;
        return INTAKE_REFUSED;
    }
    if (header->content_length == 0)
        intake->phase = PHASE_BODY;
    return accept_record(intake, header, SINK_PARAMS);
}

static enum intake_result
on_stdin(struct intake *intake, const struct record_header *header)
{
    if (intake->phase != PHASE_BODY)
        return INTAKE_BROKEN;
    if (intake->body_length + header->content_length > intake->limits->body_max) {
        intake->refused = 413;
        return INTAKE_REFUSED;
    }
    if (header->content_length == 0)
        intake->phase = PHASE_WHOLE;
    return accept_record(intake, header, SINK_BODY);
}

static enum intake_result
on_abort(struct intake *intake, const struct record_header *header)
{
    accept_record(intake, header, SINK_NOTHING);
    close_request(intake);
    intake->closing = !intake->keep;
    reply_end(intake, header->id, RECORD_REQUEST_COMPLETE);
    return INTAKE_ABORTED;
}

static enum intake_result
on_record(struct intake *intake, const struct record_header *header)
{
    if (header->version != RECORD_VERSION)
        return INTAKE_BROKEN;
    if (header->id == RECORD_MANAGEMENT_ID)
        return on_management(intake, header);
    if (header->type == RECORD_BEGIN_REQUEST)
        return on_begin(intake, header);
    bool open = intake->phase != PHASE_IDLE && header->id == intake->id;
    switch (header->type) {
    case RECORD_ABORT_REQUEST:
        return open ? on_abort(intake, header) : accept_record(intake, header, SINK_NOTHING);
    case RECORD_PARAMS:
        return open ? on_params(intake, header) : accept_record(intake, header, SINK_NOTHING);
    case RECORD_STDIN:
        return open ? on_stdin(intake, header) : accept_record(intake, header, SINK_NOTHING);
    case RECORD_DATA: /* for filters; an UNKNOWN_ROLE may have crossed its data */
        return open ? INTAKE_BROKEN : accept_record(intake, header, SINK_NOTHING);
    default:
        return INTAKE_BROKEN;
    }
}

size_t
intake_abort(uint16_t id, const char *bytes, size_t length)
{
    if (length < RECORD_HEADER_SIZE)
        return 0;
    struct record_header header = record_decode_header(bytes);
    if (header.version != RECORD_VERSION || header.type != RECORD_ABORT_REQUEST || header.id != id)
        return 0;
    return RECORD_HEADER_SIZE + (size_t)header.content_length + header.padding_length;
}

/* The request is whole; unless its abort is the next thing that was read. */
static enum intake_result
hand_out(struct intake *intake)
{
    const char *rest = intake->buffer + intake->next;
    if (intake_abort(intake->id, rest, intake->end - intake->next) > 0) {
        struct record_header header = record_decode_header(rest);
        return on_abort(intake, &header);
    }
    return INTAKE_REQUEST;
}

enum intake_result
intake_next(struct intake *intake)
{
    for (;;) {
        if (take_content(intake) == -1) {
            intake->refused = 500;
            return INTAKE_REFUSED;
        }
        if (intake->content_left > 0 || intake->padding_left > 0)
            return INTAKE_MORE;
        if (intake->phase == PHASE_WHOLE)
            return hand_out(intake);
        if (intake->end - intake->next < RECORD_HEADER_SIZE)
            return INTAKE_MORE;
        struct record_header header = record_decode_header(intake->buffer + intake->next);
        enum intake_result result = on_record(intake, &header);
        if (result != GO_ON)
            return result;
    }
}

bool
intake_in_params(const struct intake *intake)
{
    return intake->phase == PHASE_PARAMS;
}

void
intake_reset(struct intake *intake)
{
    close_request(intake);
    if (intake->next == intake->end) {
        intake->next = intake->end = 0;
        if (intake->size > KEPT_SIZE) {
            free(intake->buffer);
            intake->buffer = NULL;
            intake->size = 0;
        }
    }
}

void
intake_drop(struct intake *intake)
{
    intake->next = intake->end;
    intake->content_left = 0;
    intake->padding_left = 0;
    intake->closing = false;
    intake_reset(intake);
}

void
intake_fini(struct intake *intake)
{
    close_request(intake);
    free(intake->buffer);
    intake_init(intake, intake->limits);
}
