/* SPDX-License-Identifier: MIT */
#include "config/client_list.h"
#include "config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void
map_ipv4(uint8_t mapped[16], const struct in_addr *address)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(mapped, prefix, sizeof prefix);
    memcpy(mapped + 12, address, 4);
}

/* "address" or "address/bits". Returns 0 or -1. */
static int
parse_network(char *text, struct config_network *network)
{
    struct in_addr ipv4;
    char *slash = strchr(text, '/');
    if (slash != NULL)
        *slash = '\0';
    int offset = 0;
    if (inet_pton(AF_INET, text, &ipv4) == 1) {
        map_ipv4(network->address, &ipv4);
        offset = 96;
    } else if (inet_pton(AF_INET6, text, network->address) != 1) {
        return -1;
    }
    long bits = 128 - offset;
    if (slash != NULL) {
        char *end;
        errno = 0;
        bits = strtol(slash + 1, &end, 10);
        if (end == slash + 1 || *end != '\0' || errno != 0 || bits < 0 || bits > 128 - offset)
            return -1;
    }
    network->bits = (uint8_t)(bits + offset);
    return 0;
}

int
client_list_parse(struct config *config, struct config_error *error)
{
    config->allowed_count = 0;
    if (config->allowed_clients == NULL)
        return 0;
    char *list = strdup(config->allowed_clients);
    char *rest = NULL;
    int result = 0;
    for (char *word = strtok_r(list, ", ", &rest); word != NULL && result == 0;
         word = strtok_r(NULL, ", ", &rest)) {
        char shown[64];
        snprintf(shown, sizeof shown, "%s", word);
        if (config->allowed_count == CONFIG_ALLOWED_MAX ||
            parse_network(word, &config->allowed[config->allowed_count]) == -1) {
            snprintf(error->text, sizeof error->text,
                     "allowed_clients: invalid network '%s'; expected at most %d of 10.0.0.1, "
                     "10.0.0.0/8 or fd00::/8",
                     shown, CONFIG_ALLOWED_MAX);
            result = -1;
        }
        config->allowed_count++;
    }
    free(list);
    return result;
}

static bool
matches(const struct config_network *network, const uint8_t address[16])
{
    size_t bytes = network->bits / 8;
    unsigned rest = network->bits % 8;
    if (memcmp(network->address, address, bytes) != 0)
        return false;
    return rest == 0 || ((network->address[bytes] ^ address[bytes]) >> (8 - rest)) == 0;
}

bool
client_list_allows(const struct config *config, const struct sockaddr *address)
{
    uint8_t mapped[16];
    if (config->allowed_clients == NULL)
        return true;
    if (address->sa_family == AF_INET)
        map_ipv4(mapped, &((const struct sockaddr_in *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(mapped, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    else
        return true; /* the file mode of a unix socket decides */
    for (uint32_t i = 0; i < config->allowed_count; i++)
        if (matches(&config->allowed[i], mapped))
            return true;
    return false;
}
