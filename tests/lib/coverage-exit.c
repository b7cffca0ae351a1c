/* SPDX-License-Identifier: MIT */
/* Linked into the coverage build only (ld --wrap): counters are written where a process ends,
 * becomes another program, or becomes a user who may not write them. */
#include <sys/types.h>

void __gcov_dump(void);
void __gcov_reset(void);

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_execv(const char *path, char *const *argv);
int __wrap_execv(const char *path, char *const *argv);
int __real_setuid(uid_t user);
int __wrap_setuid(uid_t user);

_Noreturn void
__wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int
__wrap_execv(const char *path, char *const *argv)
{
    __gcov_dump();
    int result = __real_execv(path, argv);
    __gcov_reset();
    return result;
}

int
__wrap_setuid(uid_t user)
{
    __gcov_dump();
    __gcov_reset();
    return __real_setuid(user);
}
