/* SPDX-License-Identifier: MIT */
#include "master/succession.h"
#include "base/descriptors.h"
#include "base/process.h"
#include "base/program.h"
#include "base/signals.h"
#include "config/config.h"
#include "status/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATE_VARIABLE  "FCGI_SERVER_STATE"
#define CHECK_VARIABLE  "FCGI_SERVER_CHECK"
#define CONFIG_VARIABLE "FCGI_SERVER_CONFIG"
#define HEADING         "fcgi-server state 5"

static const char *
wish(const struct config *config)
{
    return config->listen != NULL ? config->listen : "inherited";
}

/* --- across the exec -------------------------------------------------------------------- */

static void
keep_open(int fd, bool open)
{
    if (fd != -1)
        fcntl(fd, F_SETFD, open ? 0 : FD_CLOEXEC);
}

static void
keep_child_open(const struct child *child, bool open)
{
    keep_open(child->output.fd, open);
    keep_open(child->log_fd, open);
}

static void
keep_all_open(const struct listener *listener, const struct children *children, int config_fd,
              bool open)
{
    const struct channels *channels = &children->channels;
    const int fds[] = {listener->fd,
                       channels->handover[0],
                       channels->handover[1],
                       channels->notice[0],
                       channels->notice[1],
                       children->board->fd,
                       config_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        keep_open(fds[i], open);
    for (uint32_t i = 0; i < children->capacity; i++)
        if (children->table[i].life != LIFE_NONE)
            keep_child_open(&children->table[i], open);
}

static void
write_state(FILE *file, const struct config *config, const struct listener *listener,
            const struct children *children, const struct standby *standby)
{
    const struct channels *channels = &children->channels;
    /* Names may hold any byte but NUL. */
    fprintf(file, "%s%c%s%c%s%c%s%c", HEADING, '\0', wish(config), '\0',
            config->pid_file != NULL ? config->pid_file : "", '\0',
            listener->file.path != NULL ? listener->file.path : "", '\0');
    fprintf(file, "%d %llu %llu\n", listener->fd, (unsigned long long)listener->file.device,
            (unsigned long long)listener->file.inode);
    fprintf(file, "%d %d %d %d %d %u\n", channels->handover[0], channels->handover[1],
            channels->notice[0], channels->notice[1], children->board->fd, children->generation);
    fprintf(file, "%d %d\n", standby != NULL ? (int)standby->pid : -1,
            standby != NULL ? standby->word_fd : -1);
    for (uint32_t i = 0; i < children->capacity; i++) {
        const struct child *child = &children->table[i];
        if (child->life == LIFE_NONE)
            continue;
        fprintf(file, "%d %u %d %d %u %lld %u %lld\n", (int)child->pid, child->generation,
                child->output.fd, child->log_fd,
                child->slot != NULL ? (unsigned)(child->slot - children->board->slot) : UINT32_MAX,
                (long long)child->started_ms, (unsigned)child->life, (long long)child->deadline_ms);
    }
}

static void
set_variable(const char *name, int fd)
{
    char text[16];
    if (fd == -1) {
        unsetenv(name);
        return;
    }
    snprintf(text, sizeof text, "%d", fd);
    setenv(name, text, 1);
}

int
succession_exec(const char *path, char **argv, const struct config *config,
                const struct listener *listener, const struct children *children, int config_fd,
                const struct standby *standby)
{
    int word_fd = standby != NULL ? standby->word_fd : -1;
    int state = memfd_create("state", 0);
    int copy = state != -1 ? dup(state) : -1;
    FILE *file = copy != -1 ? fdopen(copy, "w") : NULL;
    if (file != NULL) {
        write_state(file, config, listener, children, standby);
        bool written = fclose(file) == 0;
        if (written) {
            keep_all_open(listener, children, config_fd, true);
            keep_open(word_fd, true);
            set_variable(STATE_VARIABLE, state);
            set_variable(CONFIG_VARIABLE, config_fd);
            execv(path, argv);
        }
    }
    int reason = errno;
    keep_all_open(listener, children, config_fd, false);
    keep_open(word_fd, false);
    unsetenv(STATE_VARIABLE);
    unsetenv(CONFIG_VARIABLE);
    if (state != -1)
        close(state);
    errno = reason;
    return -1;
}

/* The text before the next NUL; NULL if there is none. It stays valid as long as the
 * process lives. */
static char *
read_text(FILE *file)
{
    char *text = NULL;
    size_t size = 0;
    return getdelim(&text, &size, '\0', file) == -1 ? NULL : text;
}

/* Reads the next child. Returns false at the end, or when its values are invalid. */
static bool
read_child(FILE *file, struct succession_child *left)
{
    struct child child = {.logs_due = false};
    long long started;
    long long deadline;
    unsigned life;
    int pid;
    if (fscanf(file, "%d %u %d %d %u %lld %u %lld", &pid, &child.generation, &child.output.fd,
               &child.log_fd, &left->slot, &started, &life, &deadline) != 8)
        return false;
    child.pid = pid;
    child.started_ms = started;
    child.life = LIFE_SERVING;
    /* A deadline to end stays in force. */
    if (life >= LIFE_RETIRING && life <= LIFE_KILLED) {
        child.life = (enum life)life;
        child.deadline_ms = deadline;
    }
    left->child = child;
    return true;
}

static bool
read_state(FILE *file, struct succession *left)
{
    struct succession_child child;
    unsigned long long device;
    unsigned long long inode;
    const char *path;
    const char *heading = read_text(file);
    if (heading == NULL || strcmp(heading, HEADING) != 0 ||
        (left->listen = read_text(file)) == NULL || (left->pid_file = read_text(file)) == NULL ||
        (path = read_text(file)) == NULL ||
        fscanf(file, "%d %llu %llu", &left->listener.fd, &device, &inode) != 3 ||
        fscanf(file, "%d %d %d %d %d %u", &left->channels.handover[0], &left->channels.handover[1],
               &left->channels.notice[0], &left->channels.notice[1], &left->board_fd,
               &left->generation) != 6 ||
        fscanf(file, "%d %d", &left->standby.pid, &left->standby.word_fd) != 2)
        return false;
    left->listener.file =
        (struct socket_file){*path != '\0' ? path : NULL, (dev_t)device, (ino_t)inode};
    while (read_child(file, &child)) {
        struct succession_child *more =
            reallocarray(left->child, left->child_count + 1, sizeof child);
        if (more == NULL)
            return false;
        left->child = more;
        left->child[left->child_count++] = child;
    }
    return true;
}

static void
close_again(const struct succession *left)
{
    const int fds[] = {left->listener.fd,          left->channels.handover[0],
                       left->channels.handover[1], left->channels.notice[0],
                       left->channels.notice[1],   left->board_fd,
                       left->standby.word_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        keep_open(fds[i], false);
    for (uint32_t i = 0; i < left->child_count; i++)
        keep_child_open(&left->child[i].child, false);
}

struct succession *
succession_read(void)
{
    const char *variable = getenv(STATE_VARIABLE);
    int fd = variable != NULL ? descriptors_number(variable) : -1;
    unsetenv(STATE_VARIABLE);
    if (fd <= STDERR_FILENO) /* set by hand, not by us: leave it open */
        return NULL;
    FILE *file = fdopen(fd, "r");
    if (file == NULL)
        return NULL;
    struct succession *left = calloc(1, sizeof *left);
    rewind(file);
    bool good = left != NULL && read_state(file, left);
    fclose(file);
    if (!good) {
        free(left);
        return NULL;
    }
    close_again(left);
    return left;
}

/* --- the check before ----------------------------------------------------------------------- */

struct check {
    const char *path;
    char **argv;
    const struct config *config;
    int output_fd;
    int config_fd;
};

static int
run_check(void *argument)
{
    struct check *check = argument;
    size_t count = 0;
    while (check->argv[count] != NULL)
        count++;
    char **argv = calloc(count + 2, sizeof *argv);
    if (argv == NULL)
        return 111;
    memcpy(argv, check->argv, count * sizeof *argv);
    argv[count] = (char[]){"--test"};
    signals_restore();
    dup2(check->output_fd, STDOUT_FILENO);
    dup2(check->output_fd, STDERR_FILENO);
    keep_open(check->config_fd, true);
    set_variable(CONFIG_VARIABLE, check->config_fd);
    setenv(CHECK_VARIABLE, wish(check->config), 1);
    execv(check->path, argv);
    fprintf(stderr, "cannot run %s: %s\n", check->path, strerror(errno));
    return 111;
}

pid_t
succession_check(const char *path, char **argv, const struct config *config, int output_fd,
                 int config_fd)
{
    struct check check = {path, argv, config, output_fd, config_fd};
    return process_start(run_check, &check);
}

bool
succession_listens_already(const struct config *config)
{
    const char *listen = getenv(CHECK_VARIABLE);
    return listen != NULL && strcmp(listen, wish(config)) == 0;
}

bool
succession_is_check(void)
{
    return getenv(CHECK_VARIABLE) != NULL;
}

const char *
succession_program(bool upgrade)
{
    static const char running[] = "/proc/self/exe";
    if (!upgrade && access(running, X_OK) == 0)
        return running;
    const char *path = program_path();
    return *path != '\0' ? path : "fcgi-server (its path is unknown: mount /proc)";
}
