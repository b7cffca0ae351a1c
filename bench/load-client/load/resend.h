/* SPDX-License-Identifier: MIT */
/* resend.h - which requests may be sent a second time. */
#ifndef RESEND_H
#define RESEND_H

#include "load/slots.h"

/* May the request be sent again, without a chance that the server executes it
 * twice? Yes when nothing of it left this machine, or when no byte of it was
 * acknowledged before an orderly end. A reset takes no account of what was read
 * (its acknowledgement is not processed, or not there), so after one only what
 * is idempotent (RFC 9110, section 9.2.2) goes again; the same when a part was
 * acknowledged. What was acknowledged whole was received and not answered.
 * Each request is sent again at most once, and only from a kept connection.
 * <reset>: the connection was reset, not closed in order. */
bool resend_is_safe(const struct worker *w, const struct connection *c, bool reset);

#endif
