/* Ends a process at a step that makes something durable, as a failing machine would: HEADWATER_DIE_AT counts steps, two for each call (before
   and after it), in the processes whose command line holds HEADWATER_DIE_IN. It does so once: HEADWATER_DIED names a file that says it has.
   Loaded by LD_PRELOAD (test_durable_steps.py). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long steps;
static long last = -1;

static long wanted(void) {
    const char *at = getenv("HEADWATER_DIE_AT"), *in = getenv("HEADWATER_DIE_IN");
    char line[4096];
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = file < 0 ? 0 : read(file, line, sizeof line - 1);
    if (file >= 0) close(file);
    if (at == NULL || in == NULL || size <= 0) return 0;
    for (ssize_t place = 0; place < size; place++)
        if (line[place] == 0) line[place] = ' ';
    line[size] = 0;
    return strstr(line, in) == NULL ? 0 : atol(at);
}

static void step(void) {
    if (last < 0) last = wanted();
    if (last == 0 || atomic_fetch_add(&steps, 1) + 1 != last) return;
    int died = open(getenv("HEADWATER_DIED"), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (died < 0) return;
    close(died);
    kill(getpid(), SIGKILL);
}

#define STEP(type, name, parameters, ...)                                                                                                  \
    type name parameters {                                                                                                                 \
        static type(*real) parameters;                                                                                                     \
        if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                                             \
        step();                                                                                                                            \
        type result = real(__VA_ARGS__);                                                                                                   \
        step();                                                                                                                            \
        return result;                                                                                                                     \
    }

STEP(int, fsync, (int file), file)
STEP(int, fdatasync, (int file), file)
STEP(int, rename, (const char *from, const char *to), from, to)
STEP(int, link, (const char *from, const char *to), from, to)
STEP(int, unlink, (const char *path), path)
