/* SPDX-License-Identifier: MIT */
/* main.c - load-client: options, target, run, verdict, report, exit status. */
#include "bytes.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "system.h"
#include "target.h"
#include "verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 1, EXIT_NOTHING = 2, EXIT_SOME_FAILED = 3, EXIT_INVALID = 4 };

static int
complain(const char *message)
{
    fprintf(stderr, "load-client: %s\n", message);
    return EXIT_USAGE;
}

/* Writes <text> to the file at <path>, or to standard output. */
static int
put(const char *path, const struct bytes *text)
{
    FILE *file = path ? fopen(path, "we") : stdout;
    bool failed = file == NULL || fwrite(text->data, 1, text->length, file) != text->length;
    failed |= file != NULL && (path ? fclose(file) : fflush(file)) != 0;
    if (failed)
        fprintf(stderr, "load-client: cannot write %s: %s\n", path ? path : "the report",
                strerror(errno));
    return failed ? EXIT_USAGE : 0;
}

static int
exit_status(const struct options *o, const struct result *r, const struct verdict *v)
{
    if (r->interrupted)
        return 128 + r->interrupted;
    if (counter_get(&r->tally.ok) == 0)
        return EXIT_NOTHING;
    if (o->strict && v->grade == VERDICT_INVALID)
        return EXIT_INVALID;
    return tally_failed(&r->tally) > 0 ? EXIT_SOME_FAILED : 0;
}

static int
measure(const struct options *o, struct target *target, struct result *result)
{
    char message[512];
    const struct plan plan = {o->requests, o->duration_ns, o->rate_per_s, o->quiet};
    if (run(result, o, target, &plan, message, sizeof(message)) == -1)
        return complain(message);
    const struct circumstances c = {o, target->url.fcgi, target->local, system_port_count()};
    struct verdict verdict;
    verdict_judge(&verdict, result, &c);
    struct bytes text = {0};
    const struct report report = {o, result, &verdict, target, o->url};
    report_write(&text, &report);
    int status = put(o->output, &text);
    bytes_free(&text);
    if (o->hgrm != NULL && status == 0) {
        report_hgrm(&text, &result->tally.span[SPAN_RESPONSE]);
        status = put(o->hgrm, &text);
        bytes_free(&text);
    }
    return status ? status : exit_status(o, result, &verdict);
}

int
main(int argc, char **argv)
{
    struct options options;
    char message[512];
    if (options_parse(&options, argc, argv, message, sizeof(message)) == -1) {
        fprintf(stderr, "load-client: %s\nTry 'load-client --help'.\n", message);
        return EXIT_USAGE;
    }
    if (options.help) {
        options_help();
        return 0;
    }
    if (options.version) {
        puts("load-client " CLIENT_VERSION);
        return 0;
    }
    struct target target;
    if (target_init(&target, &options, message, sizeof(message)) == -1)
        return complain(message);
    run_block_signals();
    struct result *result = allocate(1, sizeof(*result));
    int status = measure(&options, &target, result);
    free(result);
    target_free(&target);
    return status;
}
