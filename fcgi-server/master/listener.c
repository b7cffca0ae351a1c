/* SPDX-License-Identifier: MIT */
#include "master/listener.h"
#include "base/descriptors.h"
#include "base/identity.h"
#include "base/log.h"
#include "config/config.h"
#include "master/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FAIL(...) (snprintf(error->text, sizeof error->text, __VA_ARGS__), -1)

static int
socket_option(int fd, int option)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == -1 ? -1 : value;
}

/* Our own naming of the address that a socket is bound to. */
static void
describe(int fd, char *name, size_t size)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[64];
    char port[16];
    snprintf(name, size, "fd:%d", fd);
    if (getsockname(fd, (struct sockaddr *)&address, &length) == -1)
        return;
    const struct sockaddr_un *local = (struct sockaddr_un *)&address;
    if (address.ss_family == AF_UNIX)
        snprintf(name, size, "unix:%.108s", local->sun_path);
    else if (getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                         NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(name, size, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int
take_over(struct listener *listener, int fd, const char *what, struct config_error *error)
{
    if (socket_option(fd, SO_ACCEPTCONN) != 1 || socket_option(fd, SO_TYPE) != SOCK_STREAM)
        return FAIL("%s is no listening socket; give -l ADDRESS, or start under spawn-fcgi or a "
                    "systemd socket",
                    what);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    listener->fd = fd;
    describe(fd, listener->name, sizeof listener->name);
    return 0;
}

/* --- unix sockets ------------------------------------------------------------------- */

static int
check_path(const char *path, struct config_error *error)
{
    size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (path[0] == '\0')
        return FAIL("unix: the path is missing; write unix:/path");
    if (strlen(path) > most)
        return FAIL("unix:%s: the path has %zu bytes, a socket's may have at most %zu; "
                    "give a shorter one",
                    path, strlen(path), most);
    return 0;
}

/* Makes way for a new socket at <address>. Returns 0 if the path is free now. */
static int
clear_path(const struct sockaddr_un *address, struct config_error *error)
{
    struct stat status;
    const char *path = address->sun_path;
    if (lstat(path, &status) == -1)
        return errno == ENOENT ? 0 : FAIL("unix:%s: %s", path, strerror(errno));
    if (!S_ISSOCK(status.st_mode))
        return FAIL("unix:%s: there is a file of another kind; it stays, give another path", path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe == -1)
        return FAIL("unix:%s: %s", path, strerror(errno));
    int result = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int reason = errno;
    close(probe);
    if (result == 0 || reason == EAGAIN)
        return FAIL("unix:%s: it is in use, another server answers there; stop that first, or "
                    "give another path",
                    path);
    if (reason != ECONNREFUSED)
        return FAIL("unix:%s: cannot tell whether it is in use: %s", path, strerror(reason));
    if (unlink(path) == -1)
        return FAIL("unix:%s: cannot remove the stale socket: %s", path, strerror(errno));
    return 0;
}

static int
set_owner(const char *path, const char *owner, struct config_error *error)
{
    struct identity identity;
    if (owner == NULL)
        return 0;
    if (identity_find(&identity, owner, NULL, error->text, sizeof error->text) == -1)
        return -1;
    if (chown(path, identity.user, identity.group) == -1)
        return FAIL("unix:%s: cannot give it to %s: %s", path, owner, strerror(errno));
    return 0;
}

static int
open_unix(struct listener *listener, const char *path, const struct config *config,
          struct config_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (check_path(path, error) == -1)
        return -1;
    strcpy(address.sun_path, path);
    if (clear_path(&address, error) == -1)
        return -1;
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd == -1)
        return FAIL("unix:%s: %s", path, strerror(errno));
    mode_t before = umask(0777 & ~(mode_t)config->socket_mode);
    int result = bind(listener->fd, (struct sockaddr *)&address, sizeof address);
    umask(before);
    if (result == -1 || socket_file_note(&listener->file, path) == -1)
        return FAIL("unix:%s: %s%s", path, strerror(errno),
                    errno == ENOENT   ? "; make its folder first"
                    : errno == EACCES ? "; give a folder this user may write to"
                                      : "");
    listener->created = true;
    snprintf(listener->name, sizeof listener->name, "unix:%s", path);
    return set_owner(path, config->socket_owner, error);
}

/* --- TCP ------------------------------------------------------------------------------ */

static int
bind_tcp(struct listener *listener, const struct addrinfo *info)
{
    int on = 1;
    listener->fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd == -1)
        return -1;
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(listener->fd, info->ai_addr, info->ai_addrlen);
}

/* "host:port" or "[v6]:port" into its two halves; an empty host is this machine
 * only, "*" is every address. Returns 0, or -1 with <error> if it is neither. */
static int
split_address(const char *text, char host[static 108], const char **port,
              struct config_error *error)
{
    const char *colon = strrchr(text, ':');
    char *end = "";
    long number = colon != NULL && (size_t)(colon - text) < 108 ? strtol(colon + 1, &end, 10) : 0;
    if (*end != '\0' || number < 1 || number > 65535)
        return FAIL("listen: '%s' is no address; write unix:/path, host:port, [v6]:port or fd:N",
                    text);
    size_t length = (size_t)(colon - text);
    if (text[0] == '[' && length > 2 && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    if (length == 0)
        strcpy(host, "127.0.0.1");
    *port = colon + 1;
    return 0;
}

static int
open_tcp(struct listener *listener, const char *text, struct config_error *error)
{
    char host[108];
    const char *port;
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *info;
    if (split_address(text, host, &port, error) == -1)
        return -1;
    int failure = getaddrinfo(strcmp(host, "*") != 0 ? host : NULL, port, &hints, &info);
    if (failure != 0)
        return FAIL("listen: '%s': %s", text, gai_strerror(failure));
    int result = bind_tcp(listener, info);
    int reason = errno;
    freeaddrinfo(info);
    if (result == -1)
        return FAIL("%s: %s%s", text, strerror(reason),
                    reason == EADDRINUSE ? "; stop what listens there, or give another port" : "");
    describe(listener->fd, listener->name, sizeof listener->name);
    return 0;
}

/* --- all kinds -------------------------------------------------------------------------- */

static int
open_inherited(struct listener *listener, struct config_error *error)
{
    const char *count = getenv("LISTEN_FDS");
    const char *pid = getenv("LISTEN_PID");
    if (count != NULL && (pid == NULL || strtol(pid, NULL, 10) == getpid())) {
        if (strcmp(count, "1") != 0)
            return FAIL("systemd passed %s sockets (LISTEN_FDS); give one per service", count);
        return take_over(listener, LISTENER_SYSTEMD_FD, "descriptor 3 (LISTEN_FDS)", error);
    }
    if (socket_option(STDIN_FILENO, SO_ACCEPTCONN) == 1)
        return take_over(listener, STDIN_FILENO, "descriptor 0", error);
    return FAIL("no address to listen on: give -l unix:/path or -l host:port, or start it with "
                "spawn-fcgi (descriptor 0) or a systemd socket");
}

/* The number in "fd:N"; -1 with <error> if there is none. */
static int
parse_descriptor(const char *address, struct config_error *error)
{
    int fd = descriptors_number(address + 3);
    return fd != -1 ? fd : FAIL("listen: '%s' is no descriptor; write fd:N", address);
}

int
listener_check(const struct config *config, struct config_error *error)
{
    struct identity owner;
    char host[108];
    const char *port;
    const char *address = config->listen;
    if (config->socket_owner != NULL &&
        identity_find(&owner, config->socket_owner, NULL, error->text, sizeof error->text) == -1)
        return -1;
    if (address == NULL)
        return 0;
    if (strncmp(address, "unix:", 5) == 0)
        return check_path(address + 5, error);
    if (strncmp(address, "fd:", 3) == 0)
        return parse_descriptor(address, error) == -1 ? -1 : 0;
    return split_address(address, host, &port, error);
}

static int
open_address(struct listener *listener, const struct config *config, struct config_error *error)
{
    const char *address = config->listen;
    if (address == NULL)
        return open_inherited(listener, error);
    if (strncmp(address, "unix:", 5) == 0)
        return open_unix(listener, address + 5, config, error);
    if (strncmp(address, "fd:", 3) == 0) {
        int fd = parse_descriptor(address, error);
        return fd == -1 ? -1 : take_over(listener, fd, address, error);
    }
    return open_tcp(listener, address, error);
}

static uint32_t
effective_backlog(uint32_t wanted)
{
    unsigned most = wanted;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file != NULL) {
        if (fscanf(file, "%u", &most) != 1)
            most = wanted;
        fclose(file);
    }
    if (most >= wanted)
        return wanted;
    log_warn("the listen queue holds %u connections, not %u: net.core.somaxconn limits it; "
             "raise that with sysctl, or lower --backlog",
             most, wanted);
    return most;
}

/* Also for a socket that came from outside: gives its queue the length we want. */
static int
set_backlog(struct listener *listener, const struct config *config)
{
    listener->backlog = effective_backlog(config->backlog);
    return listen(listener->fd, (int)listener->backlog);
}

int
listener_open(struct listener *listener, const struct config *config, struct config_error *error)
{
    *listener = (struct listener){.fd = -1};
    int result = open_address(listener, config, error);
    if (result == 0 && (result = set_backlog(listener, config)) == -1)
        snprintf(error->text, sizeof error->text, "%s: listen: %s", listener->name,
                 strerror(errno));
    if (result == -1)
        listener_close(listener);
    return result;
}

int
listener_inherit(struct listener *listener, const struct listener *former,
                 const struct config *config)
{
    struct config_error ignored;
    *listener = *former;
    if (take_over(listener, former->fd, "", &ignored) == -1)
        return -1;
    set_backlog(listener, config);
    return 0;
}

void
listener_close(struct listener *listener)
{
    if (listener->created)
        socket_file_remove(&listener->file, listener->name + strlen("unix:"));
    if (listener->fd != -1)
        close(listener->fd);
    *listener = (struct listener){.fd = -1};
}
