/* SPDX-License-Identifier: MIT */
#include "master/respawn.h"

static int64_t
delay_of(uint32_t level)
{
    int64_t delay_ms = RESPAWN_DELAY_MIN_MS;
    while (--level > 0 && delay_ms < RESPAWN_DELAY_MAX_MS)
        delay_ms *= 2;
    return delay_ms < RESPAWN_DELAY_MAX_MS ? delay_ms : RESPAWN_DELAY_MAX_MS;
}

static void
count_useful(struct respawn *respawn, int64_t now_ms, uint32_t places)
{
    if (now_ms - respawn->window_ms >= 1000) {
        respawn->window_ms = now_ms;
        respawn->deaths = 0;
    }
    if (++respawn->deaths > places && respawn->not_before_ms < respawn->window_ms + 1000)
        respawn->not_before_ms = respawn->window_ms + 1000;
}

bool
respawn_death(struct respawn *respawn, int64_t now_ms, int64_t started_ms, bool useful,
              uint32_t places)
{
    if (useful || now_ms - started_ms >= RESPAWN_OLD_MS) {
        count_useful(respawn, now_ms, places);
        return false;
    }
    respawn->last_death_ms = now_ms;
    /* Children started before the wave began belong to it. */
    if (respawn->level > 0 && started_ms < respawn->wave_ms)
        return false;
    respawn->wave_ms = now_ms;
    respawn->level++;
    respawn->alone = respawn->level > 1;
    respawn->not_before_ms = now_ms + delay_of(respawn->level);
    return true;
}

void
respawn_proof(struct respawn *respawn, int64_t now_ms, int64_t started_ms, bool useful)
{
    if (respawn->level == 0)
        return;
    if (started_ms >= respawn->wave_ms && (useful || now_ms - started_ms >= RESPAWN_PROOF_MS))
        respawn->alone = false;
    if (now_ms - respawn->last_death_ms >= RESPAWN_FORGET_MS)
        respawn->level = 0;
}

uint32_t
respawn_allowed(struct respawn *respawn, int64_t now_ms, uint32_t wanted, uint32_t unproved)
{
    if (now_ms < respawn->not_before_ms)
        return 0;
    if (!respawn->alone || wanted == 0)
        return wanted;
    return unproved == 0 ? 1 : 0;
}
