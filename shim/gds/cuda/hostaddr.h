/*
 * Addresses that can only be plain host memory, found without a system call
 * or the driver: most small messages of a CUDA program lie there, and a call
 * into the driver costs them more than all else we do.
 *
 * Why this is right: device, managed and VMM addresses are in mappings that
 * the driver made in this address space and keeps while the memory lives
 * (unified addressing). The kernel lets no two mappings overlap, so a live
 * GPU buffer never lies in
 *   - the data segments of the program itself,
 *   - the heap between its start and the current break,
 *   - the stack that the calling thread runs on.
 * Memory of these that the program registered with CUDA is still host memory;
 * it is only not told apart from the rest.
 */
#ifndef MGDS_CUDA_HOSTADDR_H
#define MGDS_CUDA_HOSTADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/tls.h"

struct mgds_hostrange {
    uintptr_t start, end; /* empty if equal */
};

static inline bool mgds_hostrange_contains(const struct mgds_hostrange *range,
                                           uintptr_t addr)
{
    return addr - range->start < range->end - range->start;
}

/* The stack of the calling thread; zeros: not looked for yet. */
extern MGDS_TLS struct mgds_hostrange mgds_hostaddr_stack
    __attribute__((visibility("hidden")));

/* The last address before the heap; UINTPTR_MAX: not known. Atomic. */
extern uintptr_t mgds_hostaddr_no_heap __attribute__((visibility("hidden")));

/* Where the C library has the heap's end. sbrk(0) would say the same, but UCX
 * replaces sbrk, and its own sets the end to what it was a moment before: if
 * another thread has made the heap larger meanwhile, that memory is gone. */
extern char *mgds_hostaddr_heap_end __asm__("__curbrk") __attribute__((weak));

static inline bool mgds_hostaddr_in_heap(uintptr_t addr)
{
    return addr > __atomic_load_n(&mgds_hostaddr_no_heap, __ATOMIC_RELAXED) &&
           addr < (uintptr_t)__atomic_load_n(&mgds_hostaddr_heap_end,
                                             __ATOMIC_RELAXED);
}

/* The stack and the heap, as far as they are known: loads and no call. */
static inline bool mgds_hostaddr_near(const void *addr)
{
    return mgds_hostrange_contains(&mgds_hostaddr_stack, (uintptr_t)addr) ||
           mgds_hostaddr_in_heap((uintptr_t)addr);
}

/* What is not near: data of the program, and what was not known before. */
bool mgds_hostaddr_far(const void *addr);

/* True if addr lies in one of the three; false says nothing. Any thread. */
static inline bool mgds_hostaddr_known(const void *addr)
{
    return mgds_hostaddr_near(addr) || mgds_hostaddr_far(addr);
}

/* Whether the CPU may read the byte at addr: one system call, no signal. */
bool mgds_hostaddr_readable(const void *addr);

#endif
