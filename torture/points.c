/* Kills the process at one exact point: before or after the nth call that changes what is on disk.
 *
 *     cc -shared -fPIC -o points.so points.c -ldl
 *     AIB_KILL_AT=7 LD_PRELOAD=./points.so COMMAND
 *
 * Calls are counted from 0, each twice: an even number kills before it, an odd one after it. Without AIB_KILL_AT, or with a
 * number that is not reached, nothing is killed; at the end the count is written to the file that AIB_KILL_COUNT names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long counted = 0;

static void point(void) {
    const char *at = getenv("AIB_KILL_AT");
    long now = atomic_fetch_add(&counted, 1);
    if (at && atol(at) == now) kill(getpid(), SIGKILL);
}

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("AIB_KILL_COUNT");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", atomic_load(&counted));
        fclose(file);
    }
}

#define AROUND(type, name, parameters, arguments)                                       \
    type name parameters {                                                              \
        static type(*real) parameters = NULL;                                           \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                  \
        point();                                                                        \
        type result = real arguments;                                                   \
        point();                                                                        \
        return result;                                                                  \
    }

AROUND(int, rename, (const char *a, const char *b), (a, b))
AROUND(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b))
AROUND(int, renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
AROUND(int, link, (const char *a, const char *b), (a, b))
AROUND(int, linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
AROUND(int, unlink, (const char *a), (a))
AROUND(int, unlinkat, (int d, const char *a, int f), (d, a, f))
AROUND(int, rmdir, (const char *a), (a))
AROUND(int, mkdir, (const char *a, mode_t m), (a, m))
AROUND(int, fsync, (int f), (f))
AROUND(int, fdatasync, (int f), (f))
AROUND(int, ftruncate, (int f, off_t n), (f, n))
AROUND(int, ftruncate64, (int f, off64_t n), (f, n))
