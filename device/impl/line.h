/* A line of memory that is far, read by several threads in one access. On the
 * GPU four neighbours of a warp, from one whose number four divides, read one
 * unit each: one thread's reads of a line across the host link come one after
 * the other. So blocks that read lines are whole warps there. A thread of the
 * host reads all by itself. C and C++. */
#ifndef MGDS_DEVICE_LINE_H
#define MGDS_DEVICE_LINE_H

#include "device/impl/mem.h"

enum { MGDS_LINE_UNITS = 4 };

#if MGDS_ON_GPU

enum { MGDS_LINE_READERS = MGDS_LINE_UNITS };

/* The four units of a line of 64 bytes, each whole, by threads that are here
 * together: all of them have all. */
MGDS_FN void mgds_load_line(const struct mgds_unit *line,
                            struct mgds_unit v[MGDS_LINE_UNITS])
{
    unsigned lane = threadIdx.x % 32, first = lane & ~3u;
    struct mgds_unit mine = mgds_load_unit(line + (lane - first));
    unsigned here = 0xfu << first;

    for (unsigned k = 0; k < MGDS_LINE_UNITS; k++) {
        v[k].data =
            __shfl_sync(here, (unsigned long long)mine.data, (int)(first + k));
        v[k].word =
            __shfl_sync(here, (unsigned long long)mine.word, (int)(first + k));
    }
}

/* Of those threads: the first one, and what it says, for all of them. */
MGDS_FN int mgds_line_leads(void)
{
    return threadIdx.x % MGDS_LINE_READERS == 0;
}

MGDS_FN int mgds_line_agree(int said)
{
    unsigned first = threadIdx.x % 32 & ~3u;

    return __shfl_sync(0xfu << first, said, (int)first);
}

#else

enum { MGDS_LINE_READERS = 1 };

MGDS_FN void mgds_load_line(const struct mgds_unit *line,
                            struct mgds_unit v[MGDS_LINE_UNITS])
{
    for (unsigned k = 0; k < MGDS_LINE_UNITS; k++)
        v[k] = mgds_load_unit(line + k);
}

MGDS_FN int mgds_line_leads(void)
{
    return 1;
}

MGDS_FN int mgds_line_agree(int said)
{
    return said;
}

#endif

#endif
