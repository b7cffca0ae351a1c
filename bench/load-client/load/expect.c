/* SPDX-License-Identifier: MIT */
/* expect.c - see expect.h */
#include "load/expect.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
expect_init(struct expectation *e, const struct options *o, char *message, size_t size)
{
    *e = (struct expectation){.status = &o->expect_status, .any_body = o->variable};
    pthread_mutex_init(&e->lock, NULL);
    if (o->expect_length >= 0) {
        e->any_body = false;
        e->fix_length = true;
        e->length = (uint64_t)o->expect_length;
        e->known = true;
    }
    if (o->expect_body == NULL)
        return 0;
    struct bytes body = {0};
    if (bytes_read_file(&body, o->expect_body) == -1) {
        snprintf(message, size, "--expect-body: %s: %s", o->expect_body, strerror(errno));
        return -1;
    }
    struct digest digest = {0};
    digest_add(&digest, body.data, body.length);
    e->any_body = e->fix_length = false;
    e->length = body.length;
    e->digest = digest_value(&digest);
    e->known = true;
    bytes_free(&body);
    return 0;
}

static void
take_reference(struct expectation *e, const struct answer *answer)
{
    pthread_mutex_lock(&e->lock);
    if (!atomic_load(&e->known)) {
        e->length = answer->body.length;
        e->digest = digest_value(&answer->body);
        e->first_status = answer->status;
        atomic_store_explicit(&e->known, true, memory_order_release);
    }
    pthread_mutex_unlock(&e->lock);
}

enum failure
expect_judge(struct expectation *e, const struct answer *answer)
{
    if (!options_status_has(e->status, answer->status))
        return FAIL_STATUS;
    if (!atomic_load_explicit(&e->known, memory_order_acquire))
        take_reference(e, answer);
    if (e->any_body)
        return FAILURES;
    if (answer->body.length != e->length)
        return FAIL_LENGTH;
    if (!e->fix_length && digest_value(&answer->body) != e->digest)
        return FAIL_BODY;
    return FAILURES;
}
