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

/* Memory that is shared; its head counts who has it. */
struct join {
    atomic_int *joined; /* NULL: free */
    size_t bytes;
};

static struct {
    struct join joins[STAND_IN_JOINS];
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

static struct join *join_of(atomic_int *joined, const char *what)
{
    for (int i = 0; i < STAND_IN_JOINS; i++) {
        if (self.joins[i].joined == joined)
            return &self.joins[i];
    }
    stand_in_check(0, what);
    return NULL;
}

static void join_map(struct join *join, const char *name)
{
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);

    stand_in_check(fd >= 0 && ftruncate(fd, (off_t)join->bytes) == 0, name);
    join->joined =
        mmap(NULL, join->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    stand_in_check((void *)join->joined != MAP_FAILED, "mmap");
}

void *stand_in_join(const char *name, size_t bytes, int rank)
{
    struct join *join = join_of(NULL, "joined too often");

    self.rank = rank;
    join->bytes = HEAD + bytes;
    join_map(join, name);
    driver_fill();
    stand_in_check(stand_in.enter(join->joined, join->bytes, 0) == CUDA_SUCCESS,
                   "cuMemHostRegister");
    if (!self.log)
        log_open();
    atomic_fetch_add(join->joined, 1);
    while (atomic_load(join->joined) < STAND_IN_RANKS)
        sched_yield();
    if (rank == 0)
        shm_unlink(name);
    return (char *)join->joined + HEAD;
}

static int any_joined(void)
{
    int count = 0;

    for (int i = 0; i < STAND_IN_JOINS; i++)
        count += self.joins[i].joined != NULL;
    return count;
}

void stand_in_leave(void *shared)
{
    struct join *join = join_of((atomic_int *)(void *)((char *)shared - HEAD),
                                "left without having joined");

    stand_in_check(stand_in.leave(join->joined) == CUDA_SUCCESS,
                   "cuMemHostUnregister");
    munmap(join->joined, join->bytes);
    join->joined = NULL;
    if (any_joined())
        return;
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
