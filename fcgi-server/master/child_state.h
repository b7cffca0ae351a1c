/* SPDX-License-Identifier: MIT */
/*
 * child_state.h - one child, as the master knows it. Its life:
 *
 *     STARTING --ready--> SERVING --retire--> RETIRING --timeout--> STOPPING --1 s--> KILLED
 *                            |                                         ^
 *                            +------------close--> CLOSING --timeout---+
 *
 * Each state on the right is entered with a signal; see ladder[] in children.c.
 */
#ifndef CHILD_STATE_H
#define CHILD_STATE_H

#include "master/child_output.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct board_slot;

enum life {
    LIFE_NONE = 0,
    LIFE_STARTING = 1, /* forked, not yet ready */
    LIFE_SERVING = 2,
    LIFE_RETIRING = 3, /* gives its connections to other children */
    LIFE_CLOSING = 4,  /* the whole server stops */
    LIFE_STOPPING = 5, /* its time is over */
    LIFE_KILLED = 6,
};

struct child {
    pid_t pid;
    enum life life;
    uint32_t generation;     /* of the configuration */
    struct board_slot *slot; /* NULL: started by a binary with another layout of the board */
    struct child_output output;
    int log_fd;    /* our end of its log socket; -1 */
    bool logs_due; /* the reopened logs must still be sent to it */
    int64_t started_ms;
    int64_t deadline_ms; /* when the next state is due; 0: never */
};

#endif
