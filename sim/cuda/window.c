/* The window: one reservation, its lower half what programs see, its upper half
 * where the memory is. */
#include "sim/cuda/window.h"

#include <errno.h>
#include <sys/mman.h>

#include "sim/cuda/state.h"
#include "shim/base/log.h"

#define LARGEST ((size_t)1 << 38)
#define SMALLEST ((size_t)1 << 28)
#define PAGE ((size_t)4096)

struct mgds_mem_window mgds_window;

static struct mgds_range_map taken;

/* Search goes on behind the last piece: a freed address stays unused for as
 * long as possible, so that a stale pointer faults. */
static uintptr_t cursor;

int mgds_window_open(void)
{
    for (size_t size = LARGEST; size >= SMALLEST; size /= 2) {
        void *base = mmap(NULL, size * 2, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (base == MAP_FAILED)
            continue;
        mgds_window.base = (uintptr_t)base;
        mgds_window.size = size;
        mgds_window.displacement = size;
        cursor = mgds_window.base;
        return 0;
    }
    mgds_warn(
        "software GPU: no address space for device memory: raise `ulimit -v`");
    return -ENOMEM;
}

static uintptr_t align_up(uintptr_t addr, size_t align)
{
    return (addr + align - 1) & ~(uintptr_t)(align - 1);
}

/* First fit from `from` on; 0 if nothing is free up to the end. */
static uintptr_t search(uintptr_t from, size_t size, size_t align)
{
    uintptr_t end = mgds_window.base + mgds_window.size;
    uintptr_t at = align_up(from, align);
    size_t i = mgds_range_lower(&taken, from);

    if (i > 0 && taken.rows[i - 1].start + taken.rows[i - 1].size > at)
        at = align_up(taken.rows[i - 1].start + taken.rows[i - 1].size, align);
    for (; i < taken.count && taken.rows[i].start < at + size; i++) {
        uintptr_t next = taken.rows[i].start + taken.rows[i].size;

        if (next > at)
            at = align_up(next, align);
    }
    return at < end && size <= end - at ? at : 0;
}

uintptr_t mgds_window_take(size_t size, size_t align, uintptr_t wanted)
{
    uintptr_t at = 0;

    if (size == 0 || size > mgds_window.size - PAGE)
        return 0;
    size = align_up(size, PAGE) + PAGE;
    if (wanted && wanted % align == 0 && mgds_window_has(wanted) &&
        mgds_window_has(wanted + size - 1) &&
        !mgds_range_overlaps(&taken, wanted, size))
        at = wanted;
    if (!at)
        at = search(cursor, size, align);
    if (!at)
        at = search(mgds_window.base, size, align);
    if (!at)
        return 0;
    cursor = at + size;
    mgds_range_add(&taken, at, size, NULL);
    return at;
}

void mgds_window_give(uintptr_t addr)
{
    mgds_range_remove(&taken, addr);
}

int mgds_window_map(uintptr_t addr, size_t size, int fd, size_t offset,
                    bool writable)
{
    int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;

    if (mmap(mgds_window_at(addr), align_up(size, PAGE), prot,
             MAP_SHARED | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED)
        return -errno;
    return 0;
}

/* Put back as it was reserved: a hole would be taken by the next mmap of
 * anybody. */
void mgds_window_unmap(uintptr_t addr, size_t size)
{
    void *at = mgds_window_at(addr);

    if (mmap(at, align_up(size, PAGE), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
        mgds_warn("software GPU: cannot unmap device memory at %p", at);
}
