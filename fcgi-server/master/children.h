/* SPDX-License-Identifier: MIT */
/*
 * children.h - the master's table of its children: started, told to end, forced
 * to, and buried. How many there should be is decided elsewhere.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "master/channels.h"
#include "master/child_state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct children {
    const struct config *config;
    struct board *board;
    struct channels channels;
    int listen_fd;
    int epoll_fd;          /* what children say is announced here ... */
    uint64_t output_event; /* ... as this plus the index in the table: output of handlers */
    uint64_t log_event;    /* ... and this: lines of their own */
    uint32_t generation;
    uint32_t capacity;
    struct child *table;
    bool no_deadline; /* a graceful stop takes as long as it takes */
};

/* Forks one. Returns it, or NULL with errno (EAGAIN: no room in the table). */
struct child *children_start(struct children *children);

/* Puts <former>, a child that a former image has started, into the table, with line <slot>
 * of the board if there is one. Returns it, or NULL without room. */
struct child *children_inherit(struct children *children, const struct child *former,
                               uint32_t slot);

/* How many belong to former configurations. */
uint32_t children_old(const struct children *children);

/* Tells <child> to end in the manner of <life>; a state further right stays. */
void children_order(struct children *children, struct child *child, enum life life);

/* Orders all that fit: of an older generation, or of any. Returns how many. */
uint32_t children_order_old(struct children *children, enum life life, uint32_t most);
uint32_t children_order_all(struct children *children, enum life life);

/* Climbs the ladder where it is due. Returns when to come again, in milliseconds
 * of CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t children_ladder(struct children *children, int64_t now_ms);

/* The child <pid>, or NULL. */
struct child *children_find(struct children *children, pid_t pid);

/* Logs and frees what is left of a child that has ended. */
void children_bury(struct children *children, struct child *child);

/* Logs what handlers of child number <index> have printed, and its own lines. */
void children_output(struct children *children, uint32_t index);
void children_log(struct children *children, uint32_t index);

/* Hands the logs that were opened again on to all children; without <renewed>, to those that
 * could not take them yet. */
void children_hand_logs(struct children *children, bool renewed);

/* How many are in the table at all. */
uint32_t children_count(const struct children *children);

/* True for a child of the present configuration that was not told to end. */
bool children_current(const struct children *children, const struct child *child);

#endif
