/* SPDX-License-Identifier: MIT */
#include "status/listen_queue.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t
queue_tcp(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == -1)
        return -1;
    return info.tcpi_unacked; /* of a listening socket: its queue */
}

static int64_t
parse_answer(const void *answer, size_t length)
{
    const struct nlmsghdr *header = answer;
    if (!NLMSG_OK(header, length) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return -1;
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    const struct rtattr *attribute = (const struct rtattr *)(message + 1);
    size_t rest = header->nlmsg_len - NLMSG_LENGTH(sizeof *message);
    for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
        struct unix_diag_rqlen queue;
        if (attribute->rta_type != UNIX_DIAG_RQLEN)
            continue;
        memcpy(&queue, RTA_DATA(attribute), sizeof queue);
        return queue.udiag_rqueue;
    }
    return -1;
}

static int64_t
queue_unix(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == -1)
        return -1;
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {
        .header = {.nlmsg_len = sizeof question,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = ~0u,
                    .udiag_ino = (uint32_t)status.st_ino,
                    .udiag_show = UDIAG_SHOW_RQLEN,
                    .udiag_cookie = {~0u, ~0u}},
    };
    int64_t queue = -1;
    _Alignas(struct nlmsghdr) char answer[4096];
    int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diag == -1)
        return -1;
    if (send(diag, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        ssize_t length;
        do
            length = recv(diag, answer, sizeof answer, 0);
        while (length == -1 && errno == EINTR);
        if (length > 0)
            queue = parse_answer(answer, (size_t)length);
    }
    close(diag);
    return queue;
}

int64_t
listen_queue_length(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == -1)
        return -1;
    return domain == AF_UNIX ? queue_unix(fd) : queue_tcp(fd);
}
