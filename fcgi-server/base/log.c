/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/log_target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define LINE_SIZE 8192
#define HEAD_SIZE 160       /* time, pid, level */
#define ROOM      (1 << 18) /* bytes kept for a slow reader */
#define RETRY_MS  1000      /* how often to try a target that has gone */
#define MESSAGES  64        /* taken from one child before it is the turn of the next */
#define SYSLOG_LEVEL(level)                                                                        \
    ((const int[]){LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG}[level])

/* What a child sends; the text has no NUL. */
struct message {
    uint32_t level;
    uint32_t lost; /* messages before this one */
    char text[LINE_SIZE];
};

static struct {
    struct log_target target;
    enum log_level level;
    int child_fd; /* -1 in the master */
    uint32_t child_lost;
    uint64_t lost; /* what log_lost() returns */
    uint64_t told; /* how many of them were reported */
    int64_t retry_ms;
} state = {
    .target = {.name = "stderr", .fd = STDERR_FILENO},
    .level = LOG_LEVEL_NOTICE,
    .child_fd = -1,
};

/* --- the target ----------------------------------------------------------------------- */

int
log_open(const char *target, enum log_level level, char *error, size_t error_size)
{
    state.level = level;
    return log_target_open(&state.target, target, ROOM, error, error_size);
}

int
log_reopen(char *error, size_t error_size)
{
    return log_target_reopen(&state.target, error, error_size);
}

bool
log_flush(void)
{
    int reason = errno;
    bool empty = state.target.rest_used == 0 || log_target_flush(&state.target);
    errno = reason;
    return empty;
}

uint64_t
log_lost(void)
{
    return state.lost + state.target.lost;
}

static void
put(const char *line, size_t length)
{
    char ignored[256];
    int64_t now_ms = state.target.broken ? clock_ms() : 0;
    if (state.target.broken && now_ms >= state.retry_ms) {
        state.retry_ms = now_ms + RETRY_MS;
        log_target_reopen(&state.target, ignored, sizeof ignored);
    }
    log_target_put(&state.target, line, length);
    state.lost += state.target.lost;
    state.target.lost = 0;
}

/* --- lines ------------------------------------------------------------------------ */

/* "2026-01-31T12:00:00.123+0100 [42] warn: ", or the head that syslog expects. */
static size_t
begin_line(char head[static HEAD_SIZE], enum log_level level, int pid)
{
    static const char *const names[] = {"error", "warn", "notice", "info", "debug"};
    char date[CALENDAR_SIZE];
    if (state.target.syslog)
        return (size_t)snprintf(head, HEAD_SIZE,
                                "<%d>fcgi-server[%d]: ", LOG_DAEMON | SYSLOG_LEVEL(level), pid);
    calendar_precise(date, clock_wall_ms());
    return (size_t)snprintf(head, HEAD_SIZE, "%s [%d] %s: ", date, pid, names[level]);
}

static void
write_line(enum log_level level, int pid, const char *text, size_t length)
{
    char line[HEAD_SIZE + LINE_SIZE + 1];
    size_t at = begin_line(line, level, pid);
    memcpy(line + at, text, length);
    at += length;
    line[at++] = '\n';
    put(line, at);
}

/* Reports how many lines were lost, once the target takes lines again. */
static void
tell_lost(void)
{
    char text[80];
    uint64_t lost = state.lost;
    if (lost == state.told || !log_flush())
        return;
    int length = snprintf(text, sizeof text, "%llu log lines were lost before this one",
                          (unsigned long long)(lost - state.told));
    write_line(LOG_LEVEL_WARN, getpid(), text, (size_t)length);
    if (state.lost == lost)
        state.told = lost;
    else
        state.lost = lost; /* this report does not count */
}

static void
log_text(enum log_level level, int pid, const char *text, size_t length)
{
    tell_lost();
    write_line(level, pid, text, length);
}

/* --- children -------------------------------------------------------------------------- */

void
log_become_child(int fd)
{
    state.child_fd = fd;
}

static void
send_message(struct message *message, enum log_level level, size_t length)
{
    ssize_t sent;
    message->level = level;
    message->lost = state.child_lost;
    do
        sent = send(state.child_fd, message, offsetof(struct message, text) + length,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent == -1 && errno == EINTR);
    state.child_lost = sent == -1 ? state.child_lost + 1 : 0;
}

int
log_read_child(int fd, int pid)
{
    struct message message;
    for (int i = 0; i < MESSAGES; i++) {
        ssize_t length = recv(fd, &message, sizeof message, MSG_DONTWAIT);
        if (length == -1 && errno == EINTR)
            continue;
        if (length == -1)
            return errno == EAGAIN ? 0 : -1;
        if (length < (ssize_t)offsetof(struct message, text) || message.level > LOG_LEVEL_DEBUG)
            return -1;
        state.lost += message.lost;
        log_text((enum log_level)message.level, pid, message.text,
                 (size_t)length - offsetof(struct message, text));
    }
    return 0;
}

void
log_line(enum log_level level, const char *format, ...)
{
    if (level > state.level)
        return;
    int reason = errno;
    struct message message;
    char *text = message.text;
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(text, sizeof message.text, format, arguments);
    va_end(arguments);
    size_t length = printed < 0 ? 0 : (size_t)printed;
    if (length >= sizeof message.text) {
        length = sizeof message.text - 1;
        memcpy(text + length - 3, "...", 3);
    }
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\t')
            text[i] = '?';
    if (state.child_fd != -1)
        send_message(&message, level, length);
    else
        log_text(level, getpid(), text, length);
    errno = reason;
}

/* --- what handlers print ------------------------------------------------------------------ */

/* Bytes that a terminal could take as a command, including the C1 set of UTF-8. */
static bool
is_control(const char *text, size_t i, size_t length)
{
    unsigned char byte = (unsigned char)text[i];
    unsigned char before = i > 0 ? (unsigned char)text[i - 1] : 0;
    unsigned char next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
    return (byte < 0x20 && byte != '\t') || byte == 0x7f ||
           (byte == 0xc2 && next >= 0x80 && next < 0xa0) ||
           (before == 0xc2 && byte >= 0x80 && byte < 0xa0);
}

/* Copies as much of <text> as fits, escaped. Returns the bytes read; <used> gets the bytes
 * written. */
static size_t
escape(char copy[static LINE_SIZE], size_t *used, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    size_t i;
    *used = 0;
    for (i = 0; i < length && *used + 4 <= LINE_SIZE; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (!is_control(text, i, length)) {
            copy[(*used)++] = text[i];
            continue;
        }
        const char code[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        memcpy(copy + *used, code, sizeof code);
        *used += sizeof code;
    }
    return i;
}

void
log_printed(int pid, const char *line, size_t length, bool decorate)
{
    char copy[LINE_SIZE + 1];
    size_t used;
    int reason = errno;
    tell_lost();
    do {
        size_t taken = escape(copy, &used, line, length);
        line += taken;
        length -= taken;
        if (decorate || state.target.syslog) {
            write_line(LOG_LEVEL_NOTICE, pid, copy, used);
            continue;
        }
        if (length == 0)
            copy[used++] = '\n';
        put(copy, used);
    } while (length > 0);
    errno = reason;
}
