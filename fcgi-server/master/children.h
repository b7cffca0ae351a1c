/* SPDX-License-Identifier: MIT */
/*
 * children.h - the master's table of its children: starts them, tells or
 * forces them to end, and frees what is left. pm.h decides how many there should be.
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
    int epoll_fd;          /* output of children is announced here ... */
    uint64_t output_event; /* ... as this plus the index in the table: output of handlers */
    uint64_t log_event;    /* ... and this: log lines of the child */
    uint32_t generation;
    uint32_t capacity;
    struct child *table;
    bool no_deadline; /* a graceful stop has no time limit */
};

/* Forks one. Returns it, or NULL with errno (EAGAIN: no room in the table). */
struct child *children_start(struct children *children);

/* Puts <former>, a child that a former image started, into the table, with line <slot>
 * of the board if there is one. Returns it, or NULL without room. */
struct child *children_inherit(struct children *children, const struct child *former,
                               uint32_t slot);

/* How many belong to former configurations. */
uint32_t children_old(const struct children *children);

/* Tells <child> to end by entering the state <life>; a later state stays. */
void children_order(struct children *children, struct child *child, enum life life);

/* Tells all children to end: those of older generations, or all. Returns how many. */
uint32_t children_order_old(struct children *children, enum life life, uint32_t most);
uint32_t children_order_all(struct children *children, enum life life);

/* Moves children whose deadline has passed to the next state. Returns the next deadline, in
 * milliseconds of CLOCK_MONOTONIC; INT64_MAX: none. */
int64_t children_ladder(struct children *children, int64_t now_ms);

/* The child <pid>, or NULL. */
struct child *children_find(struct children *children, pid_t pid);

/* Logs and frees what is left of a child that has ended. */
void children_bury(struct children *children, struct child *child);

/* Logs what handlers of child number <index> have printed, and its own lines. */
void children_output(struct children *children, uint32_t index);
void children_log(struct children *children, uint32_t index);

/* Sends the reopened logs to all children; without <renewed>, to those that could not take
 * them before. */
void children_hand_logs(struct children *children, bool renewed);

/* How many are in the table. */
uint32_t children_count(const struct children *children);

/* True for a child of the present configuration that was not told to end. */
bool children_current(const struct children *children, const struct child *child);

#endif
