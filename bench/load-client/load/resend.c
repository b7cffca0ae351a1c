/* SPDX-License-Identifier: MIT */
/* resend.c - see resend.h */
#include "load/resend.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

bool
resend_is_safe(const struct worker *w, const struct connection *c, bool reset)
{
    bool is_unix = *w->run->target->url.socket != '\0';
    int unread = 0;
    if (c->served == 0 || c->redone || c->first_ns != 0)
        return false;
    if (c->sent == 0)
        return true;
    if (reset)
        return c->request->idempotent;
    if (is_unix || ioctl(c->fd, SIOCOUTQ, &unread) == -1 || unread <= 0)
        return false; /* a unix socket closed with unread bytes is reset */
    return c->request->idempotent || (uint32_t)unread >= c->sent;
}
