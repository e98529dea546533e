/* Memory the driver knows: what was allocated, registered, imported or mapped.
 * One block a range; mgds_gpu.blocks finds it by address. Called locked. */
#ifndef MGDS_SIM_MEM_H
#define MGDS_SIM_MEM_H

#include "sim/cuda/state.h"

#define MGDS_PAGE ((size_t)4096)
#define MGDS_VMM_GRANULARITY ((size_t)2 << 20)

enum mgds_block_kind {
    MGDS_BLOCK_DEVICE,     /* cuMemAlloc */
    MGDS_BLOCK_POOL,       /* cuMemAllocAsync */
    MGDS_BLOCK_VIRTUAL,    /* cuMemMap */
    MGDS_BLOCK_IPC,        /* another process's, mapped here */
    MGDS_BLOCK_MANAGED,    /* both CPU and GPU reach it where it is */
    MGDS_BLOCK_HOST,       /* cuMemHostAlloc */
    MGDS_BLOCK_REGISTERED, /* the program's own, pinned */
};

struct mgds_gpu_op;
struct mgds_sim_pin;

/* A pool only counts: each of its blocks is an allocation of its own. The
 * numbers are what the driver's attributes of the same names report. */
struct mgds_gpu_pool {
    struct mgds_gpu_device *device;
    bool is_default; /* cannot be destroyed */
    uint64_t threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse[4];    /* by attribute number; stored, without effect */
    unsigned peers;  /* bit i: device i may access it */
    unsigned blocks; /* not freed yet; with none left a dropped pool goes */
    bool dropped;    /* the handle is gone */
};

/* Physical memory of cuMemCreate or an import. */
struct mgds_gpu_physical {
    unsigned refs;    /* handles and mappings */
    unsigned handles; /* creations, imports and retains not released */
    size_t size;
    int fd; /* the memory, owned */
    struct mgds_gpu_device
        *device; /* whose memory it takes, NULL if imported */
    CUmemAllocationProp prop;
};

/* Names the same memory in every process. */
struct mgds_ipc_key {
    uint32_t magic;
    int32_t pid;
    uint64_t start; /* of the process, so that a reused pid is noticed */
    int32_t fd;
    uint32_t device; /* physical number */
    uint64_t inode;
    uint64_t size;
    uint64_t host;
    uint64_t zero[2];
};

/* A range of addresses that the driver knows. mgds_block_add and the calls that
 * make the kind write it; what changes later says so. */
struct mgds_gpu_block {
    enum mgds_block_kind kind;
    uintptr_t addr;
    size_t size;
    uint64_t id;                    /* never used again */
    struct mgds_gpu_ctx *ctx;       /* that made it; NULL if VIRTUAL */
    struct mgds_gpu_device *device; /* whose memory it is, or that pinned it */
    unsigned flags;   /* of cuMemHostAlloc, HostRegister, AllocManaged */
    int fd;           /* of the memory, owned, or -1 */
    bool sync_memops; /* cuPointerSetAttribute */
    /* Between cuMemFreeAsync and its operation: that, and its stream, which is
     * only compared. No longer the program's, unless it is taken back. */
    struct mgds_gpu_op *freeing;
    struct mgds_gpu_stream *freed_in;
    struct mgds_gpu_pool *pool;         /* POOL */
    struct mgds_gpu_physical *physical; /* VIRTUAL: reference */
    size_t offset;                      /* VIRTUAL: in the physical memory */
    unsigned char access[MGDS_GPU_MAX]; /* VIRTUAL: cuMemSetAccess, a device */
    struct mgds_ipc_key key;            /* IPC: what it was opened by */
    unsigned opens;                     /* IPC: less closes */
    struct mgds_sim_pin *pin;           /* of HCAs; NULL: none had it yet */
};

/* The block at addr (anywhere in it), or NULL. */
struct mgds_gpu_block *mgds_mem_find(uintptr_t addr);

/* The block that begins there and is still the program's, or NULL. */
struct mgds_gpu_block *mgds_mem_base(uintptr_t addr);

/* True if every byte of the range is known memory that GPU work may reach. */
bool mgds_mem_covers(uintptr_t addr, size_t size);

/* True if the GPU of that context may load and store there: not another GPU's
 * memory without peer access. */
bool mgds_mem_reaches(const struct mgds_gpu_ctx *ctx, uintptr_t addr);

/* The same of the calling thread's current context; true if there is none. */
bool mgds_mem_in_reach(uintptr_t addr);

/* The widest access that any device has to mapped memory. */
unsigned mgds_block_access(const struct mgds_gpu_block *block);

/* False for what programs call pageable: not known to the driver. */
static inline bool mgds_mem_is_pinned(uintptr_t addr)
{
    return mgds_mem_find(addr) != NULL;
}

/* True of pinned host memory; managed memory counts as the device's. */
static inline bool mgds_block_is_host(const struct mgds_gpu_block *block)
{
    return block->kind == MGDS_BLOCK_HOST ||
           block->kind == MGDS_BLOCK_REGISTERED;
}

/* A new entry of mgds_gpu.blocks. Mapped memory has no context: the caller sets
 * its device. */
struct mgds_gpu_block *mgds_block_add(enum mgds_block_kind kind, uintptr_t addr,
                                      size_t size, struct mgds_gpu_ctx *ctx);

/* Device memory of the context's device in a memfd of its own, mapped in the
 * window. OUT_OF_MEMORY if the device, the host or the window is full. */
CUresult mgds_mem_alloc(struct mgds_gpu_ctx *ctx, enum mgds_block_kind kind,
                        size_t size, struct mgds_gpu_block **out);

/* Gives a block up: its address faults from now on, in other processes too. */
void mgds_mem_drop(struct mgds_gpu_block *block);

/* The program gives it up: waits for its device (mgds_gpu_device_wait), then
 * drops it. INVALID_VALUE if another thread freed it meanwhile. */
CUresult mgds_mem_release(struct mgds_gpu_block *block);

/* ipc.c: whether another process has the memory of that descriptor mapped. */
bool mgds_ipc_is_mapped(int fd);

/* Gives up all that belongs to a context: not mappings, which belong to the
 * process, nor pool memory, which belongs to the pool. */
void mgds_mem_drop_all(struct mgds_gpu_ctx *ctx);

/* A memfd of that size, the caller's; its name carries the host and the device
 * (hooks.h), which events have none of: NULL. Raises the process's limit of
 * descriptors if that is in the way. Negative errno. */
int mgds_memfd_new(size_t size, const struct mgds_gpu_device *device);

/* A descriptor of a block's memory, the caller's: whoever has it keeps the
 * memory when the block is freed. -EBADF: the block has no memory of its own;
 * or another negative errno. */
int mgds_mem_share(const struct mgds_gpu_block *block);

/* True if fd is GPU memory of a process of this host. */
bool mgds_memfd_is_ours(int fd);

/* This host as a number. */
uint64_t mgds_host_hash(void);

/* The reserved addresses around this one, mapped or not; or NULL. */
const struct mgds_range *mgds_vmm_reservation(uintptr_t addr);

/* Accounting of a pool's block that goes; frees a dropped pool with the last.
 */
void mgds_pool_forget(struct mgds_gpu_pool *pool, size_t size);

/* Gives a reference back; the last one frees the memory. */
void mgds_physical_put(struct mgds_gpu_physical *physical);

#endif
