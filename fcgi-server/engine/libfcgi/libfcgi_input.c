/* SPDX-License-Identifier: MIT */
#include "engine/libfcgi/libfcgi_input.h"
#include "request/intake.h"

#include <dlfcn.h>
#include <fcgios.h>
#include <string.h>
#include <unistd.h>

/* What the library still has to read. Records are made one at a time. */
static struct {
    const struct intake *intake;
    enum { BEGIN, PARAMS, BODY, OVER } next;
    char frame[2 * RECORD_HEADER_SIZE]; /* the header of a record; for BEGIN its content, too */
    size_t frame_at;
    size_t frame_length;
    size_t content_left; /* of the record that <frame> begins */
    uint64_t taken;      /* of the stream that the record belongs to */
} offer = {.next = OVER};

int
libfcgi_input_check(void)
{
    return dlsym(RTLD_DEFAULT, "OS_Read") == (void *)OS_Read ? 0 : -1;
}

void
libfcgi_input_offer(const struct intake *intake)
{
    memset(&offer, 0, sizeof offer);
    offer.intake = intake;
    offer.next = intake == NULL ? OVER : BEGIN;
}

/* Begins the record after the one that was read to its end. */
static void
next_record(void)
{
    const struct intake *intake = offer.intake;
    if (offer.next == BEGIN) {
        record_encode_header(offer.frame, RECORD_BEGIN_REQUEST, intake->id, 8, 0);
        memset(offer.frame + RECORD_HEADER_SIZE, 0, 8);
        offer.frame[RECORD_HEADER_SIZE + 1] = RECORD_RESPONDER;
        offer.frame[RECORD_HEADER_SIZE + 2] = intake->keep ? RECORD_KEEP_CONNECTION : 0;
        offer.frame_length = sizeof offer.frame; /* its content stands in the frame */
        offer.next = PARAMS;
        return;
    }
    bool params = offer.next == PARAMS;
    uint64_t left =
        (params ? intake->params_end - intake->params : intake->body_length) - offer.taken;
    offer.content_left = left < RECORD_CONTENT_MAX ? (size_t)left : RECORD_CONTENT_MAX;
    record_encode_header(offer.frame, params ? RECORD_PARAMS : RECORD_STDIN, intake->id,
                         (uint16_t)offer.content_left, 0);
    offer.frame_length = RECORD_HEADER_SIZE;
    if (left == 0) { /* the empty record that ends a stream */
        offer.taken = 0;
        offer.next = params ? BODY : OVER;
    }
    offer.frame_at = 0;
}

/* Copies content of the current record. Returns how much; 0 if the file of the
 * body cannot be read. */
static size_t
copy_content(char *to, size_t size)
{
    const struct intake *intake = offer.intake;
    size_t length = offer.content_left < size ? offer.content_left : size;
    if (offer.next == PARAMS) {
        memcpy(to, intake->buffer + intake->params + offer.taken, length);
    } else if (intake->spool_fd == -1) {
        memcpy(to, intake->buffer + intake->body + offer.taken, length);
    } else {
        ssize_t got = pread(intake->spool_fd, to, length, (off_t)offer.taken);
        length = got <= 0 ? 0 : (size_t)got;
    }
    offer.content_left -= length;
    offer.taken += length;
    return length;
}

/* Replaces the function of the library: see libfcgi_input.h. <fd> is ignored. */
int
OS_Read(int fd, char *buf, size_t len)
{
    size_t done = 0;
    (void)fd;
    while (done < len) {
        if (offer.frame_at < offer.frame_length) {
            buf[done++] = offer.frame[offer.frame_at++];
        } else if (offer.content_left > 0) {
            size_t length = copy_content(buf + done, len - done);
            if (length == 0)
                break;
            done += length;
        } else if (offer.next != OVER) {
            next_record();
        } else {
            break;
        }
    }
    return (int)done;
}
