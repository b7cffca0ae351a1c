/* SPDX-License-Identifier: MIT */
#include "handler/side_effects.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define INTERVAL_MS 20

/* With fewer descriptors than this, none is spent on copies of 0 to 2. */
#define DESCRIPTORS_MIN 64

enum { SIGNALS_OWN = 16 }; /* room for signals whose handlers are the server's */

struct descriptor {
    struct stat was;
    int copy; /* -1: none */
};

static struct {
    bool noted;
    bool pending; /* handler code has run since the last time */
    int64_t last_ns;
    locale_t locale;         /* the server's */
    locale_t handler_locale; /* while own code runs: what handlers have made theirs */
    femode_t floating;
    sigset_t mask;
    int number[SIGNALS_OWN];
    struct sigaction action[SIGNALS_OWN];
    size_t signals;
    volatile sig_atomic_t keep_alarm;
    mode_t umask;
    char folder[PATH_MAX]; /* "": unknown */
    struct stat folder_was;
    struct descriptor descriptor[3];
} own;

/* --- remembering -------------------------------------------------------------------------- */

void
side_effects_own_signal(int number)
{
    size_t i = 0;
    while (i < own.signals && own.number[i] != number)
        i++;
    if (i == SIGNALS_OWN)
        return;
    own.signals += i == own.signals;
    own.number[i] = number;
    sigaction(number, NULL, &own.action[i]);
}

static void
note_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT,  SIGQUIT, SIGHUP, SIGUSR1,
                                  SIGUSR2, SIGPIPE, SIGXFSZ, SIGPWR, SIGCHLD};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        side_effects_own_signal(numbers[i]);
    sigprocmask(SIG_SETMASK, NULL, &own.mask);
}

static void
note_descriptors(void)
{
    struct rlimit limit;
    bool copies = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= DESCRIPTORS_MIN;
    for (int fd = 0; fd < 3; fd++) {
        own.descriptor[fd].copy = copies ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        fstat(fd, &own.descriptor[fd].was);
    }
}

int
side_effects_note(void)
{
    own.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (own.locale == (locale_t)0)
        return -1;
    fegetmode(&own.floating);
    own.umask = umask(0);
    umask(own.umask);
    if (getcwd(own.folder, sizeof own.folder) == NULL || stat(".", &own.folder_was) == -1)
        own.folder[0] = '\0';
    note_signals();
    note_descriptors();
    own.noted = true;
    return 0;
}

/* --- each call ------------------------------------------------------------------------------ */

void
side_effects_keep_alarm(void)
{
    own.keep_alarm = 1;
}

void
side_effects_leave(void)
{
    if (!own.noted)
        return;
    fesetmode(&own.floating);
    own.pending = true;
}

void
side_effects_own_begin(void)
{
    if (own.noted)
        own.handler_locale = uselocale(own.locale);
}

void
side_effects_own_end(void)
{
    if (own.noted)
        uselocale(own.handler_locale);
}

/* --- now and then --------------------------------------------------------------------------- */

static bool
same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static void
undo_signals(void)
{
    struct sigaction now;
    for (size_t i = 0; i < own.signals; i++) {
        const struct sigaction *action = &own.action[i];
        if (sigaction(own.number[i], NULL, &now) == 0 && now.sa_handler != action->sa_handler)
            sigaction(own.number[i], action, NULL);
    }
    sigprocmask(SIG_SETMASK, &own.mask, NULL);
}

static void
undo_timers(void)
{
    static const struct itimerval none;
    if (!own.keep_alarm)
        setitimer(ITIMER_REAL, &none, NULL);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    setitimer(ITIMER_PROF, &none, NULL);
}

static void
undo_folder(void)
{
    struct stat now;
    if (own.folder[0] != '\0' && (stat(".", &now) == -1 || !same_file(&now, &own.folder_was)) &&
        chdir(own.folder) == -1)
        own.folder[0] = '\0'; /* gone, or not for this user: nothing to go back to */
}

/* One that was closed must not become somebody's connection: else what handlers print, or
 * read, would be its bytes (see descriptors_lift()). */
static void
undo_descriptors(void)
{
    struct stat now;
    for (int fd = 0; fd < 3; fd++) {
        const struct descriptor *descriptor = &own.descriptor[fd];
        if (fstat(fd, &now) == 0 && same_file(&now, &descriptor->was))
            continue;
        if (descriptor->copy == -1 || dup2(descriptor->copy, fd) == -1)
            descriptors_null(fd);
    }
}

int
side_effects_undo(int64_t now_ns, int timeout_ms)
{
    int64_t left_ms = INTERVAL_MS - (now_ns - own.last_ns) / 1000000;
    if (!own.pending)
        return timeout_ms;
    if (left_ms > 0)
        return timeout_ms < 0 || timeout_ms > left_ms ? (int)left_ms : timeout_ms;
    own.pending = false;
    own.last_ns = now_ns == INT64_MAX ? 0 : now_ns;
    undo_signals();
    undo_timers();
    umask(own.umask);
    undo_folder();
    undo_descriptors();
    return timeout_ms;
}
