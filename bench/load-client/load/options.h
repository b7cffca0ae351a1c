/* SPDX-License-Identifier: MIT */
/*
 * options.h - the command line. One table drives parsing and --help; the
 * manual is compared with it by a test.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format { FORMAT_TEXT = 0, FORMAT_JSON, FORMAT_CSV, FORMAT_AB, FORMAT_SIEGE };

/* Texts given by an option that may be repeated. */
struct list {
    char **item;
    size_t count;
};

/* Status codes that count as success: inclusive ranges. */
struct status_set {
    struct {
        uint16_t low, high;
    } range[8];
    size_t count;
};

struct options {
    const char *url; /* the first operand */
    char **operand;  /* what follows the options, at least one */
    size_t operands;
    uint64_t requests; /* 0: no limit */
    uint64_t connections;
    uint64_t threads;
    uint64_t duration_ns; /* 0: no limit */
    double rate_per_s;    /* 0: closed loop */
    uint64_t ramp_ns;
    uint64_t warmup_ns;
    uint64_t think_ns;
    uint64_t timeout_ns;
    uint64_t connect_timeout_ns;
    bool keep_alive;
    const char *method; /* NULL: GET, or POST with a body */
    bool head;
    struct list headers;
    const char *content_type;
    const char *body_file;
    const char *requests_file;
    struct list params; /* FastCGI, NAME=VALUE */
    const char *script_filename;
    uint64_t header_limit; /* bytes */
    struct status_set expect_status;
    int64_t expect_length; /* -1: the first answer's */
    const char *expect_body;
    bool variable;
    const char *format_name;
    enum format format;
    const char *output; /* NULL: standard output */
    const char *series;
    const char *hgrm;
    bool quiet;
    bool strict;
    const char *slo;
    const char *find_max;
    bool help, version;
};

/* Reads the command line into <o>; argv[0] is "merge" for the command of that
 * name, which takes files instead of one URL. Returns 0, or -1 with one line of reason
 * and remedy in <message>. After --help or --version nothing else is checked. */
int options_parse(struct options *o, int argc, char **argv, char *message, size_t size);

/* Prints the help text to standard output. */
void options_help(void);

/* Reads "500ms", "2s", "1m", "1h", "100us" or a bare number of seconds.
 * 0, or -1 when it is none of these. */
int options_time(const char *text, uint64_t *ns);

/* May <status> count as success? */
bool options_status_has(const struct status_set *set, unsigned status);

#endif
