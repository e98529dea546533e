/* Virtual time; see virtual_time.h. */
#include "tests/engine/virtual_time.h"

#include <string.h>
#include <sys/types.h>
#include <time.h>

enum { YIELD_NS = 100000 };

static uint64_t now = UINT64_C(1000000000000);
static uint64_t drawn;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags);
int __wrap_sched_yield(void);

void time_pass(uint64_t ns)
{
    now += ns;
}

uint64_t time_now(void)
{
    return now;
}

void time_reseed(void)
{
    drawn = 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    out->tv_sec = (time_t)(now / 1000000000);
    out->tv_nsec = (long)(now % 1000000000);
    return 0;
}

/* Splitmix: any bytes do, if they differ. */
ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags)
{
    char *to = (char *)out;

    (void)flags;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t z = drawn += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(to + i, &z, bytes - i < sizeof(z) ? bytes - i : sizeof(z));
    }
    return (ssize_t)bytes;
}

int __wrap_sched_yield(void)
{
    time_pass(YIELD_NS);
    return 0;
}
