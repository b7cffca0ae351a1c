/* SPDX-License-Identifier: MIT */
#include "master/channels.h"
#include "base/descriptors.h"

#include <sys/socket.h>

int
channels_open(struct channels *channels)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channels->handover) ==
        -1)
        return -1;
    return descriptors_pipe(channels->notice, 1);
}
