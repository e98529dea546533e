/* Device memory in the address space. Programs see addresses in the window,
 * which can never be accessed; the same memory is mapped `displacement` higher
 * for the simulator and for kernels compiled for the host
 * (device/impl/mem.h). Called locked. */
#ifndef MGDS_SIM_WINDOW_H
#define MGDS_SIM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/impl/mem.h"

/* The window of this process; kernel objects get a copy when they load. */
extern struct mgds_mem_window mgds_window;

/* Reserves the address space, smaller if the system refuses: 0 or -ENOMEM. */
int mgds_window_open(void);

/* A free piece of it, aligned, with an inaccessible page behind; 0 if there is
 * none. `wanted` is tried first if not 0. */
uintptr_t mgds_window_take(size_t size, size_t align, uintptr_t wanted);

/* Gives a piece back that was taken there and is unmapped; it is used again as
 * late as possible. */
void mgds_window_give(uintptr_t addr);

/* Maps fd (from offset) behind the window at addr, in the place of what was
 * there. 0 or negative errno. */
int mgds_window_map(uintptr_t addr, size_t size, int fd, size_t offset,
                    bool writable);
/* Takes that away: an access there faults again. */
void mgds_window_unmap(uintptr_t addr, size_t size);

/* True of an address that means device memory, or could. */
static inline bool mgds_window_has(uintptr_t addr)
{
    return addr - mgds_window.base < mgds_window.size;
}

/* Where the simulator reaches what a program calls addr. */
static inline void *mgds_window_at(uintptr_t addr)
{
    if (mgds_window_has(addr))
        addr += mgds_window.displacement;
    return (void *)addr;
}

#endif
