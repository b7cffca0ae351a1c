/* SPDX-License-Identifier: MIT */
/*
 * client-floor.c - the least that can load an HTTP server over kept
 * connections: one thread, epoll, the next request sent right after the read
 * that completed an answer. It does not parse (the first answer's size is
 * every answer's size), keeps no latencies and handles no error. What a client
 * adds to this is its price.
 *
 *     client-floor PORT CONNECTIONS SECONDS      127.0.0.1, path /
 *
 * Prints the number of answers.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
static char buffer[65536];

static double
now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
ask(int fd)
{
    if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
        err(1, "send");
}

/* Opens one connection; <epoll_fd> then reports each arrival once. */
static int
connect_one(int epoll_fd, unsigned short port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1)
        err(1, "connect to port %u", port);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
        err(1, "epoll_ctl");
    return fd;
}

static unsigned
number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0' || value > 65535)
        errx(1, "'%s': give a number from 1 to 65535", text);
    return (unsigned)value;
}

static double
duration_s(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0))
        errx(1, "'%s': give the seconds, more than 0", text);
    return value;
}

int
main(int argc, char **argv)
{
    if (argc != 4)
        errx(1, "usage: client-floor PORT CONNECTIONS SECONDS");
    unsigned short port = (unsigned short)number(argv[1]);
    unsigned connections = number(argv[2]);
    double end_s = now_s() + duration_s(argv[3]);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    unsigned long long answers = 0;
    ssize_t size = 0;
    struct epoll_event events[256];
    for (unsigned i = 0; i < connections; i++) {
        int fd = connect_one(epoll_fd, port);
        ask(fd);
        if (size == 0 && (size = recv(fd, buffer, sizeof(buffer), 0)) > 0)
            ask(fd);
    }
    while (now_s() < end_s) {
        int n = epoll_wait(epoll_fd, events, 256, 100);
        for (int i = 0; i < n; i++) {
            if (recv(events[i].data.fd, buffer, sizeof(buffer), 0) != size)
                errx(1, "an answer of another size; the server closed, or it varies");
            answers++;
            ask(events[i].data.fd);
        }
    }
    printf("%llu\n", answers);
    return 0;
}
