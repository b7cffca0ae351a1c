/* SPDX-License-Identifier: MIT */
/*
 * heritage.h - everything that a child inherits from the master. What is not in
 * this list is closed, reset or untouched in child.c.
 */
#ifndef HERITAGE_H
#define HERITAGE_H

#include "status/board.h"

#include <stdint.h>
#include <sys/types.h>

struct config;

struct heritage {
    const struct config *config;
    struct board *board;     /* to report on */
    struct board_slot *slot; /* the child's own line */
    pid_t master;            /* 0: there is none, this process serves by itself */
    int listen_fd;           /* shared by all */
    int handover_fd[2];      /* queue of connections between siblings; -1 without a master */
    int notice_fd;           /* struct child_notice to the master; -1 without one */
    int output_fd;           /* becomes descriptors 1 and 2; -1: they stay */
    int log_fd;              /* socket: log lines to the master, opened logs from it; -1 */
    uint32_t number;         /* of the line in the board: seeds and names */
};

/* What a child tells the master: one write(2), so whole. */
enum child_notice_kind {
    NOTICE_READY = 0,    /* handlers are loaded, it serves from now on */
    NOTICE_RETIRING = 1, /* it drains of its own accord: start another */
    NOTICE_LOG_GONE = 2, /* one of its logs has no peer any more: open it again */
};

struct child_notice {
    int32_t pid;
    int32_t kind;
};

#endif
