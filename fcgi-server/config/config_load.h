/* SPDX-License-Identifier: MIT */
/*
 * config_load.h - from defaults, file, command line and environment to one checked
 * struct config.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

struct config;
struct config_error;

/* Fills <config> from the defaults, the file named by -c (if any) and <argv>; the
 * environment gives the number of children (FCGI_CHILDREN, PHP_FCGI_CHILDREN)
 * and FCGI_WEB_SERVER_ADDRS where neither sets them. Returns 0, or -1 with
 * <error>. Handlers are searched later: see router.h. */
int config_load(struct config *config, int argc, char **argv, struct config_error *error);

#endif
