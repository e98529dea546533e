/* Operations as records: found, finished, freed; see op.h. */
#include "shim/gds/msg/op.h"

#include <stdlib.h>

#include "shim/base/container.h"
#include "shim/base/hash.h"
#include "shim/base/log.h"
#include "shim/gds/msg/request_ids.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/stream/syncwords.h"

bool mgds_op_refuse_wait(const struct mgds_op *op,
                         enum mgds_op_wait_event event)
{
    mgds_err("event %d of a wait is nothing for a %s of which %s: this is a "
             "bug in MPIX-GDS",
             (int)event, op->send ? "send" : "receive",
             mgds_op_waiting_text(op->waiting));
    return false;
}

bool mgds_op_step(struct mgds_op *op, enum mgds_op_event event)
{
    enum mgds_op_state next = mgds_op_state_after(op->state, event);

    if (next == op->state) {
        mgds_err("event %d is nothing for a %s of which %s: this is a bug in "
                 "MPIX-GDS",
                 (int)event, op->send ? "send" : "receive",
                 mgds_op_state_text(op->state));
        return false;
    }
    op->state = next;
    return true;
}

bool mgds_op_is_moved(const struct mgds_op *op)
{
    return mgds_op_state_is_moved(op->state);
}

static void give_delivery(const struct mgds_op *op)
{
    const struct mgds_op_receiver *recv = op->recv;

    if (recv->words)
        mgds_syncwords_give(mgds_gstream_words(op->stream), recv->words);
    if (recv->claim)
        mgds_gstream_unclaim(op->timeline->stream, recv->claim);
}

void mgds_op_give_means(struct mgds_op *op)
{
    mgds_bounce_destroy(op->bounce);
    if (op->recv)
        give_delivery(op);
    if (op->call->is & MGDS_OP_SERVES)
        mgds_gstream_serve(op->timeline->stream, -1);
    if (op->stream)
        mgds_gstream_release(op->stream);
    free(op->copy);
    free(op->flow);
    if (op->send)
        free(op->send->keep);
}

static void destroy_op(struct mgds_op *op)
{
    struct mgds_comm *comm = op->comm;

    /* release: what the stream did for it is over */
    if (op->waiting != MGDS_OP_FREE)
        __atomic_fetch_sub(&comm->waited, 1, __ATOMIC_RELEASE);
    mgds_op_give_means(op);
    mgds_layout_put(op->call->user.layout);
    mgds_spares_give(&mgds_message_spares, mgds_op_message(op));
    mgds_op_free(op);
    mgds_comm_release(comm);
}

static void end_op(struct mgds_ending *ending)
{
    destroy_op(MGDS_CONTAINER_OF(ending, struct mgds_op, ending));
}

static bool drop_reference(struct mgds_op *op)
{
    return __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

void mgds_op_put_later(struct mgds_op *op)
{
    if (!drop_reference(op))
        return;
    op->ending.end = end_op;
    mgds_engine_end_later(&op->ending);
}

void mgds_op_release(struct mgds_op *op)
{
    if (drop_reference(op))
        destroy_op(op);
}

uint64_t mgds_op_units(const struct mgds_op *op)
{
    return op->recv->message->units;
}

size_t mgds_op_fitting(const struct mgds_op *op)
{
    return op->recv->message->bytes < op->call->bytes ? op->recv->message->bytes
                                                      : op->call->bytes;
}

void *mgds_op_place(struct mgds_op *op)
{
    if (op->copy)
        return op->copy;
    if (op->bounce)
        return mgds_bounce_base(op->bounce);
    return mgds_op_user(op);
}

/* By request ID: operations whose reference the engine has, or lost.c. Under
 * the engine's lock. */
static struct mgds_request_ids known;
static struct mgds_hash lost; /* request IDs of such, and no more */

static uint64_t receives; /* how many were named */

int mgds_op_name(struct mgds_op *op)
{
    if (op->send)
        return mgds_op_tell_name(op);
    op->call->number = ++receives;
    return 0;
}

int mgds_op_tell_name(struct mgds_op *op)
{
    return op->request_id ? 0
                          : mgds_request_ids_put(&known, op, &op->request_id);
}

struct mgds_op *mgds_op_find(uint64_t request_id)
{
    return (struct mgds_op *)mgds_request_ids_find(&known, request_id);
}

bool mgds_op_was_lost(uint64_t request_id)
{
    return mgds_hash_find(&lost, request_id) != NULL;
}

void mgds_ops_forget(void)
{
    mgds_engine_enter();
    mgds_request_ids_fini(&known);
    mgds_hash_fini(&lost);
    mgds_engine_leave();
}

void mgds_op_forget(struct mgds_op *op)
{
    if (op->request_id == 0)
        return;
    mgds_request_ids_remove(&known, op->request_id, op);
    if (mgds_op_is_lost(op)) /* without memory it is not remembered */
        mgds_hash_put(&lost, op->request_id, &lost);
}
