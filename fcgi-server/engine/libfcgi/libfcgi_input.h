/* SPDX-License-Identifier: MIT */
/*
 * libfcgi_input.h - stands between the socket and libfcgi. The library reads through its
 * exported function OS_Read(); the executable defines its own, which the
 * dynamic linker prefers. So the library never sees a byte of a peer: it gets one complete,
 * checked request, written again in the simplest form.
 */
#ifndef LIBFCGI_INPUT_H
#define LIBFCGI_INPUT_H

struct intake;

/* Checks that the library really reads through this file. Returns 0, or -1: then the engine
 * must not run. */
int libfcgi_input_check(void);

/* From now on the library reads the request in <intake>, then end of file. NULL: end of file
 * at once. */
void libfcgi_input_offer(const struct intake *intake);

#endif
