/* The one process state of the software GPU, its lock, and the frame that every
 * driver call runs in. Inside sim/cuda a function that serves a call returns
 * CUresult, nothing else does. "Locked" means: the caller holds mgds_gpu.lock.
 */
#ifndef MGDS_SIM_STATE_H
#define MGDS_SIM_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/gds/cuda/driver_abi.h"
#include "sim/cuda/config.h"
#include "sim/cuda/range.h"

#define MGDS_GPU_MAX 16
#define MGDS_CTX_DEPTH 32 /* of a thread's stack of contexts */

#define CALL(base, symbol, version, params)                                    \
    __attribute__((visibility("default"))) CUresult symbol params;
#define TWIN(base, symbol, suffix, version, params, args)                      \
    __attribute__((visibility("default"))) CUresult symbol params;             \
    __attribute__((visibility("default"))) CUresult symbol##suffix params;
#include "sim/cuda/calls.def"
#undef CALL
#undef TWIN

struct mgds_gpu_ctx;
struct mgds_gpu_pool;
struct mgds_gpu_stream;

struct mgds_gpu_device {
    int ordinal;
    CUuuid uuid;
    size_t used; /* bytes this process has allocated */
    struct mgds_gpu_ctx *primary;
    struct mgds_gpu_pool *default_pool, *pool;
    struct mgds_gpu_stream *streams; /* of all contexts, by next */
    pthread_cond_t queue_moved;      /* a hardware queue may be free */
    bool gate_shut; /* by mgds_gpu_device_wait: calls wait at their entry */
};

struct mgds_gpu {
    pthread_mutex_t lock; /* everything below, and every object */
    _Atomic pid_t pid;    /* of cuInit; a forked child has no GPU */
    bool started;
    CUresult start_result;
    struct mgds_gpu_config cfg;
    int devices;
    struct mgds_gpu_device device[MGDS_GPU_MAX];
    struct mgds_range_map blocks; /* every allocation, by address */
    uint64_t last_id;             /* of contexts, streams, buffers */
    unsigned captures;            /* streams that are being captured */
    pthread_cond_t gate_moved;    /* the gate of some device opened */
    /* The error that the first failing operation left, for good. Written
     * locked; work that waits also reads it without, to give up. */
    _Atomic unsigned lost;
};

extern struct mgds_gpu mgds_gpu;

/* What the driver keeps a thread. */
struct mgds_gpu_thread {
    uint64_t id;
    struct mgds_gpu_ctx *stack[MGDS_CTX_DEPTH];
    int depth;
    bool per_thread;    /* inside a _ptsz twin: stream 0 is the thread's */
    bool host_function; /* runs a host function: no CUDA allowed */
    CUstreamCaptureMode capture_mode;
};

extern _Thread_local struct mgds_gpu_thread mgds_gpu_thread;

/* What a call needs; any of them fails with the driver's error. */
enum {
    MGDS_NEED_INIT = 0,        /* cuInit was called */
    MGDS_NEED_CTX = 1 << 0,    /* a current context that is alive */
    MGDS_NEED_SAFE = 1 << 1,   /* not one of the calls barred by a capture */
    MGDS_NEED_LITTLE = 1 << 2, /* a host function may make the call */
};

struct mgds_call {
    struct mgds_gpu_ctx *ctx; /* the current one, if needed */
    bool locked;
};

/* Enters a driver call: takes the lock if it returns CUDA_SUCCESS. */
CUresult mgds_call_begin(struct mgds_call *call, unsigned needs);

/* Leaves it with `rc`, which it returns. */
CUresult mgds_call_end(struct mgds_call *call, CUresult rc);

/* The whole of a driver call: `expr` runs locked. */
#define MGDS_API(call, needs, expr)                                            \
    do {                                                                       \
        struct mgds_call call;                                                 \
        CUresult call##_rc = mgds_call_begin(&call, needs);                    \
        if (call##_rc == CUDA_SUCCESS)                                         \
            call##_rc = (expr);                                                \
        return mgds_call_end(&call, call##_rc);                                \
    } while (0)

/* The device of that number, NULL if there is none. Locked. */
struct mgds_gpu_device *mgds_gpu_device(CUdevice ordinal);

/* Waits until nothing is left to run on the device: streams of all its
 * contexts. The gate of the device is shut meanwhile: calls on it wait at their
 * entry, those on other devices do not. Locked; lets the lock go while it
 * waits, so what the caller has looked up before may be gone. */
void mgds_gpu_device_wait(struct mgds_gpu_device *device);

/* Waits while the gate of the device is shut. Locked; lets the lock go. */
void mgds_gpu_gate_pass(const struct mgds_gpu_device *device);

/* Makes `error` the result of every later call that reaches the device, on all
 * devices, unless there is one already: a fault costs the whole process.
 * Locked. */
void mgds_gpu_lose(CUresult error);

/* That error, or CUDA_SUCCESS. Any thread, locked or not. */
static inline CUresult mgds_gpu_lost(void)
{
    return (CUresult)mgds_gpu.lost;
}

/* A number never used before in this process. Locked. */
uint64_t mgds_gpu_next_id(void);

/* Live handles: a pointer is a handle only between add and drop. Locked. */
enum mgds_handle_kind {
    MGDS_HANDLE_NONE,
    MGDS_HANDLE_CTX,
    MGDS_HANDLE_STREAM,
    MGDS_HANDLE_EVENT,
    MGDS_HANDLE_POOL,
    MGDS_HANDLE_MODULE,
    MGDS_HANDLE_FUNCTION,
    MGDS_HANDLE_GRAPH,
    MGDS_HANDLE_NODE,
    MGDS_HANDLE_EXEC,
    MGDS_HANDLE_USER,
    MGDS_HANDLE_PHYSICAL,
};
void mgds_handle_add(enum mgds_handle_kind kind, const void *object);
void mgds_handle_drop(const void *object);
bool mgds_handle_is(enum mgds_handle_kind kind, const void *object);

/* Memory that the simulator cannot do without: one line and abort if there is
 * none (a software GPU has no half-working state to fall back to). */
void *mgds_gpu_calloc(size_t count, size_t size);
void *mgds_gpu_grow(void *array, size_t count, size_t *capacity, size_t size);

/* Monotonic nanoseconds; and a sleep that never spins. */
uint64_t mgds_gpu_now(void);
void mgds_gpu_nap(uint64_t ns);

/* Random delays (MPIX_SIM_DELAY): the start of a sequence of its own for each
 * rank and `what`, and the next delay of a sequence. */
uint64_t mgds_gpu_random(uint64_t what);
void mgds_gpu_delay(uint64_t *random);

#endif
