/* SPDX-License-Identifier: MIT */
/* channels.h - the descriptors that all children share, besides the listening socket. */
#ifndef CHANNELS_H
#define CHANNELS_H

/* The master keeps them open, so that what waits in them outlives any child. */
struct channels {
    int handover[2]; /* queue of connections between siblings */
    int notice[2];   /* struct child_notice to the master: children write to [1] */
};

/* Makes the descriptors. Returns 0, or -1 with errno. */
int channels_open(struct channels *channels);

#endif
