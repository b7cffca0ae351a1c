/* SPDX-License-Identifier: MIT */
/* options.c - see options.h */
#include "load/options.h"
#include "load/clock.h"
#include "protocol/bytes.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG = 0, COUNT, TIME, PERIOD, RATE, LENGTH, TEXT, LIST, STATUS, HEADING };

struct option_row {
    enum kind kind;
    char letter;          /* 0: no short form */
    const char *name;     /* NULL: no long form */
    const char *argument; /* NULL for flags */
    size_t offset;        /* in struct options */
    const char *help;
};

#define AT(member) offsetof(struct options, member)

static const struct option_row rows[] = {
    {HEADING, 0, NULL, NULL, 0, "How much"},
    {COUNT, 'n', "requests", "N", AT(requests), "send N requests (1 unless a duration is given)"},
    {COUNT, 'c', "connections", "N", AT(connections), "connections at a time (1)"},
    {PERIOD, 'd', "duration", "TIME", AT(duration_ns), "stop after TIME: 500ms, 10s, 2m"},
    {PERIOD, 't', NULL, "SECONDS", AT(duration_ns), "the same, as ab spells it"},
    {RATE, 'R', "rate", "RATE", AT(rate_per_s), "open loop: RATE requests per second"},
    {COUNT, 'j', "threads", "N", AT(threads), "threads (1)"},
    {TIME, 0, "ramp", "TIME", AT(ramp_ns), "open the connections evenly over TIME"},
    {TIME, 0, "warmup", "TIME", AT(warmup_ns), "load for TIME first and discard it"},
    {TIME, 0, "think", "TIME", AT(think_ns), "pause of a connection between two requests"},
    {HEADING, 0, NULL, NULL, 0, "What is sent"},
    {FLAG, 'k', "keep-alive", NULL, AT(keep_alive), "keep connections open between requests"},
    {TEXT, 'm', "method", "METHOD", AT(method), "request method (GET; POST with -p)"},
    {FLAG, 'i', "head", NULL, AT(head), "send HEAD requests"},
    {LIST, 'H', "header", "'NAME: VALUE'", AT(headers), "add a header; may be repeated"},
    {TEXT, 'T', "content-type", "TYPE", AT(content_type), "content type of the body"},
    {TEXT, 'p', "body", "FILE", AT(body_file), "send the body in FILE"},
    {TEXT, 0, "requests-file", "FILE", AT(requests_file),
     "several requests, one per line, weighted"},
    {LIST, 0, "param", "NAME=VALUE", AT(params), "FastCGI: set a parameter; may be repeated"},
    {TEXT, 0, "script-filename", "PATH", AT(script_filename), "FastCGI: SCRIPT_FILENAME"},
    {PERIOD, 's', "timeout", "TIME", AT(timeout_ns), "time-out of a request (30s)"},
    {PERIOD, 0, "connect-timeout", "TIME", AT(connect_timeout_ns), "time-out of a connect (10s)"},
    {COUNT, 0, "max-header", "BYTES", AT(header_limit), "largest header of an answer (65536)"},
    {HEADING, 0, NULL, NULL, 0, "What is right"},
    {STATUS, 0, "expect-status", "LIST", AT(expect_status), "successful codes (2xx,304)"},
    {LENGTH, 0, "expect-length", "BYTES", AT(expect_length), "length of every body"},
    {TEXT, 0, "expect-body", "FILE", AT(expect_body), "every body equals FILE"},
    {FLAG, 'l', "variable", NULL, AT(variable), "bodies may differ from the first one"},
    {TEXT, 0, "slo", "LIST", AT(slo), "fail unless it holds: 'p99<20ms,failed<0.1%'"},
    {TEXT, 0, "find-max", "LIST", AT(find_max), "search the highest rate that holds LIST"},
    {FLAG, 0, "strict", NULL, AT(strict), "exit with 4 when the measurement is invalid"},
    {HEADING, 0, NULL, NULL, 0, "What is printed"},
    {TEXT, 'f', "format", "FORMAT", AT(format_name), "text, json, csv, ab or siege (text)"},
    {TEXT, 'o', "output", "FILE", AT(output), "write the report to FILE"},
    {TEXT, 0, "series", "FILE", AT(series), "write a JSON line per second to FILE"},
    {TEXT, 0, "hgrm", "FILE", AT(hgrm), "write the percentile table of HdrHistogram to FILE"},
    {FLAG, 'q', "quiet", NULL, AT(quiet), "no live lines"},
    {FLAG, 'h', "help", NULL, AT(help), "print this help"},
    {FLAG, 'V', "version", NULL, AT(version), "print the version"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct {
    const char *suffix;
    double ns;
} time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
                  {"", 1e9}, {"m", 60e9}, {"h", 3600e9}};

int
options_time(const char *text, uint64_t *ns)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value < 0)
        return -1;
    for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++) {
        if (strcmp(end, time_units[i].suffix) == 0 && value * time_units[i].ns < 1e18) {
            *ns = (uint64_t)llround(value * time_units[i].ns);
            return 0;
        }
    }
    return -1;
}

/* A plain number, or with k (thousand) or M (million). */
static int
parse_count(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (*end == 'k' || *end == 'M')
        *value *= *end++ == 'k' ? 1e3 : 1e6;
    return end == text || *end != '\0' || !isfinite(*value) || *value < 0 || *value > 1e15 ? -1 : 0;
}

/* "200,3xx,404": single codes and whole classes. */
static int
parse_status(struct status_set *set, const char *text)
{
    set->count = 0;
    while (set->count < 8) {
        char *end;
        long low = strtol(text, &end, 10), high = low;
        if (end == text + 1 && strncmp(end, "xx", 2) == 0) {
            low *= 100;
            high = low + 99;
            end += 2;
        }
        if (low < 100 || high > 999 || (*end != ',' && *end != '\0'))
            return -1;
        set->range[set->count].low = (uint16_t)low;
        set->range[set->count++].high = (uint16_t)high;
        if (*end == '\0')
            return 0;
        text = end + 1;
    }
    return -1;
}

bool
options_status_has(const struct status_set *set, unsigned status)
{
    for (size_t i = 0; i < set->count; i++)
        if (status >= set->range[i].low && status <= set->range[i].high)
            return true;
    return false;
}

/* What a value has to be, for those who wrote something else. */
static const char *const hints[] = {
    [FLAG] = "",
    [COUNT] = " above 0, such as 500, 10k or 1M",
    [TIME] = ", such as 500ms, 10s or 2m",
    [PERIOD] = " above 0, such as 500ms, 10s or 2m",
    [RATE] = " above 0, such as 0.5, 200 or 2k",
    [LENGTH] = ", such as 0, 500 or 10k",
    [TEXT] = "",
    [LIST] = "",
    [STATUS] = ", such as 200 or 200,3xx,404 (eight at most)",
    [HEADING] = "",
};

static int
store(struct options *o, const struct option_row *row, char *text)
{
    char *field = (char *)o + row->offset;
    double number;
    switch (row->kind) {
    case FLAG:
        *(bool *)field = true;
        return 0;
    case COUNT:
        if (parse_count(text, &number) == -1 || number != floor(number) || number < 1)
            return -1;
        *(uint64_t *)field = (uint64_t)number;
        return 0;
    case LENGTH:
        if (parse_count(text, &number) == -1 || number != floor(number))
            return -1;
        *(int64_t *)field = (int64_t)number;
        return 0;
    case RATE:
        if (parse_count(text, &number) == -1 || number <= 0)
            return -1;
        memcpy(field, &number, sizeof(number));
        return 0;
    case TIME:
        return options_time(text, (uint64_t *)field);
    case PERIOD:
        return options_time(text, (uint64_t *)field) == -1 || *(uint64_t *)field == 0 ? -1 : 0;
    case TEXT:
        if (*text == '\0')
            return -1;
        *(const char **)field = text;
        return 0;
    case LIST: {
        struct list *list = (struct list *)field;
        char **item = realloc(list->item, (list->count + 1) * sizeof(char *));
        if (item == NULL)
            return -1;
        list->item = item;
        list->item[list->count++] = text;
        return 0;
    }
    case STATUS:
        return parse_status((struct status_set *)field, text);
    case HEADING:
        break;
    }
    return -1;
}

static int
parse_format(struct options *o)
{
    static const char *const names[] = {"text", "json", "csv", "ab", "siege"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(o->format_name, names[i]) == 0) {
            o->format = (enum format)i;
            return 0;
        }
    }
    return -1;
}

/* A token of HTTP (RFC 9110, section 5.6.2): a method, the name of a header. */
static bool
is_token(const char *text, size_t n)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && strchr(marks, text[i]) == NULL)
            return false;
    return n > 0;
}

static bool
is_header(const char *text)
{
    size_t n = strcspn(text, ":");
    return text[n] == ':' && is_token(text, n) && strpbrk(text, "\r\n") == NULL;
}

/* What one option alone cannot know. NULL, or what is wrong. */
static const char *
check(struct options *o)
{
    if (parse_format(o) == -1)
        return "-f: expected text, json, csv, ab or siege";
    if (o->connections < 1 || o->connections > 1000000)
        return "-c: expected 1 to 1000000 connections";
    if (o->threads < 1 || o->threads > 256)
        return "-j: expected 1 to 256 threads";
    if (o->header_limit < 64 || o->header_limit > (1u << 30))
        return "--max-header: expected 64 bytes to 1 GiB";
    if (o->rate_per_s > 0 && o->think_ns > 0)
        return "--think belongs to the closed loop; an open loop (-R) has a rate instead";
    if (o->find_max != NULL && o->rate_per_s > 0)
        return "--find-max searches the rate: leave -R out";
    if (o->find_max != NULL && o->slo != NULL)
        return "--find-max has the objectives itself: leave --slo out";
    if (o->find_max != NULL && o->requests > 0)
        return "--find-max measures each rate for a time: give -d, not -n";
    if (o->method != NULL && !is_token(o->method, strlen(o->method)))
        return "-m: expected one word, such as PUT or DELETE";
    if (o->head && o->method != NULL && strcmp(o->method, "HEAD") != 0)
        return "-i sends HEAD: leave -m out";
    if (o->head && o->body_file != NULL && o->requests_file == NULL)
        return "-i sends HEAD, which has no body: leave -p or -i out";
    if (o->head && (o->expect_body != NULL || o->expect_length > 0) && o->requests_file == NULL)
        return "-i sends HEAD, whose answer has no body: leave --expect-body and --expect-length "
               "out";
    if (o->variable && (o->expect_body != NULL || o->expect_length >= 0))
        return "--variable lets bodies differ: leave --expect-body and --expect-length out";
    for (size_t i = 0; i < o->headers.count; i++)
        if (!is_header(o->headers.item[i]))
            return "-H: expected 'Name: value' on one line, without a blank in the name";
    for (size_t i = 0; i < o->params.count; i++)
        if (strchr(o->params.item[i], '=') == NULL || *o->params.item[i] == '=')
            return "--param: expected NAME=VALUE";
    if (o->threads > o->connections)
        o->threads = o->connections;
    if (o->requests == 0 && o->duration_ns == 0)
        *(o->find_max ? &o->duration_ns : &o->requests) = o->find_max ? 5 * NS_PER_S : 1;
    return NULL;
}

/* The tables of getopt_long() from ours: <shorts> takes the letters, <longs>
 * the names; the value of a long option is 256 + its row. */
static void
getopt_tables(char *shorts, struct option *longs)
{
    *shorts++ = ':';
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].name != NULL)
            *longs++ = (struct option){rows[i].name, rows[i].argument != NULL, NULL, 256 + (int)i};
        if (rows[i].letter == 0)
            continue;
        *shorts++ = rows[i].letter;
        if (rows[i].argument != NULL)
            *shorts++ = ':';
    }
    *shorts = '\0';
    *longs = (struct option){0};
}

static const struct option_row *
find_row(int value)
{
    for (size_t i = 0; i < ROWS; i++)
        if (value == 256 + (int)i || (value < 256 && rows[i].letter == value && value != 0))
            return &rows[i];
    return NULL;
}

int
options_parse(struct options *o, int argc, char **argv, char *message, size_t size)
{
    char shorts[2 * ROWS + 2];
    struct option longs[ROWS + 1];
    getopt_tables(shorts, longs);
    *o = (struct options){
        .connections = 1,
        .threads = 1,
        .timeout_ns = 30 * NS_PER_S,
        .connect_timeout_ns = 10 * NS_PER_S,
        .header_limit = 65536,
        .expect_status = {.range = {{200, 299}, {304, 304}}, .count = 2},
        .expect_length = -1,
        .format_name = "text",
    };
    opterr = 0;
    int value;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct option_row *row = find_row(value);
        if (row == NULL) {
            char letter[] = {'-', (char)optopt, 0}; /* one of several in a word, perhaps */
            bool in_word = optopt > 0 && optopt < 256;
            snprintf(message, size,
                     value == ':'    ? "%s needs a value"
                     : optopt >= 256 ? "%s: this option takes no value"
                                     : "unknown option %s",
                     in_word ? letter : argv[optind - 1]);
            return -1;
        }
        if (store(o, row, optarg) == -1) {
            snprintf(message, size, "'%s' is no good for %s%s: expected %s%s", optarg,
                     row->name ? "--" : "-", row->name ? row->name : (char[]){row->letter, 0},
                     row->argument, hints[row->kind]);
            return -1;
        }
    }
    if (o->help || o->version)
        return 0;
    bool merging = strcmp(argv[0], "merge") == 0;
    o->operand = argv + optind;
    o->operands = (size_t)(argc - optind);
    if (o->operands == 0 || (o->operands > 1 && !merging)) {
        snprintf(message, size, "%s",
                 o->operands == 0 && merging ? "merge needs result files"
                 : o->operands == 0          ? "a URL is needed"
                                    : "one URL is enough; use --requests-file for several");
        return -1;
    }
    o->url = o->operand[0];
    const char *wrong = check(o);
    if (wrong != NULL)
        snprintf(message, size, "%s", wrong);
    return wrong ? -1 : 0;
}

void
options_help(void)
{
    puts("usage: load-client [options] URL\n"
         "       load-client merge [-f FORMAT] A.json B.json ...\n"
         "URL: http://host[:port]/path   http+unix:/socket:/path\n"
         "     fcgi://host:port/path     fcgi+unix:/socket:/path");
    for (size_t i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];
        if (row->kind == HEADING) {
            printf("\n%s\n", row->help);
            continue;
        }
        char left[64], letter[4] = "";
        if (row->letter)
            snprintf(letter, sizeof(letter), "-%c", row->letter);
        snprintf(left, sizeof(left), "%s%s%s%s %s", letter, row->letter && row->name ? ", " : "",
                 row->name ? "--" : "", row->name ? row->name : "",
                 row->argument ? row->argument : "");
        printf("  %s%-*s %s\n", row->letter ? "" : "    ", row->letter ? 31 : 27, left, row->help);
    }
    puts("\nexit status: 0 all answered as expected, 1 usage, set-up or writing failed,\n"
         "2 nothing succeeded, 3 some requests failed or the SLO is missed,\n"
         "4 measurement invalid and --strict,\n"
         "130 or 143 interrupted (the report is still printed). See load-client(1).");
}
