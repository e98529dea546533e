/* What a test scripts, and reads back, of the libcuda.so.1 of fake_cuda.c. */
#ifndef MGDS_TEST_FAKE_CUDA_H
#define MGDS_TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/driver_abi.h"

enum { FAKE_BLOCKS = 16, FAKE_CONTEXTS = 4 };
#define FAKE_FAR UINT64_C(0x10000000000)

/* A piece of memory, as cuPointerGetAttributes tells of it. size 0: none. */
struct fake_block {
    uintptr_t base;
    size_t size;
    CUmemorytype type;
    CUcontext ctx;
    int device;
    uint64_t id;
    bool managed, legacy_ipc, pool;
    unsigned handle_types;
};

struct fake_context {
    CUcontext handle; /* NULL: none */
    uint64_t id;
    int device;
};

struct fake_cuda {
    /* scripted; defaults: a driver of 13.0 with one device */
    int version;
    CUresult version_result, count_result, query_result, alloc_result;
    int devices;
    const char *missing; /* a function that cuGetProcAddress does not know */
    struct fake_block blocks[FAKE_BLOCKS];
    /* for addresses in none of them, if set; any thread: false: nothing */
    bool (*further)(struct fake_block *out, uintptr_t addr);
    struct fake_context contexts[FAKE_CONTEXTS];
    CUcontext primary; /* of each device; NULL: not active */
    CUresult event_result;
    CUresult tell_result, open_result; /* of IPC handles */
    CUresult io_result, far_result;    /* of host memory: as registers of a
                                          device; its name for a GPU */
    CUresult export_result;            /* of dma-bufs */
    bool names_repeat;  /* a handle does not tell of the allocation's id */
    uintptr_t opens_at; /* what handles are opened at; 0: they are invalid */
    /* in the calls that open and close one, if set */
    void (*opening)(void);
    void (*closing)(void);
    /* counted, atomically */
    unsigned inits;
    unsigned asked_one, asked_all; /* pointer queries */
    unsigned lines, planes, cubes; /* copies by their dimensions */
    unsigned streams_made, streams_destroyed;
    unsigned events_destroyed;
    unsigned hosts_freed;
    unsigned told, opened, closed; /* IPC handles */
    int primary_held;              /* retains without release */
    /* the last copy of more than a line */
    CUDA_MEMCPY2D plane;
    CUDA_MEMCPY3D cube;
    size_t line;
    /* the last memory of the host that was registered, or that was exported */
    void *page;
    size_t page_bytes;
    /* asked of cuGetProcAddress_v2 */
    bool other_version; /* some function with another one than in the table */
    bool asked_for_init;
};

/* Loads the fake into the process and lets the door find it; then the same
 * script every time. */
struct fake_cuda *fake_cuda_load(void);

/* Everything as after load; contexts and blocks gone. */
void fake_cuda_reset(struct fake_cuda *fake);

/* The depth of the calling thread's context stack, and its top. */
unsigned fake_cuda_depth(void);
CUcontext fake_cuda_top(void);
void fake_cuda_set_top(CUcontext ctx);

#endif
