/* SPDX-License-Identifier: MIT */
#include "base/process.h"
#include "base/log.h"
#include "base/signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_copy;

static void
note_copy(void)
{
    is_copy = true;
}

int
process_note_copies(void)
{
    errno = pthread_atfork(NULL, NULL, note_copy);
    return errno == 0 ? 0 : -1;
}

void
process_end_copy(void)
{
    if (!is_copy)
        return;
    log_error("a process forked by a handler returned into the server and was ended; it must call "
              "_exit()");
    _exit(1);
}

pid_t
process_start(int (*run)(void *argument), void *argument)
{
    fflush(NULL); /* else the child would write our buffers a second time */
    pid_t pid = fork();
    if (pid == 0) {
        int status = run(argument);
        fflush(NULL);
        _exit(status);
    }
    return pid;
}

pid_t
process_reap(int *status)
{
    pid_t pid;
    do
        pid = waitpid(-1, status, WNOHANG);
    while (pid == -1 && errno == EINTR);
    return pid > 0 ? pid : 0;
}

int
process_wait(pid_t pid)
{
    int status;
    pid_t result;
    do
        result = waitpid(pid, &status, 0);
    while (result == -1 && errno == EINTR);
    return result == pid ? status : -1;
}

void
process_describe(int status, char *text, size_t size)
{
    if (WIFEXITED(status))
        snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d, SIG%s%s", WTERMSIG(status),
                 signals_name(WTERMSIG(status)), WCOREDUMP(status) ? " (core dumped)" : "");
    else
        snprintf(text, size, "ended with wait status %#x", (unsigned)status);
}

long
process_private_kib(pid_t pid)
{
    char path[64];
    char line[256];
    long total = 0;
    long value;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Private_Clean: %ld", &value) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &value) == 1)
            total += value;
    fclose(file);
    return total;
}
