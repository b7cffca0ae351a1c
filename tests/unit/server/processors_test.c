/* SPDX-License-Identifier: MIT */
/* links: fcgi-server/base/processors.c */
/* Processors that the quotas of control groups leave: both versions, all levels. */
#include "base/processors.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define V1 "30 23 0:29 / /cg/cpu rw shared:9 - cgroup cgroup rw,cpuacct,cpu\n"
#define V2 "29 23 0:28 / / rw - ext4 /dev/x rw\n30 23 0:29 / /cg rw - cgroup2 cgroup2 rw\n"

static char root[] = "/tmp/processors-XXXXXX";

static void
put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int
usable(bool *less)
{
    *less = false;
    return processors_usable(root, less);
}

static int
affinity(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void
test_levels(void **state)
{
    (void)state;
    bool less;
    assert_int_equal(usable(&less), affinity()); /* without any file */
    assert_false(less);
    put("/proc/self/mountinfo", V1);
    put("/proc/self/cgroup", "4:memory:/m\n3:cpuset:/\n2:cpuacct,cpu:/a/b\n");
    put("/cg/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    put("/cg/cpu/a/b/cpu.cfs_period_us", "100000\n");
    assert_int_equal(usable(&less), affinity());
    put("/cg/cpu/a/cpu.cfs_quota_us", "50000\n");
    put("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(usable(&less), 1); /* half a processor, of the group above */
    assert_int_equal(less, affinity() > 1);
    put("/proc/self/mountinfo", V2);
    put("/proc/self/cgroup", "0::/x/y\n");
    put("/cg/x/y/cpu.max", "max 100000\n");
    assert_int_equal(usable(&less), affinity());
    put("/cg/x/cpu.max", "30000 100000\n");
    assert_int_equal(usable(&less), 1);
    put("/cg/x/cpu.max", "99900000 100000\n"); /* more than there are */
    assert_int_equal(usable(&less), affinity());
    assert_false(less);
}

static void
test_container(void **state)
{
    (void)state;
    bool less;
    put("/proc/self/mountinfo", V2);
    put("/proc/self/cgroup", "0::/\n");
    put("/cg/cpu.max", "10000 100000\n");
    assert_int_equal(usable(&less), 1);
    put("/proc/self/cgroup", "0::/../elsewhere\n"); /* a group outside the view */
    assert_int_equal(usable(&less), 1);
    put("/proc/self/mountinfo", "30 23 0:29 /docker/7 /cg/cpu rw - cgroup cgroup rw,cpu\n");
    put("/proc/self/cgroup", "2:cpu:/docker/7/in\n");
    put("/cg/cpu/in/cpu.cfs_quota_us", "20000\n");
    put("/cg/cpu/in/cpu.cfs_period_us", "100000\n");
    assert_int_equal(usable(&less), 1);
    put("/proc/self/mountinfo", "garbage\n\n - cgroup\n");
    assert_int_equal(usable(&less), affinity());
}

static int
prepare(void **state)
{
    (void)state;
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int
clean(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? 0 : -1; /* NOLINT: a path of our own */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_container),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
