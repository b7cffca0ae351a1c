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

/* The address that a socket is bound to, in the notation of --listen. */
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
        return FAIL("%s is not a listening socket; give -l ADDRESS, or start under spawn-fcgi or a "
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
    char reason[400];
    listener->fd =
        socket_file_bind(&listener->file, path, config->socket_mode, reason, sizeof reason);
    if (listener->fd == -1)
        return FAIL("unix:%s", reason);
    snprintf(listener->name, sizeof listener->name, "unix:%s", path);
    return set_owner(path, config->socket_owner, error);
}

/* --- TCP ------------------------------------------------------------------------------ */

static int
bind_tcp(struct listener *listener, const struct sockaddr *address, socklen_t length)
{
    const int on = 1;
    const int off = 0;
    listener->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd == -1)
        return -1;
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    return bind(listener->fd, address, length);
}

/* Every address: of IPv6 and IPv4, or of IPv4 alone on a machine without IPv6. */
static int
bind_everywhere(struct listener *listener, in_port_t port)
{
    const struct sockaddr_in6 both = {
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr_in ipv4 = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_ANY)};
    if (bind_tcp(listener, (const struct sockaddr *)&both, sizeof both) == 0)
        return 0;
    if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
        return -1;
    if (listener->fd != -1)
        close(listener->fd);
    return bind_tcp(listener, (const struct sockaddr *)&ipv4, sizeof ipv4);
}

/* Splits "host:port" or "[v6]:port". An empty host means this machine only, "*" every
 * address. Returns 0, or -1 with <error> for any other text. */
static int
split_address(const char *text, char host[static 108], const char **port,
              struct config_error *error)
{
    const char *colon = strrchr(text, ':');
    char *end = "";
    long number = colon != NULL && (size_t)(colon - text) < 108 ? strtol(colon + 1, &end, 10) : 0;
    if (*end != '\0' || number < 1 || number > 65535)
        return FAIL(
            "listen: invalid address '%s'; expected unix:/path, host:port, [v6]:port or fd:N",
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
bind_host(struct listener *listener, const char *host, const char *port, const char *text,
          struct config_error *error)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *info;
    int failure = getaddrinfo(host, port, &hints, &info);
    if (failure != 0)
        return FAIL("listen: '%s': %s", text, gai_strerror(failure));
    int result = bind_tcp(listener, info->ai_addr, info->ai_addrlen);
    int reason = errno;
    freeaddrinfo(info);
    errno = reason;
    return result == -1 ? 1 : 0;
}

static int
open_tcp(struct listener *listener, const char *text, struct config_error *error)
{
    char host[108];
    const char *port;
    if (split_address(text, host, &port, error) == -1)
        return -1;
    int result = strcmp(host, "*") == 0
                     ? bind_everywhere(listener, htons((in_port_t)strtol(port, NULL, 10)))
                     : bind_host(listener, host, port, text, error);
    if (result == -1 && strcmp(host, "*") != 0)
        return -1;
    if (result != 0)
        return FAIL("%s: %s%s", text, strerror(errno),
                    errno == EADDRINUSE
                        ? "; another program listens there; stop it, or give another port"
                        : "");
    describe(listener->fd, listener->name, sizeof listener->name);
    return 0;
}

/* --- all kinds -------------------------------------------------------------------------- */

/* What systemd has passed to this process: 0 if nothing, 1, or -1 with <error>. */
static int
passed_sockets(struct config_error *error)
{
    const char *count = getenv("LISTEN_FDS");
    const char *pid = getenv("LISTEN_PID");
    if (count == NULL || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
        return 0;
    if (strcmp(count, "1") != 0)
        return FAIL("systemd passed %s sockets (LISTEN_FDS); expected one per service", count);
    return 1;
}

/* Connections to a passed socket that nobody serves would hang. */
static int
open_passed(struct listener *listener, const struct config *config, struct config_error *error)
{
    const char *what = "descriptor 3 (LISTEN_FDS)";
    if (take_over(listener, LISTENER_SYSTEMD_FD, what, error) == -1)
        return -1;
    if (config->listen == NULL || strncmp(config->listen, "fd:", 3) == 0 ||
        strcmp(config->listen, listener->name) == 0)
        return 0;
    return FAIL(
        "systemd passed the socket %s (LISTEN_FDS), but listen says %s (%s); remove listen, "
        "or start without the socket unit",
        listener->name, config->listen, config->listen_origin);
}

static int
open_inherited(struct listener *listener, struct config_error *error)
{
    if (socket_option(STDIN_FILENO, SO_ACCEPTCONN) == 1)
        return take_over(listener, STDIN_FILENO, "descriptor 0", error);
    return FAIL("no address to listen on; give -l unix:/path or -l host:port, or start with "
                "spawn-fcgi (descriptor 0) or a systemd socket");
}

/* The number in "fd:N"; -1 with <error> if there is none. */
static int
parse_descriptor(const char *address, struct config_error *error)
{
    int fd = descriptors_number(address + 3);
    return fd != -1 ? fd
                    : FAIL("listen: invalid address '%s'; expected fd:N with a descriptor number",
                           address);
}

int
listener_check(const struct config *config, struct config_error *error)
{
    struct identity owner;
    struct sockaddr_un unix_address;
    char host[108];
    const char *port;
    const char *address = config->listen;
    if (config->socket_owner != NULL &&
        identity_find(&owner, config->socket_owner, NULL, error->text, sizeof error->text) == -1)
        return -1;
    if (address == NULL)
        return 0;
    if (strncmp(address, "unix:", 5) == 0)
        return socket_file_address(&unix_address, address + 5, error->text, sizeof error->text);
    if (strncmp(address, "fd:", 3) == 0)
        return parse_descriptor(address, error) == -1 ? -1 : 0;
    return split_address(address, host, &port, error);
}

static int
open_address(struct listener *listener, const struct config *config, struct config_error *error)
{
    const char *address = config->listen;
    int passed = passed_sockets(error);
    if (passed != 0)
        return passed == -1 ? -1 : open_passed(listener, config, error);
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
    log_warn("the listen queue holds %u connections instead of %u: net.core.somaxconn limits it; "
             "raise that with sysctl, or lower --backlog",
             most, wanted);
    return most;
}

/* Sets the length of the listen queue, also of a socket that another program opened. */
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

bool
listener_present(const struct listener *listener)
{
    struct stat status;
    const char *path = listener->name + strlen("unix:");
    if (listener->file.path != NULL)
        return socket_file_present(&listener->file);
    return strncmp(listener->name, "unix:/", 6) != 0 || lstat(path, &status) == 0;
}

void
listener_close(struct listener *listener)
{
    socket_file_remove(&listener->file);
    if (listener->fd != -1)
        close(listener->fd);
    *listener = (struct listener){.fd = -1};
}
