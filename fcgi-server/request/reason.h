/* SPDX-License-Identifier: MIT */
/* reason.h - the words behind a status code (RFC 9110, section 15). */
#ifndef REASON_H
#define REASON_H

/* The words for <status>, such as "Not Found"; "Unknown" if there are none. */
const char *reason_of(int status);

#endif
