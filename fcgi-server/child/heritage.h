/* SPDX-License-Identifier: MIT */
/*
 * heritage.h - everything that a child inherits from the master. child.c closes
 * or resets everything else.
 */
#ifndef HERITAGE_H
#define HERITAGE_H

#include "status/board.h"

#include <stdint.h>
#include <sys/types.h>

struct config;

struct heritage {
    const struct config *config;
    struct board *board;     /* shared counters of all children */
    struct board_slot *slot; /* the slot of this child */
    pid_t master;            /* 0 without a master */
    int listen_fd;           /* shared by all */
    int handover_fd[2];      /* queue of connections between siblings; -1 without a master */
    int notice_fd;           /* struct child_notice to the master; -1 without one */
    int output_fd;           /* becomes descriptors 1 and 2; -1: they stay */
    int log_fd;              /* socket: sends log lines to the master, receives opened logs; -1 */
    uint32_t number;         /* index of the slot: for seeds and names */
};

/* What a child tells the master: one write(2), so never split. */
enum child_notice_kind {
    NOTICE_READY = 0,    /* handlers are loaded, it serves from now on */
    NOTICE_RETIRING = 1, /* it drains by its own decision: start another */
    NOTICE_LOG_GONE = 2, /* the peer of one of its logs has gone: open it again */
};

struct child_notice {
    int32_t pid;
    int32_t kind;
};

#endif
