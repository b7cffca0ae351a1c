/* SPDX-License-Identifier: MIT */
/* system.c - see system.h */
#include "load/system.h"
#include "protocol/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int
system_need_descriptors(uint64_t needed, char *message, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= needed)
        return 0;
    struct rlimit wanted = {.rlim_cur = needed,
                            .rlim_max = limit.rlim_max > needed ? limit.rlim_max : needed};
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        return 0;
    snprintf(message, size,
             "%llu open descriptors are needed, the limit is %llu: "
             "run 'ulimit -n %llu' first (as root beyond the hard limit), or lower -c",
             (unsigned long long)needed, (unsigned long long)limit.rlim_max,
             (unsigned long long)needed);
    return -1;
}

/* Two lines belong together: the first names the columns of the second. */
uint64_t
system_listen_drops(void)
{
    struct bytes text = {0};
    uint64_t drops = 0;
    if (bytes_read_file(&text, "/proc/net/netstat") == 0) {
        char *save_names, *save_values;
        char *names = text.data ? strstr(text.data, "TcpExt:") : NULL;
        char *values = names ? strstr(names + 1, "TcpExt:") : NULL;
        if (values != NULL) {
            values[-1] = '\0';
            char *name = strtok_r(names, " ", &save_names);
            char *value = strtok_r(values, " \n", &save_values);
            while (name != NULL && value != NULL && strcmp(name, "ListenDrops") != 0) {
                name = strtok_r(NULL, " ", &save_names);
                value = strtok_r(NULL, " \n", &save_values);
            }
            if (name != NULL && value != NULL)
                drops = strtoull(value, NULL, 10);
        }
    }
    bytes_free(&text);
    return drops;
}

uint64_t
system_run_delay_ns(void)
{
    unsigned long long ran, waited;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL)
        return 0;
    int n = fscanf(file, "%llu %llu", &ran, &waited);
    fclose(file);
    return n == 2 ? waited : 0;
}

unsigned
system_port_count(void)
{
    unsigned low = 0, high = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file == NULL)
        return 0;
    int n = fscanf(file, "%u %u", &low, &high);
    fclose(file);
    return n == 2 && high >= low ? high - low + 1 : 0;
}
