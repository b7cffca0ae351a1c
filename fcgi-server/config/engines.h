/* SPDX-License-Identifier: MIT */
/*
 * engines.h - the table of engines. NAME stands for the folder engine/NAME/, which
 * defines `const struct engine engine_NAME` (engine/engine.h). The option, its help,
 * its errors and the choice in a child are made from it.
 */
#ifndef ENGINES_H
#define ENGINES_H

#define ENGINES(ENGINE)                                                                            \
    ENGINE(event)                                                                                  \
    ENGINE(libfcgi)

#define ENGINES_DEFAULT "event"

/* "|event|libfcgi": the words of an option after one '|' too many. */
#define ENGINES_WORD(name) "|" #name
#define ENGINES_WORDS      ENGINES(ENGINES_WORD)

#endif
