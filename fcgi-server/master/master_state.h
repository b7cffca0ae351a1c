/* SPDX-License-Identifier: MIT */
/*
 * master_state.h - the state of the master, for the files that act on it: master,
 * master_signals, pool_size, reaper, reload, standby.
 */
#ifndef MASTER_STATE_H
#define MASTER_STATE_H

#include "master/child_output.h"
#include "master/children.h"
#include "master/control.h"
#include "master/pm.h"
#include "master/respawn.h"
#include "status/board.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Places in the table of children, for those that end while others start. */
#define PLACES_EXTRA 32

/* A later stage never goes back to an earlier one. */
enum stage {
    STAGE_RUNNING = 0,
    STAGE_GRACEFUL = 1, /* QUIT: requests have no time limit */
    STAGE_STOPPING = 2, /* TERM, INT: they have stop_timeout */
    STAGE_KILLING = 3,  /* a second TERM or INT */
};

/* Which descriptor an event is about: the kind, and an index in the lower half. */
#define MASTER_EVENT_KIND    (0xffffffffull << 32)
#define MASTER_EVENT_SIGNAL  (1ull << 32)
#define MASTER_EVENT_NOTICE  (2ull << 32)
#define MASTER_EVENT_OUTPUT  (3ull << 32)
#define MASTER_EVENT_CHECK   (4ull << 32)
#define MASTER_EVENT_CONTROL (5ull << 32)
#define MASTER_EVENT_DEMAND  (6ull << 32)
#define MASTER_EVENT_LOG     (7ull << 32)

/* The check that goes before a reload. */
struct master_check {
    pid_t pid;                  /* 0: none runs */
    struct child_output output; /* what it prints */
    int64_t deadline_ms;        /* when it is killed; 0: never */
    int config_fd;              /* the configuration file as it is checked */
    bool upgrade;               /* with the binary that is on disk now */
    bool again;                 /* another reload was requested meanwhile */
    bool again_upgrade;
};

struct master {
    const struct config *config;
    struct listener *listener;
    char **argv;
    int epoll_fd;
    int signal_fd;
    int ready_fd; /* --ready-fd until it was told; -1 */
    enum stage stage;
    bool begun; /* the first children were ready */
    struct board board;
    struct children children;
    struct pm_limits limits;
    struct pm_memory memory;
    struct respawn respawn;
    struct control control;
    struct master_check check;
    bool memory_unknown;  /* memory cannot be read; already logged */
    bool socket_missed;   /* the socket file has gone; already logged */
    bool log_gone;        /* the peer of a log of the children has gone */
    bool demand;          /* work waits; set only during on_demand() */
    int64_t rearm_ms;     /* when to watch for waiting work again; 0: being watched */
    int64_t tick_ms;      /* next second */
    uint32_t memory_turn; /* child whose memory is checked next */
};

#endif
