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

/* One visible GPU. Locked, except the first two, which cuInit writes once. */
struct mgds_gpu_device {
    int ordinal; /* as programs count; cfg.visible has the physical number */
    CUuuid uuid;
    size_t used; /* bytes of this process; allocations and drops write it */
    struct mgds_gpu_ctx *primary; /* made when first asked for, never freed */
    /* The pool the device came with, and the one allocations take now; both
     * NULL until a call needs one. */
    struct mgds_gpu_pool *default_pool, *pool;
    /* Of all contexts, by next: mgds_stream_new adds, the last
     * mgds_stream_put removes, so dropped ones with work left are here too. */
    struct mgds_gpu_stream *streams;
    pthread_cond_t queue_moved; /* a hardware queue may be free */
    bool gate_shut; /* by mgds_gpu_device_wait: calls wait at their entry */
};

/* The process. `lock` guards all of it and every object of sim/cuda; it is let
 * go while user code, a copy, a kernel or a wait runs. */
struct mgds_gpu {
    pthread_mutex_t lock;
    _Atomic pid_t pid; /* of cuInit; a forked child has no GPU */
    /* Written by the first cuInit and never again. */
    bool started;
    CUresult start_result;
    struct mgds_gpu_config cfg;
    int devices;
    struct mgds_gpu_device device[MGDS_GPU_MAX];
    struct mgds_range_map blocks; /* by address; mem.c alone changes it */
    uint64_t last_id;             /* of contexts, streams, buffers */
    pthread_cond_t gate_moved;    /* the gate of some device opened */
    /* The error that the first failing operation left, for good. Written
     * locked; work that waits also reads it without, to give up. */
    _Atomic unsigned lost;
};

extern struct mgds_gpu mgds_gpu;

/* What the driver keeps a thread; only that thread looks at it. */
struct mgds_gpu_thread {
    uint64_t id; /* mgds_thread_id gives it out; 0 before */
    /* Current contexts, the top one last. They may be dead: a context's struct
     * is never freed. */
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

/* A driver call on its way; on the stack of the thread that makes it. */
struct mgds_call {
    struct mgds_gpu_ctx *ctx; /* the current one, with MGDS_NEED_CTX */
    bool locked;
};

/* Enters a driver call: waits at the gate of the current device, then checks
 * `needs`. Takes the lock if it returns CUDA_SUCCESS; mgds_call_end must
 * follow in any case. */
CUresult mgds_call_begin(struct mgds_call *call, unsigned needs);

/* Leaves it with `rc`, which it returns, and lets the lock go if held. */
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

/* Live handles: a pointer is a handle only between add and drop. */
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

/* Makes the object's address a handle of that kind. It must not be one. Locked.
 */
void mgds_handle_add(enum mgds_handle_kind kind, const void *object);

/* From now on the address is no handle; nothing if it was none. The object is
 * the caller's to free. Locked. */
void mgds_handle_drop(const void *object);

/* True if the address is a live handle of that kind. Any value may be asked
 * about, NULL and garbage too: it is not followed. Locked. */
bool mgds_handle_is(enum mgds_handle_kind kind, const void *object);

/* Zeroed memory that the simulator cannot do without, for free(): one line and
 * abort if there is none (a software GPU has no half-working state to fall
 * back to). Any thread. */
void *mgds_gpu_calloc(size_t count, size_t size);

/* `array` of *capacity elements, or a longer one in its place, so that `count`
 * fit; new elements are not cleared. Aborts likewise. */
void *mgds_gpu_grow(void *array, size_t count, size_t *capacity, size_t size);

/* Monotonic nanoseconds. Any thread. */
uint64_t mgds_gpu_now(void);

/* Sleeps for about that long, or less after a signal. Not locked. */
void mgds_gpu_nap(uint64_t ns);

/* A nap of somebody who polls a word that anybody may write; *nap is 0 at
 * first. The nap lasts a quarter of what the wait has lasted, 2 ms at most:
 * where hundreds of threads stand, in many processes on few cores, naps of one
 * length would wake so many that who is waited for gets no core. */
void mgds_gpu_doze(uint64_t *nap);

/* Random delays (MPIX_SIM_DELAY): the start of a sequence of its own for each
 * seed, rank and `what`. After cuInit; any thread. */
uint64_t mgds_gpu_random(uint64_t what);

/* Sleeps for the next delay of the sequence, which only one thread at a time
 * may use. Not locked. */
void mgds_gpu_delay(uint64_t *random);

#endif
