/* Shared memory, calls of the driver, a log. */
#include "tests/osu/stand_in.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "osu-extensions/libcuda.h"

#define HEAD 4096 /* in front of what the caller gets */

struct stand_in_driver stand_in;

static struct {
    char name[64];
    atomic_int *joined; /* NULL: not joined */
    size_t bytes;
    int rank;
    FILE *log;
    long received;
} self;

void stand_in_check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "stand-in: rank %d: %s\n", self.rank, what);
    _exit(3);
}

void stand_in_name(char *out, const char *what)
{
    snprintf(out, 32, "/mgds-%s-%ld", what, (long)getpid());
}

static void *call_find(const char *name, int version)
{
    char why[256];
    void *found;

    stand_in_check(mgds_libcuda_open(why) == 0, "no driver");
    found = mgds_libcuda_find(name, version);
    stand_in_check(found != NULL, name);
    return found;
}

static void driver_fill(void)
{
    void *found;

#define X(field, name, version, params)                                        \
    found = call_find(#name, version);                                         \
    memcpy(&stand_in.field, &found, sizeof(found));
#include "tests/osu/stand_in.def"
#undef X
}

static void log_open(void)
{
    const char *base = getenv("RIVAL_LOG");
    char path[512];

    if (!base)
        return;
    snprintf(path, sizeof(path), "%s.%d", base, self.rank);
    self.log = fopen(path, "a");
    stand_in_check(self.log != NULL, path);
}

void *stand_in_join(const char *name, size_t bytes, int rank)
{
    int fd;

    stand_in_check(self.joined == NULL, "joined twice");
    self.rank = rank;
    self.bytes = HEAD + bytes;
    snprintf(self.name, sizeof(self.name), "%s", name);
    fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    stand_in_check(fd >= 0 && ftruncate(fd, (off_t)self.bytes) == 0, name);
    self.joined =
        mmap(NULL, self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    stand_in_check((void *)self.joined != MAP_FAILED, "mmap");
    driver_fill();
    stand_in_check(stand_in.enter(self.joined, self.bytes, 0) == CUDA_SUCCESS,
                   "cuMemHostRegister");
    log_open();
    atomic_fetch_add(self.joined, 1);
    while (atomic_load(self.joined) < STAND_IN_RANKS)
        sched_yield();
    if (rank == 0)
        shm_unlink(name);
    return (char *)self.joined + HEAD;
}

void stand_in_leave(void)
{
    stand_in_check(self.joined != NULL, "left without having joined");
    stand_in_check(stand_in.leave(self.joined) == CUDA_SUCCESS,
                   "cuMemHostUnregister");
    munmap(self.joined, self.bytes);
    self.joined = NULL;
    if (self.log)
        fclose(self.log);
    self.log = NULL;
}

void stand_in_log(const char *format, ...)
{
    va_list args;

    if (!self.log)
        return;
    va_start(args, format);
    vfprintf(self.log, format, args);
    va_end(args);
    fputc('\n', self.log);
}

int stand_in_damages(void)
{
    const char *which = getenv("RIVAL_DAMAGE");

    return which && ++self.received == strtol(which, NULL, 10);
}
