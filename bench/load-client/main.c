/* SPDX-License-Identifier: MIT */
/* main.c - load-client: options, target, run, verdict, report, exit status. */
#include "load/options.h"
#include "load/run.h"
#include "load/system.h"
#include "load/target.h"
#include "protocol/bytes.h"
#include "report/find_max.h"
#include "report/merge.h"
#include "report/report.h"
#include "report/verdict.h"

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

/* Writes <text> to <file>, and closes it unless it is standard output. */
static bool
written(FILE *file, const struct bytes *text)
{
    if (file == NULL)
        return false;
    bool good = fwrite(text->data, 1, text->length, file) == text->length;
    good = fflush(file) == 0 && good;
    return (file == stdout || fclose(file) == 0) && good;
}

/* Writes <text> to the file at <path>, or to standard output. What cannot be
 * written to a file goes to standard output, so that no measurement is lost. */
static int
put(const char *path, const struct bytes *text)
{
    if (written(path ? fopen(path, "we") : stdout, text))
        return 0;
    fprintf(stderr, "load-client: cannot write %s: %s\n", path ? path : "to standard output",
            strerror(errno));
    if (path != NULL) {
        fprintf(stderr, "load-client: it goes to standard output instead\n");
        written(stdout, text);
    }
    return EXIT_USAGE;
}

/* What was printed directly has arrived? */
static int
printed(void)
{
    const struct bytes nothing = {.data = ""};
    return put(NULL, &nothing);
}

/* Says so before the measurement, not after it. An existing file stays as it is. */
static bool
writable(const char *path)
{
    FILE *file = path != NULL ? fopen(path, "ae") : NULL;
    if (path != NULL && file == NULL)
        fprintf(stderr, "load-client: cannot write %s: %s\n", path, strerror(errno));
    if (file != NULL)
        fclose(file);
    return path == NULL || file != NULL;
}

static int
exit_status(const struct report *r)
{
    const struct result *result = r->result;
    if (result->interrupted)
        return 128 + result->interrupted;
    if (counter_get(&result->tally.ok) == 0)
        return EXIT_NOTHING;
    if (r->options->strict && r->verdict->grade == VERDICT_INVALID)
        return EXIT_INVALID;
    bool failed = tally_failed(&result->tally) > 0 && !slo_allows_failures(r->slo);
    bool missed = !slo_holds(r->slo, result) || (r->search && r->search->rate_per_s == 0);
    return failed || missed ? EXIT_SOME_FAILED : 0;
}

/* Prints the report and what else was asked for; returns the exit status. */
static int
publish(const struct report *r)
{
    struct bytes text = {0};
    report_write(&text, r);
    int status = put(r->options->output, &text);
    bytes_free(&text);
    if (r->options->hgrm != NULL) {
        report_hgrm(&text, &r->result->response);
        status |= put(r->options->hgrm, &text);
        bytes_free(&text);
    }
    if (r->result->series_error != 0)
        status = EXIT_USAGE;
    return status ? status : exit_status(r);
}

static int
measure(const struct options *o, struct result *result)
{
    char message[512];
    struct slo slo;
    struct target target;
    struct search search;
    const char *objectives = o->find_max ? o->find_max : o->slo ? o->slo : "";
    if (slo_parse(&slo, objectives, message, sizeof(message)) == -1 ||
        target_init(&target, o, message, sizeof(message)) == -1)
        return complain(message);
    if (!writable(o->output) || !writable(o->hgrm))
        return EXIT_USAGE;
    const struct plan plan = {o->requests, o->duration_ns, o->rate_per_s, o->quiet};
    int failed = o->find_max ? find_max(&search, result, o, &target, &slo, message, sizeof(message))
                             : run(result, o, &target, &plan, message, sizeof(message));
    if (failed == -1)
        return complain(message);
    const struct circumstances c = {o, target.url.fcgi, target.local, system_port_count()};
    struct verdict verdict;
    verdict_judge(&verdict, result, &c);
    const struct report report = {
        o, result, &verdict, &target, o->url, &slo, o->find_max ? &search : NULL};
    int status = publish(&report);
    target_free(&target);
    return status;
}

/* load-client merge [options] A.json B.json ... */
static int
merge(struct options *o, char **files, size_t count, struct result *result)
{
    char message[512];
    struct slo slo;
    struct verdict verdict = {0};
    if (slo_parse(&slo, o->slo ? o->slo : "", message, sizeof(message)) == -1)
        return complain(message);
    if (merge_distinct(files, count, message, sizeof(message)) == -1)
        return complain(message);
    o->url = NULL;
    o->connections = o->threads = 0;
    for (size_t i = 0; i < count; i++)
        if (merge_file(result, o, &verdict, files[i], message, sizeof(message)) == -1)
            return complain(message);
    const struct report report = {o, result, &verdict, NULL, o->url, &slo, NULL};
    int status = publish(&report);
    free((char *)o->url);
    return status;
}

int
main(int argc, char **argv)
{
    struct options options;
    char message[512];
    bool merging = argc > 1 && strcmp(argv[1], "merge") == 0;
    if (options_parse(&options, argc - merging, argv + merging, message, sizeof(message)) == -1) {
        fprintf(stderr, "load-client: %s\nTry 'load-client --help'.\n", message);
        return EXIT_USAGE;
    }
    if (options.help) {
        options_help();
        return printed();
    }
    if (options.version) {
        puts("load-client " CLIENT_VERSION);
        return printed();
    }
    struct result *result = bytes_allocate(1, sizeof(*result));
    run_block_signals();
    int status = merging ? merge(&options, options.operand, options.operands, result)
                         : measure(&options, result);
    free(result);
    return status;
}
