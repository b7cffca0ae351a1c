/* SPDX-License-Identifier: MIT */
/*
 * libfcgi_input.h - stands between the socket and libfcgi. The library reads through its
 * exported function OS_Read(); the executable has one of its own, which the
 * dynamic linker prefers. So the library never sees a byte of a peer: it gets
 * one whole, checked request, written anew in the plainest form.
 */
#ifndef LIBFCGI_INPUT_H
#define LIBFCGI_INPUT_H

struct intake;

/* Whether the library really reads through the guard. Returns 0, or -1: then the
 * engine must not run. */
int libfcgi_input_check(void);

/* From now on the library reads the whole request in <intake>, then the end of the
 * file. NULL: the end of the file at once. */
void libfcgi_input_offer(const struct intake *intake);

#endif
