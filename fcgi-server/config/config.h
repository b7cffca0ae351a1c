/* SPDX-License-Identifier: MIT */
/*
 * config.h - the configuration as one struct. It is filled once (config_load.h), lives as
 * long as the process, and is read-only afterwards; children inherit it. Strings in it
 * belong to it.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most routes, client networks and folders with handlers. */
#define CONFIG_ROUTES_MAX  256
#define CONFIG_ALLOWED_MAX 64
#define CONFIG_FOLDERS_MAX 8

enum config_pm {
    PM_STATIC = 0,
    PM_DYNAMIC = 1,
    PM_ONDEMAND = 2,
};

/* One route, in the order of definition; a later definition of the same prefix
 * has replaced the earlier one. */
struct config_route {
    const char *prefix;   /* starts with '/', no trailing '/' unless it is "/" */
    const char *handler;  /* as written: "echo.so", "hello.lua", "builtin:status" */
    const char *argument; /* NULL if none was given */
    const char *origin; /* where it was defined, "conf/fcgi-server.lua:12" or "-r": for messages */
};

/* One network of --allowed-clients: an address and how many bits of it count. */
struct config_network {
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
    uint8_t bits;
};

struct config {
    /* what to do */
    const char *file;   /* -c; NULL if none */
    bool test;          /* -t */
    bool dump;          /* -T */
    bool help;          /* -h */
    bool version;       /* -V */
    const char *status; /* --status=SOCKET: ask a running server and print */
    const char *status_format;

    /* where */
    const char *listen;        /* as written; NULL: LISTEN_FDS, then descriptor 0 */
    const char *listen_origin; /* where it was defined */
    uint32_t backlog;
    uint32_t socket_mode;
    const char *socket_owner; /* "user" or "user:group"; NULL: unchanged */
    const char *allowed_clients;
    struct config_network allowed[CONFIG_ALLOWED_MAX];
    uint32_t allowed_count; /* with allowed_clients NULL: 0, everybody may connect */
    const char *pid_file;
    const char *control; /* path of the control socket; NULL: none */
    int32_t ready_fd;    /* -1: none */
    const char *pool;    /* name in status, logs and titles */

    /* processes */
    uint32_t engine;  /* row of engines.h */
    int32_t children; /* effective; 0: no master */
    const char *children_origin;
    uint32_t pm; /* enum config_pm */
    uint32_t start_servers;
    uint32_t min_spare;
    uint32_t max_spare;
    uint32_t spawn_rate;      /* most children started per second by dynamic and ondemand */
    uint64_t idle_timeout_ms; /* ondemand: an idle child ends after this */
    uint64_t max_requests;    /* 0: no limit; each child adds up to 10 % of its own */
    uint64_t memory_limit;    /* bytes of private memory of one child; 0: no limit */
    uint64_t stop_timeout_ms;
    uint64_t check_timeout_ms;
    const char *user;
    const char *group;
    const char *chroot;
    uint64_t rlimit_files; /* 0: as high as the hard limit allows */
    int64_t rlimit_core;   /* bytes; -1: unchanged */

    /* requests: limits that the engines keep */
    uint64_t request_timeout_ms; /* 0: none */
    uint64_t read_timeout_ms;    /* an incomplete request is dropped after this */
    uint64_t keep_timeout_ms;    /* an idle kept connection is closed after this */
    uint64_t queue_deadline_ms;  /* 503 to a request that waited longer before it ran; 0: none */
    uint64_t params_max;         /* bytes of all parameters of a request: 431 beyond */
    uint64_t body_max;           /* bytes of a body: 413 beyond */
    uint32_t connections_max;    /* per child */
    uint32_t requests_max;       /* in flight (running and waiting) per child */

    /* routes */
    const char *folders[CONFIG_FOLDERS_MAX + 1]; /* for router_locate(); NULL at the end */
    const char
        *handlers_dir; /* where relative handler names are searched first; NULL: defaults only */
    const char *status_path; /* NULL or "": no such route */
    const char *ping_path;
    bool allow_lua_os;   /* Lua handlers get io, os.execute and the like */
    uint64_t lua_memory; /* bytes that the Lua state of one child may hold */
    bool lua_no_jit;     /* Lua is interpreted only */
    struct config_route routes[CONFIG_ROUTES_MAX];
    uint32_t route_count;

    /* logs */
    const char *log; /* path, "stderr" or "syslog" */
    uint32_t log_level;
    uint32_t decorate; /* lines that children print are prefixed with time and pid */
    const char *access_log;
    const char *access_format;
    const char *slow_log; /* NULL: into the log */
    uint64_t slow_ms;     /* 0: off */
};

/* A message that says what is wrong, where, and what was expected. */
struct config_error {
    char text[512];
};

#endif
