/* Ranges named after MPI calls, for NVIDIA's profilers. Nothing but a test
 * until mgds_nvtx_enable, which is called when the process turns out to use
 * CUDA: the first range looks for a profiler in the environment. Compiled out
 * where the header-only nvtx3 was not found. */
#ifndef MGDS_BASE_NVTX_H
#define MGDS_BASE_NVTX_H

#ifdef MGDS_HAVE_NVTX

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool mgds_nvtx_on;

/* Ranges are real from now on. */
void mgds_nvtx_enable(void);

/* What the functions below call once enabled. */
void mgds_nvtx_range_push(const char *name);
void mgds_nvtx_range_pop(void);

/* Opens a range in the calling thread, for mgds_nvtx_pop to close. False if
 * there is none to close: so a range that was not opened before the enabling
 * is not closed after it. */
static inline bool mgds_nvtx_push(const char *name)
{
    if (!atomic_load_explicit(&mgds_nvtx_on, memory_order_relaxed))
        return false;
    mgds_nvtx_range_push(name);
    return true;
}

/* pushed is what mgds_nvtx_push returned. */
static inline void mgds_nvtx_pop(bool pushed)
{
    if (pushed)
        mgds_nvtx_range_pop();
}

#else

#include <stdbool.h>

static inline void mgds_nvtx_enable(void)
{
}

static inline bool mgds_nvtx_push(const char *name)
{
    (void)name;
    return false;
}

static inline void mgds_nvtx_pop(bool pushed)
{
    (void)pushed;
}

#endif
#endif
