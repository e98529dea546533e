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

/* The word of the reader of that number, for all readers of the line. */
MGDS_FN uint64_t mgds_timeline_word_of(uint64_t word, unsigned reader)
{
    unsigned first = threadIdx.x % 32 / MGDS_LINE_READERS * MGDS_LINE_READERS;
    unsigned readers = ((1u << MGDS_LINE_READERS) - 1) << first;

    return __shfl_sync(readers, (unsigned long long)word,
                       (int)(first + reader));
}

/* The threads that are here together load the four units of a line of 64 bytes,
 * each whole: all of them have all. */
MGDS_FN void mgds_load_line(const struct mgds_unit *line,
                            struct mgds_unit v[MGDS_LINE_UNITS])
{
    struct mgds_unit mine =
        mgds_load_unit(line + threadIdx.x % MGDS_LINE_READERS);

    for (unsigned k = 0; k < MGDS_LINE_UNITS; k++) {
        v[k].data = mgds_timeline_word_of(mine.data, k);
        v[k].word = mgds_timeline_word_of(mine.word, k);
    }
}

/* This thread is the first of the line's readers. */
MGDS_FN int mgds_timeline_leads(void)
{
    return threadIdx.x % MGDS_LINE_READERS == 0;
}

/* All readers of the line get what the first one says. */
MGDS_FN int mgds_timeline_agree(int said)
{
    return (int)mgds_timeline_word_of((uint64_t)said, 0);
}

#else

enum { MGDS_LINE_READERS = 1 };

MGDS_FN void mgds_load_line(const struct mgds_unit *line,
                            struct mgds_unit v[MGDS_LINE_UNITS])
{
    for (unsigned k = 0; k < MGDS_LINE_UNITS; k++)
        v[k] = mgds_load_unit(line + k);
}

MGDS_FN int mgds_timeline_leads(void)
{
    return 1;
}

MGDS_FN int mgds_timeline_agree(int said)
{
    return said;
}

#endif

#endif
