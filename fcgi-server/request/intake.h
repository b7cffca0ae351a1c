/* SPDX-License-Identifier: MIT */
/*
 * intake.h - makes requests out of the bytes of one connection, however they are
 * cut. A request is handed out when it is whole: all parameters, all of the body,
 * not aborted. Content is moved together in the buffer that it was read into, so
 * a request that came in one piece is not copied at all. No sockets; the one
 * system resource is the temporary file of a body over INTAKE_BODY_MEMORY.
 *
 * Strict where leniency has been a hole: a record that is not allowed where it
 * stands ends the connection. Ignored, as the specification has it: records of
 * ids that are not open. Not multiplexed: a second id gets CANT_MPX_CONN while
 * the first is arriving; once the first is whole, what follows is the next
 * request on the connection.
 *
 * All positions are offsets, so that the whole state can be moved to another
 * process (handover.c).
 */
#ifndef INTAKE_H
#define INTAKE_H

#include "request/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    INTAKE_BODY_MEMORY = 64 << 10, /* a longer body goes to a file */
    INTAKE_ROOM = 4 << 10,         /* least room that intake_room() makes */
};

enum intake_result {
    INTAKE_MORE = 0,    /* bytes are missing: read */
    INTAKE_REQUEST = 1, /* a request is whole; no byte behind it was looked at */
    INTAKE_REPLY = 2,   /* send <reply>, then go on (or close, if <closing>) */
    INTAKE_ABORTED = 3, /* as INTAKE_REPLY; a request was aborted before it was whole or run */
    INTAKE_REFUSED = 4, /* answer with the HTTP status <refused>, then close */
    INTAKE_BROKEN = 5,  /* not FastCGI, or not as it should be: close without a word */
};

struct intake_limits {
    uint64_t params_max;      /* bytes of the parameter stream; beyond: 431 */
    uint64_t body_max;        /* bytes of the body; beyond: 413 */
    const char *spool_folder; /* for long bodies */
    uint32_t connections;     /* what GET_VALUES is told */
    uint32_t requests;
};

struct intake {
    const struct intake_limits *limits;
    char *buffer;
    uint32_t size;
    /* from here on: what handover.c moves */
    uint32_t next;   /* first byte not looked at */
    uint32_t end;    /* behind the last byte read */
    uint32_t params; /* the parameter stream so far */
    uint32_t params_end;
    uint32_t body; /* the body so far, unless it is in <spool_fd> */
    uint32_t body_end;
    uint64_t body_length;
    int spool_fd;          /* -1: none */
    uint32_t content_left; /* of the record that <next> is in */
    uint8_t padding_left;
    uint8_t phase; /* enum phase in intake.c */
    uint8_t sink;  /* where content goes: enum sink in intake.c */
    bool keep;     /* flag of the open request */
    bool closing;  /* close when <reply> is sent */
    uint16_t id;
    uint16_t refused;
    uint8_t reply_length;
    char reply[RECORD_VALUES_SIZE];
};

/* Makes an empty intake without a buffer. <limits> belongs to the caller. */
void intake_init(struct intake *intake, const struct intake_limits *limits);

/* Room to read into, at least INTAKE_ROOM bytes: its length, and the place in
 * <room>; 0 when out of memory. Invalidates pointers into the buffer. */
size_t intake_room(struct intake *intake, char **room);

/* Tells that <length> bytes were read into the room. */
void intake_filled(struct intake *intake, size_t length);

/* Looks at what was read. Call again until INTAKE_MORE, or until intake_reset()
 * after INTAKE_REQUEST. */
enum intake_result intake_next(struct intake *intake);

/* Drops the request that was handed out; bytes behind it stay and come first. */
void intake_reset(struct intake *intake);

/* Drops all that was read. */
void intake_drop(struct intake *intake);

/* Nothing has arrived of a next request. */
static inline bool
intake_is_empty(const struct intake *intake)
{
    return intake->phase == 0 && intake->content_left == 0 && intake->padding_left == 0 &&
           intake->next == intake->end;
}

/* A request is open whose parameters are not all there. */
bool intake_in_params(const struct intake *intake);

/* Whether the <length> bytes of <bytes>, read behind a whole request with <id>,
 * begin with its ABORT_REQUEST; then its length in bytes, else 0. */
size_t intake_abort(uint16_t id, const char *bytes, size_t length);

/* Frees what it holds. */
void intake_fini(struct intake *intake);

#endif
