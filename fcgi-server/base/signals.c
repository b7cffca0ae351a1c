/* SPDX-License-Identifier: MIT */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

/* Blocked and read from a descriptor (or ignored, in a child). */
static const int handled[] = {SIGTERM, SIGINT,  SIGQUIT, SIGHUP, SIGUSR1,
                              SIGUSR2, SIGCHLD, SIGTTIN, SIGTTOU};

#define HANDLED_COUNT (sizeof handled / sizeof *handled)

static void
set_mask(const int *numbers, size_t count)
{
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < count; i++)
        sigaddset(&mask, numbers[i]);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* exec(2) has reset all handlers; only "ignored" survives it. */
static void
set_defaults(void)
{
    struct sigaction action;
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
}

void
signals_reset(void)
{
    /* Order matters: a signal between the two calls must already find the mask. */
    set_mask(handled, HANDLED_COUNT);
    set_defaults();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* write() to a file at its size limit then fails with EFBIG */
}

/* A signal that should have been blocked: blocks all again on return, and sends it once more. */
static void
hold_again(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    int reason = errno;
    (void)info;
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        sigaddset(&interrupted->uc_sigmask, handled[i]);
    kill(getpid(), number); /* blocked while its handler runs */
    errno = reason;
}

static void
let_pass(int number)
{
    (void)number;
}

void
signals_guard(void)
{
    static const int timers[] = {SIGALRM, SIGVTALRM, SIGPROF};
    struct sigaction hold = {.sa_sigaction = hold_again, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction pass = {.sa_handler = let_pass, .sa_flags = SA_RESTART};
    sigfillset(&hold.sa_mask);
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        if (handled[i] != SIGCHLD)
            sigaction(handled[i], &hold, NULL);
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        sigaction(timers[i], &pass, NULL);
}

void
signals_let_end(bool let)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGQUIT);
    sigprocmask(let ? SIG_UNBLOCK : SIG_BLOCK, &ends, NULL);
}

void
signals_restore(void)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    set_mask(NULL, 0);
}

int
signals_open(const int *numbers, size_t count)
{
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < count; i++)
        sigaddset(&mask, numbers[i]);
    return signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
}

int
signals_read(int fd)
{
    struct signalfd_siginfo info;
    ssize_t length;
    do
        length = read(fd, &info, sizeof info);
    while (length == -1 && errno == EINTR);
    return length == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

const char *
signals_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name != NULL ? name : "?";
}
