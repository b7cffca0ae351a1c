/* SPDX-License-Identifier: MIT */
/* report.c - see report.h: which layout prints. */
#include "report/report.h"

void
report_write(struct bytes *out, const struct report *r)
{
    static void (*const layouts[])(struct bytes *, const struct report *) = {
        [FORMAT_TEXT] = report_text, [FORMAT_JSON] = report_json,   [FORMAT_CSV] = report_csv,
        [FORMAT_AB] = report_ab,     [FORMAT_SIEGE] = report_siege,
    };
    layouts[r->options->format](out, r);
}
