/*
 * Is CUDA in this process? A program that never loads libcuda can hold no GPU
 * pointer, so its calls pass without a look at their buffers; finding that out
 * must cost next to nothing and may not interpose dlopen.
 *
 * The dynamic linker keeps the loaded objects in a list and appends new ones.
 * We hold on to the last object seen (pinned, so that it stays in the list):
 * while nothing follows it, nothing was loaded since, and one load says so.
 *
 *   anchor -> [ last object seen ] -> NULL            nothing new
 *   anchor -> [ last object seen ] -> [ new ] -> ...  rescan, move the anchor
 *
 * Once libcuda was seen the question is settled: the anchor then points to an
 * object of our own that nothing ever follows.
 * Objects loaded into other link namespaces (dlmopen) are not seen.
 */
#ifndef MGDS_CUDA_PRESENCE_H
#define MGDS_CUDA_PRESENCE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Written under presence.c's lock, read by every call. Never NULL. */
extern struct link_map *mgds_presence_anchor
    __attribute__((visibility("hidden")));

/* Has anything been loaded since the last scan? Any thread, two loads. */
static inline bool mgds_presence_changed(void)
{
    /* Relaxed: a library this thread knows of was loaded before, by it or by
       a thread that told it, and that ordered the linker's store as well. */
    struct link_map *last =
        __atomic_load_n(&mgds_presence_anchor, __ATOMIC_RELAXED);

    return __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) != NULL;
}

/*
 * Scans the loaded objects, moves the anchor to the last one, and returns
 * whether libcuda.so is among them. Any thread. Opens no file.
 */
bool mgds_presence_scan(void);

/* seen is called once, when CUDA is seen, by the thread that scans; it may call
   nothing of this header but mgds_presence_cuda, which says yes already. To be
   set before the first scan. */
void mgds_presence_watch(void (*seen)(void));

/* What the scans have found so far, without a scan. Any thread. */
bool mgds_presence_cuda(void);

/* Whether this process may come to use a GPU: libcuda is in it, or its driver
 * on this host. Any thread. */
bool mgds_presence_gpus(void);

/* The name by which the dynamic linker knows the libcuda that was found: its
 * path, or what it was loaded as; "" while there is none. Any thread. */
const char *mgds_presence_library(void);

#endif
