/* The long way of an intercepted call. */
#include "shim/pmpi/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/coll_direct.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/plain.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_comm.h"

_Thread_local struct mgds_inside mgds_inside;

#define MGDS_OWN_OWN(name, n)                                                  \
    [MGDS_CALL_##name] = (mgds_next_fn *)mgds_own_##name,

static mgds_next_fn *const own_bodies[MGDS_CALLS] = {
#define MGDS_CALL(name, n, family, mode) MGDS_OWN_##mode(name, n)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

/* The body of ours that a call of the application's own must take, or NULL. */
static mgds_next_fn *body_in_use(enum mgds_call call)
{
    if (!mgds_process()->active)
        return NULL;
    if (mgds_call_serves_streams(call) && mgds_scomms_used())
        return own_bodies[call];
    if (mgds_direct_armed() && mgds_call_meets_headers(call))
        return own_bodies[call];
    if (mgds_coll_may_be_direct(call))
        return own_bodies[call]; /* whose rank may have no CUDA */
    if (mgds_call_completes(call) && mgds_requests_any())
        return own_bodies[call]; /* of a rank that was armed */
    if (mgds_call_rows[call].mode == MGDS_MODE_STREAM)
        return NULL;
    if (mgds_call_serves_gpu(call) && !mgds_presence_cuda())
        return NULL;
    return own_bodies[call];
}

static void lead(enum mgds_call call, enum mgds_face face, mgds_next_fn *fn)
{
    __atomic_store_n(&mgds_shortcuts[call][face], fn, __ATOMIC_SEQ_CST);
}

/*
 * Once forwarding is all there is to do, the entry can do it by itself. CUDA
 * (or a stream communicator) may be seen meanwhile by another thread, which
 * stores "seen", then closes; we open, then look again. All four are
 * sequentially consistent: if we do not see "seen", the other's closing comes
 * after our opening.
 */
static void open_shortcut(enum mgds_call call, enum mgds_face face,
                          mgds_next_fn *fn)
{
    if (mgds_process()->watched || !mgds_next_is_real(fn) || body_in_use(call))
        return;
    lead(call, face, fn);
    if (body_in_use(call))
        lead(call, face, mgds_long_ways[call][face]);
}

/* A body that is in use is so for good: any of these ways leads to it. The
 * plain way jumps to the definition, which a body may never ask for. */
static void lead_to_body(enum mgds_call call, enum mgds_face face)
{
    mgds_next_fn *way = mgds_plain_ways[call][face];

    if (way)
        (void)mgds_next(call, face);
    else
        way = mgds_own_ways[call][face];
    if (way && !mgds_process()->watched)
        lead(call, face, way);
}

static void close_shortcut(enum mgds_call call)
{
    for (unsigned face = 0; face < MGDS_FACES; face++)
        lead(call, face, mgds_long_ways[call][face]);
}

void mgds_frame_close_shortcuts(void)
{
    for (unsigned call = 0; call < MGDS_CALLS; call++)
        if (mgds_call_serves_gpu(call))
            close_shortcut(call);
}

void mgds_frame_close_for_streams(void)
{
    for (unsigned call = 0; call < MGDS_CALLS; call++)
        if (mgds_call_serves_streams(call))
            close_shortcut(call);
}

static void begin_outermost(struct mgds_frame *frame, enum mgds_face face)
{
    const struct mgds_process *process = mgds_process();

    mgds_frame_begin(frame->stack, frame->call, face);
    if (process->active && mgds_presence_changed())
        mgds_presence_scan();
    if (process->watched)
        mgds_seen_enter(&frame->seen, frame->call, frame->stack);
}

mgds_next_fn *mgds_frame_enter(struct mgds_frame *frame, enum mgds_call call,
                               enum mgds_face face)
{
    mgds_next_fn *fn = NULL;

    frame->call = call;
    frame->outermost = !mgds_frame_is_nested(frame->stack);
    if (frame->outermost)
        begin_outermost(frame, face);
    mgds_direct_arm_or_bar(call);
    if (frame->outermost)
        fn = body_in_use(call);
    if (fn) {
        lead_to_body(call, face);
        return fn;
    }
    fn = mgds_next(call, face);
    open_shortcut(call, face, fn);
    return fn;
}

mgds_word mgds_frame_leave(struct mgds_frame *frame, mgds_word result)
{
    if (!frame->outermost)
        return result;
    if (mgds_process()->watched)
        mgds_seen_leave(&frame->seen, (int)result);
    return mgds_frame_end(result);
}

struct mgds_inside mgds_frame_step_out(void)
{
    struct mgds_inside kept = mgds_inside;

    mgds_inside.stack = 0;
    return kept;
}

void mgds_frame_step_in(const struct mgds_inside *kept)
{
    mgds_inside = *kept;
}
