/* SPDX-License-Identifier: MIT */
/*
 * respawn.h - when children that died are replaced. Pure decisions on numbers.
 * It never gives up and never loops without a pause:
 *
 * - A child that had answered something (or lived for RESPAWN_OLD_MS) is replaced
 *   at once, but in any second not more often than there are places.
 * - A child that died before it answered anything starts a wave: all wait for a delay that
 *   doubles from 100 ms to 5 s with each wave. From the second wave on a single
 *   child is started first; the rest follow when it has proved itself.
 */
#ifndef RESPAWN_H
#define RESPAWN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RESPAWN_OLD_MS = 10000,
    RESPAWN_PROOF_MS = 1000, /* a child that lives this long has proved itself */
    RESPAWN_DELAY_MIN_MS = 100,
    RESPAWN_DELAY_MAX_MS = 5000,
    RESPAWN_FORGET_MS = 20000, /* after this long without useless deaths, waves start over */
};

/* All zero at first. Times are of CLOCK_MONOTONIC. */
struct respawn {
    uint32_t level;        /* waves so far */
    bool alone;            /* only one child may start */
    int64_t wave_ms;       /* when the last wave began */
    int64_t last_death_ms; /* when the last useless child died */
    int64_t not_before_ms; /* nothing is started earlier */
    int64_t window_ms;     /* start of the second in which <deaths> are counted */
    uint32_t deaths;
};

/* A child that was not told to end has died at <now_ms>. <useful>: it had
 * answered a request. Returns true if it began a wave (worth a line in the log). */
bool respawn_death(struct respawn *respawn, int64_t now_ms, int64_t started_ms, bool useful,
                   uint32_t places);

/* A child started at <started_ms> lives, which proves that children work. */
void respawn_proof(struct respawn *respawn, int64_t now_ms, int64_t started_ms, bool useful);

/* How many of <wanted> may be started now, when <unproved> children (started since
 * the last wave) are alive. */
uint32_t respawn_allowed(struct respawn *respawn, int64_t now_ms, uint32_t wanted,
                         uint32_t unproved);

#endif
