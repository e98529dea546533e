/* Events. Each record makes a new mark; waits hold on to the mark of the record
 * that was latest when they were called. An event that is shared between
 * processes counts its records in a page of shared memory instead. Called
 * locked, except the _run functions. */
#ifndef MGDS_SIM_EVENT_H
#define MGDS_SIM_EVENT_H

#include "sim/cuda/op.h"

/* One record. Whoever executes it (executor, lane of a graph, or the skip in a
 * lost process) writes done and time, once, locked. */
struct mgds_gpu_mark {
    unsigned refs; /* the event, the record, every wait */
    bool done;
    uint64_t time; /* when it was reached, monotonic */
    pthread_cond_t reached;
};

/* One record of a shared event, in memory that processes share: records are
 * numbered when called; `reached` is the highest number that was executed. */
struct mgds_event_page {
    _Atomic uint64_t called, reached; /* by any process, only upwards */
};

struct mgds_gpu_event {
    unsigned refs; /* the handle, operations, waiting calls */
    unsigned flags;
    struct mgds_gpu_ctx *ctx;
    struct mgds_gpu_mark *mark; /* of the last record called, or NULL */
    /* Shared between processes: mapped from fd; NULL and -1 else. */
    struct mgds_event_page *page;
    int fd;
    bool imported;
    /* Last recorded in a capture: its id (0: not), and the nodes before the
     * record then. capture.c writes them, a plain record clears the id. */
    uint64_t capture_id;
    struct mgds_gpu_node **front;
    size_t front_count;
};

/* The event of a handle, not referenced; INVALID_HANDLE if it is none. */
CUresult mgds_event_find(CUevent handle, struct mgds_gpu_event **out);

/* A new event, a live handle with one reference, never recorded. */
struct mgds_gpu_event *mgds_event_new(struct mgds_gpu_ctx *ctx, unsigned flags);

/* References: the last one back frees the event, or the mark. */
void mgds_event_get(struct mgds_gpu_event *event);
void mgds_event_put(struct mgds_gpu_event *event);
void mgds_fence_put(struct mgds_gpu_mark *mark);

/* A record, called now: the mark (a reference) and number to reach. The event
 * is the caller's to hold. */
struct mgds_op_event mgds_event_record(struct mgds_gpu_event *event);

/* The operation of a record or wait; NULL if there is nothing to wait for. */
struct mgds_gpu_op *mgds_event_record_op(struct mgds_gpu_event *event,
                                         struct mgds_gpu_ctx *ctx);
struct mgds_gpu_op *mgds_event_wait_op(struct mgds_gpu_event *event,
                                       struct mgds_gpu_ctx *ctx);

/* For a graph: the event is looked at when the node runs. */
struct mgds_gpu_op *mgds_event_node_op(enum mgds_op_kind kind,
                                       struct mgds_gpu_event *event,
                                       struct mgds_gpu_ctx *ctx);

/* Execute a record or a wait: reaches its mark; waits for it, or until the
 * process is lost if another process would have to reach it. */
CUresult mgds_record_run(struct mgds_gpu_op *op);
CUresult mgds_await_run(struct mgds_gpu_op *op);

/* A record's mark is reached now: its waiters wake. Locked. */
void mgds_record_reach(struct mgds_gpu_op *op);

#endif
