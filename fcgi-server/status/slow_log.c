/* SPDX-License-Identifier: MIT */
#include "status/slow_log.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/line.h"
#include "base/log.h"
#include "status/child_logs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
slow_log_write(const char *what, const char *handler, uint64_t elapsed_ms, const char *trace)
{
    if (!child_logs_wanted(CHILD_LOG_SLOW)) {
        log_warn("slow: %s took %llu ms in %s%s%s", what, (unsigned long long)elapsed_ms, handler,
                 trace != NULL ? ": " : "", trace != NULL ? trace : "");
        return;
    }
    struct line line;
    char date[CALENDAR_SIZE];
    char head[CALENDAR_SIZE + 64];
    line.used = 0;
    calendar_common(date, clock_wall_ms());
    int length = snprintf(head, sizeof head, "[%s] pid %d, %llu ms, ", date, (int)getpid(),
                          (unsigned long long)elapsed_ms);
    line_add(&line, head, (size_t)length);
    line_add_escaped(&line, handler);
    line_add(&line, ", ", 2);
    line_add_escaped(&line, what);
    if (trace != NULL) {
        line_add(&line, "\n", 1);
        line_add(&line, trace, strlen(trace));
    }
    line_end(&line);
    child_logs_put(CHILD_LOG_SLOW, line.text, line.used);
}
