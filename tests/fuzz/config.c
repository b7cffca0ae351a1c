/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/config/config_load.c fcgi-server/config/config_file.c fcgi-server/base/descriptors.c fcgi-server/config/options.c fcgi-server/config/option_value.c */
/* links: fcgi-server/config/client_list.c fcgi-server/base/processors.c fcgi-server/base/program.c */
/* A configuration file of any content is taken or refused with a message: never a crash, and
 * never a value outside its bounds. */
#include "config/config.h"
#include "config/config_file.h"
#include "config/config_load.h"
#include "config/options.h"
#include "status/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* Strings of a configuration live as long as its process. */
const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void
check(int good)
{
    if (!good)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct config_error error = {""};
    struct config *config = calloc(1, sizeof *config);
    int fd = memfd_create("configuration", 0);
    check(config != NULL && fd != -1 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    char *argv[] = {"fcgi-server", "-c", path, NULL};
    int result = config_load(config, 3, argv, &error);
    close(fd);
    if (result == -1) {
        check(error.text[0] != '\0' && memchr(error.text, '\0', sizeof error.text) != NULL);
    } else {
        check(config->route_count <= CONFIG_ROUTES_MAX &&
              config->allowed_count <= CONFIG_ALLOWED_MAX);
        for (uint32_t i = 0; i < config->route_count; i++)
            check(config->routes[i].prefix[0] == '/' && config->routes[i].handler != NULL);
        check(config->children >= 0 && config->socket_mode <= 0777);
    }
    free(config);
    return 0;
}
