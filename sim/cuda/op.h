/* What a stream or a graph executes. An operation is made by the call that asks
 * for it, checked then, and run later without the lock. */
#ifndef MGDS_SIM_OP_H
#define MGDS_SIM_OP_H

#include "sim/cuda/state.h"

struct mgds_gpu_block;
struct mgds_gpu_body;
struct mgds_gpu_event;
struct mgds_gpu_exec;
struct mgds_gpu_function;
struct mgds_gpu_mark;
struct mgds_gpu_stream;

enum mgds_op_kind {
    MGDS_OP_EMPTY,
    MGDS_OP_COPY,
    MGDS_OP_SET,
    MGDS_OP_MEMOP,
    MGDS_OP_HOST,
    MGDS_OP_KERNEL,
    MGDS_OP_RECORD,
    MGDS_OP_WAIT,
    MGDS_OP_GRAPH,
    MGDS_OP_FREE,
};

/* Bytes in rows in slices; a plain copy is one row. */
struct mgds_op_copy {
    uintptr_t src, dst;
    size_t width, height, depth;
    size_t src_pitch, src_slice, dst_pitch, dst_slice;
    bool link;   /* leaves the GPU */
    bool staged; /* src is the payload */
};

/* `height` rows of `width` elements; the value's low bytes go in each. */
struct mgds_op_set {
    uintptr_t dst;
    size_t pitch, width, height; /* width in elements */
    unsigned value, element;
};

/* User code, run in the stream's executor, where it may not use CUDA. */
struct mgds_op_host {
    CUhostFn fn;
    CUstreamCallback callback; /* cuStreamAddCallback; then fn is NULL */
    void *arg;
    CUstream stream;
};

struct mgds_op_kernel {
    struct mgds_gpu_function *function; /* reference */
    unsigned grid[3], block[3];         /* parameters are the payload, packed */
    unsigned shared;
};

/* Record: the mark to set. Wait: the mark to wait for. In graphs, and for
 * events shared between processes, the event itself (reference). */
struct mgds_op_event {
    struct mgds_gpu_event *event;
    struct mgds_gpu_mark *mark;
    uint64_t number; /* of the record, of a shared event */
};

/* A launch keeps the body that was there when it was called. */
struct mgds_op_graph {
    struct mgds_gpu_exec *exec; /* references */
    struct mgds_gpu_body *body;
};

/* Work of another stream that comes first: all up to that number. */
struct mgds_op_dep {
    struct mgds_gpu_stream *stream; /* reference */
    uint64_t number;
};

/* Written by the call that makes it, until it is queued; from then on only its
 * stream's executor looks at it (and cuMemAllocAsync, which takes a free
 * back, locked). A node's operation is run by one launch at a time. */
struct mgds_gpu_op {
    enum mgds_op_kind kind;
    struct mgds_gpu_op *next; /* in its stream */
    uint64_t number;          /* in its stream, from 1 */
    struct mgds_gpu_ctx *ctx; /* of the call; NULL: of whoever runs it */
    struct mgds_op_dep *deps; /* work of other streams that comes first */
    size_t dep_count, dep_capacity;
    void *payload; /* owned: staged bytes, memops, kernel parameters */
    size_t payload_size;
    union {
        struct mgds_op_copy copy;
        struct mgds_op_set set;
        struct mgds_op_host host;
        struct mgds_op_kernel kernel;
        struct mgds_op_event event;
        struct mgds_op_graph graph;
        struct mgds_gpu_block *block; /* NULL: the free was taken back */
        unsigned memops;              /* in the payload */
    } u;
};

/* A new operation of that kind without deps; `payload` is copied. The caller
 * fills u, references included. Locked. */
struct mgds_gpu_op *mgds_op_new(enum mgds_op_kind kind,
                                struct mgds_gpu_ctx *ctx, const void *payload,
                                size_t size);

/* A copy of it with references of its own; not for operations with deps,
 * marks or blocks. Locked. */
struct mgds_gpu_op *mgds_op_clone(const struct mgds_gpu_op *op);

/* Gives up its references and itself. Locked. */
void mgds_op_free(struct mgds_gpu_op *op);

/* The order with other streams: `op` runs after `number` of `stream`. Locked.
 */
void mgds_op_after(struct mgds_gpu_op *op, struct mgds_gpu_stream *stream,
                   uint64_t number);

/* Runs it to its end, without the lock. An error, such as ILLEGAL_ADDRESS, is
 * the process's: the caller passes it to mgds_gpu_lose. */
CUresult mgds_op_run(struct mgds_gpu_op *op);

/* What must happen although the process is lost: marks, frees, callbacks.
 * Locked; lets the lock go for a callback. */
void mgds_op_skip(struct mgds_gpu_op *op);

/* True if it may stand still for as long as it likes while holding a hardware
 * queue: a memory operation that waits. */
bool mgds_op_waits(const struct mgds_gpu_op *op);

/* What mgds_op_run calls for these kinds. Without the lock. */
CUresult mgds_copy_run(const struct mgds_gpu_op *op);
CUresult mgds_set_run(const struct mgds_gpu_op *op);
CUresult mgds_memop_run(const struct mgds_gpu_op *op);
CUresult mgds_kernel_run(const struct mgds_gpu_op *op);

#endif
