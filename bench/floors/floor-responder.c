/* SPDX-License-Identifier: MIT */
/*
 * floor-responder.c - the least that can answer a FastCGI front end: reads, does
 * not parse, writes a fixed answer. What a server adds to this is its price.
 *
 *     floor-responder unix:/PATH [CHILDREN]     until a signal ends it
 *     floor-responder PORT [CHILDREN]           on 127.0.0.1
 *
 * Right only for requests that come in one piece with id 1, as nginx sends them.
 * The answer has the bytes of fcgi-server's /echo. Writes a line to standard output
 * once all children listen.
 */
#include <arpa/inet.h>
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAGE "Content-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello world\n"
#define ANSWER                                                                                     \
    "\x01\x06\x00\x01\x00\x3c\x00\x00" PAGE "\x01\x06\x00\x01\x00\x00\x00\x00"                     \
    "\x01\x03\x00\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

_Static_assert(sizeof PAGE - 1 == 0x3c, "the first record announces its length");

static unsigned
number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0' || value > 65535)
        errx(100, "'%s': give a number from 1 to 65535", text);
    return (unsigned)value;
}

static int
listen_at(const char *address)
{
    int is_local = strncmp(address, "unix:", 5) == 0;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET,
                               .sin_port = htons(is_local ? 0 : (uint16_t)number(address)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (is_local) {
        strncpy(local.sun_path, address + 5, sizeof local.sun_path - 1);
        unlink(local.sun_path);
    }
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, is_local ? (void *)&local : (void *)&inet,
             is_local ? sizeof local : sizeof inet) == -1 ||
        listen(fd, 4096) == -1)
        err(111, "floor-responder: %s", address);
    return fd;
}

static void
serve(int listen_fd, int ready_fd)
{
    static char input[65536];
    struct epoll_event events[64];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = listen_fd};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &event);
    if (write(ready_fd, "", 1) != 1)
        _exit(111);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listen_fd) {
                fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event); /* fails for -1: nothing to do */
                continue;
            }
            ssize_t length = read(fd, input, sizeof input);
            if (length <= 0 || write(fd, ANSWER, sizeof ANSWER - 1) != sizeof ANSWER - 1 ||
                !(input[10] & 1)) /* FCGI_KEEP_CONN */
                close(fd);
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc < 2)
        errx(100, "usage: floor-responder unix:/PATH|PORT [CHILDREN]");
    unsigned children = argc > 2 ? number(argv[2]) : 1;
    int listen_fd = listen_at(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    int ready[2];
    char byte;
    if (pipe(ready) == -1)
        err(111, "floor-responder: pipe");
    for (unsigned child = 0; child < children; child++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            serve(listen_fd, ready[1]);
        }
    }
    for (unsigned child = 0; child < children && read(ready[0], &byte, 1) == 1; child++) {
    }
    if (write(STDOUT_FILENO, "ready\n", 6) == 6)
        pause(); /* the children go when this goes */
    return 0;
}
