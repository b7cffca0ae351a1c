/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - does the measurement say something about the server, or about
 * the client and its machine? Pure: judges a result, reads nothing else.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "load/result.h"

enum grade { VERDICT_VALID = 0, VERDICT_SUSPECT, VERDICT_INVALID };

extern const char *const verdict_names[3];

struct verdict {
    enum grade grade; /* the worst of the reasons */
    size_t count;
    size_t more; /* reasons for which there was no place */
    struct {
        enum grade grade; /* VALID: worth knowing, no objection */
        char text[400];
    } reason[64];
};

/* What the judgement needs to know besides the result. */
struct circumstances {
    const struct options *options;
    bool fcgi;
    bool local;     /* the server is on this machine */
    unsigned ports; /* local ports for outgoing connections; 0: unknown */
};

/* Adds a reason; the verdict becomes at least as bad as <grade>. Reasons beyond
 * the last place are counted in it. */
void verdict_object(struct verdict *v, enum grade grade, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Judges <r> by all rules; clears <v> first. */
void verdict_judge(struct verdict *v, const struct result *r, const struct circumstances *c);

#endif
