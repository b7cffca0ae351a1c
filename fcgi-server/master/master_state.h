/* SPDX-License-Identifier: MIT */
/*
 * master_state.h - what the master knows; for the files of the process side that
 * act for it: master, master_signals, reaper, reload, sizing.
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
    STAGE_GRACEFUL = 1, /* QUIT: requests take as long as they take */
    STAGE_STOPPING = 2, /* TERM, INT: they have stop_timeout */
    STAGE_KILLING = 3,  /* a second one */
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
    struct child_output output; /* what it says */
    int64_t deadline_ms;        /* when it is killed; 0: never */
    int config_fd;              /* the configuration file as it is checked */
    bool upgrade;               /* with the binary that is on disk now */
    bool again;                 /* another reload was asked for meanwhile */
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
    bool begun; /* the first children have been ready */
    struct board board;
    struct children children;
    struct pm_limits limits;
    struct pm_memory memory;
    struct respawn respawn;
    struct control control;
    struct master_check check;
    bool memory_unknown;  /* the kernel does not tell, which was said */
    bool socket_missed;   /* so was that the socket file has gone */
    bool log_gone;        /* a log of the children has lost its peer */
    bool demand;          /* work waits: only during on_demand() */
    int64_t rearm_ms;     /* when to look for waiting work again; 0: it is looked for */
    int64_t tick_ms;      /* next second */
    uint32_t memory_turn; /* whose memory is looked at next */
};

#endif
