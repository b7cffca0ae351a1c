/* SPDX-License-Identifier: MIT */
/*
 * client_list.h - which TCP peers may connect: addresses and networks of IPv4 and
 * IPv6. IPv4 is stored in its IPv6-mapped form, so that one comparison serves both.
 */
#ifndef CLIENT_LIST_H
#define CLIENT_LIST_H

#include <stdbool.h>

struct config;
struct config_error;
struct sockaddr;

/* Fills config->allowed from allowed_clients. Returns 0, or -1 with <error>. */
int client_list_parse(struct config *config, struct config_error *error);

/* Whether the peer of an accepted connection may speak to us: always on unix sockets and
 * without a list; else the list decides. <address> is what accept(2) stored. Cheap. */
bool client_list_allows(const struct config *config, const struct sockaddr *address);

#endif
