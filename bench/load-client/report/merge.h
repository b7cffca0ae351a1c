/* SPDX-License-Identifier: MIT */
/*
 * merge.h - results of several hosts as one: counts and histograms are added,
 * so percentiles are those of all requests together, not averages.
 */
#ifndef MERGE_H
#define MERGE_H

#include "report/verdict.h"

/* 0, or -1 with a message when two of <paths> are one file (device and inode). */
int merge_distinct(char *const *paths, size_t count, char *message, size_t size);

/* Adds the JSON result in file <path> to <result> and to <options> (url,
 * connections, threads), and its objections to <verdict>. The first call gets
 * zeroed structures. 0, or -1 with a reason in <message>. */
int merge_file(struct result *result, struct options *options, struct verdict *verdict,
               const char *path, char *message, size_t size);

#endif
