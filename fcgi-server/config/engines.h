/* SPDX-License-Identifier: MIT */
/*
 * engines.h - the table of engines. NAME stands for the folder engine/NAME/, which
 * defines `const struct engine engine_NAME` (engine/engine.h). The option, its help and
 * its errors, and what a child can run are made from it.
 */
#ifndef ENGINES_H
#define ENGINES_H

#define ENGINES(ENGINE)                                                                            \
    ENGINE(event)                                                                                  \
    ENGINE(libfcgi)

#define ENGINES_DEFAULT "event"

/* "|event|libfcgi": as the words of an option are written, but for the first byte. */
#define ENGINES_WORD(name) "|" #name
#define ENGINES_WORDS      ENGINES(ENGINES_WORD)

#endif
