/* SPDX-License-Identifier: MIT */
/*
 * side_effects.h - keeps what handler code does to its process from the server's own work,
 * which goes on in the same process. The floating-point mode is put back after each call,
 * which costs no system call; the rest (signal mask, the server's signal handlers, timers,
 * umask, working directory, descriptors 0 to 2) in the next quiet moment, 20 ms later at
 * most. A locale stays, for the handlers: own code that prints fractions has its own one.
 * The server reads nothing from the environment while it serves.
 *
 * For the serving thread.
 */
#ifndef SIDE_EFFECTS_H
#define SIDE_EFFECTS_H

#include <stdint.h>

/* Remembers how things are; before any handler code has run in this process. Returns 0, or
 * -1 with errno. */
int side_effects_note(void);

/* The handler of signal <number>, just installed, is the server's. */
void side_effects_own_signal(int number);

/* An alarm is the server's from now on and stays. Async-signal-safe. */
void side_effects_keep_alarm(void);

/* Handler code has returned. */
void side_effects_leave(void);

/* What the server itself answers (its built-in handlers) runs between these. */
void side_effects_own_begin(void);
void side_effects_own_end(void);

/* Before a wait of at most <timeout_ms> (-1: for ever) at <now_ns>: puts back what is to be,
 * if it is time (INT64_MAX: it is). Returns how long the wait may be. */
int side_effects_undo(int64_t now_ns, int timeout_ms);

#endif
