/* Bytes in parts; see flow.h. */
#include "shim/gds/proto/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/stats.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/proto/flow_state.h"
#include "shim/gds/stream/gstream.h"

/* Written before the wire is open. */
static const struct mgds_flow_ends *ends;

/* Whose fragments and kernels it has. */
static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->send ? op->timeline->stream : op->comm->stream[op->call->index];
}

static struct mgds_stock *stock_of(const struct mgds_op *op)
{
    return mgds_gstream_stock(stream_of(op), op->send != NULL);
}

size_t mgds_flow_fragment(const struct mgds_op *op)
{
    return stock_of(op)->bytes;
}

bool mgds_flow_is_on(const struct mgds_op *op)
{
    return op->flow && !op->flow->over;
}

/* By the wire, or by a copy of ours. */
static bool is_any_busy(const struct mgds_flow *flow, bool copied)
{
    const struct mgds_flow_part *part;

    LIST_FOREACH(part, &flow->parts, link)
    {
        if (part->state == MGDS_FLOW_PART_BUSY &&
            (part->carry.owner != NULL) == copied)
            break;
    }
    return part != NULL;
}

uint64_t mgds_flow_stands_since(const struct mgds_op *op)
{
    bool alone = !mgds_flow_is_on(op) || op->flow->way->alone ||
                 is_any_busy(op->flow, true);

    return alone ? 0 : op->flow->since;
}

bool mgds_flow_revoke(const struct mgds_op *op)
{
    uint64_t since = mgds_flow_stands_since(op);
    uint64_t before = since ? op->flow->revoked : 0;

    if (since)
        op->flow->revoked = since;
    return since && since == before && !mgds_flow_is_landing(op);
}

bool mgds_flow_is_landing(const struct mgds_op *op)
{
    return mgds_flow_is_on(op) && is_any_busy(op->flow, false);
}

/* Parts. */

struct mgds_flow_part *mgds_flow_part_of(const struct mgds_carry *carry)
{
    return MGDS_CONTAINER_OF(carry, struct mgds_flow_part, carry);
}

static void put_part(struct mgds_flow_part *part)
{
    if (--part->refs == 0)
        free(part);
}

/* Its fragment may be another one's from here on. */
static void drop_part(struct mgds_flow_part *part)
{
    struct mgds_piece *fragment = part->fragment;
    struct mgds_flow *flow = part->flow;

    LIST_REMOVE(part, link);
    part->fragment = NULL;
    put_part(part);
    if (fragment)
        mgds_stock_give(flow->stock, &flow->waiter, fragment);
}

static void end_flow(struct mgds_flow *flow)
{
    flow->over = true;
    flow->way->over(flow->op, flow->error);
    mgds_op_put_later(flow->op);
}

static void try_end(struct mgds_flow *flow)
{
    if (!flow->over && flow->busy == 0 &&
        (flow->error || flow->moved == flow->bytes))
        end_flow(flow);
}

void mgds_flow_stop(struct mgds_flow *flow, int error)
{
    struct mgds_flow_part *part, *next;

    if (flow->error || flow->over)
        return;
    flow->error = error;
    if (flow->stock)
        mgds_stock_leave(flow->stock, &flow->waiter);
    for (part = LIST_FIRST(&flow->parts); part; part = next) {
        next = LIST_NEXT(part, link);
        if (part->state == MGDS_FLOW_PART_DUE)
            drop_part(part);
    }
    try_end(flow);
}

static bool wants_fragment(const struct mgds_flow *flow)
{
    return !flow->error && flow->begun < flow->granted;
}

void mgds_flow_part_begin(struct mgds_flow_part *part)
{
    part->state = MGDS_FLOW_PART_BUSY;
    part->flow->busy++;
    part->flow->since = mgds_clock_ns();
}

struct mgds_flow_part *mgds_flow_part_add(struct mgds_flow *flow, size_t first,
                                          size_t bytes)
{
    struct mgds_flow_part *part =
        (struct mgds_flow_part *)mgds_calloc(1, sizeof(*part));

    if (!part)
        return NULL;
    part->flow = flow;
    part->first = first;
    part->bytes = bytes;
    part->refs = 1;
    LIST_INSERT_HEAD(&flow->parts, part, link);
    return part;
}

static struct mgds_flow_part *next_part(struct mgds_flow *flow)
{
    size_t left = flow->granted - flow->begun;
    size_t bytes = left < flow->size ? left : flow->size;
    struct mgds_flow_part *part = mgds_flow_part_add(flow, flow->begun, bytes);

    if (part)
        flow->begun += bytes;
    return part;
}

static void count_fragment(const struct mgds_stock *stock)
{
    static unsigned most;

    mgds_count(fragments_used);
    mgds_stats_raise(MGDS_STAT_fragments_most, &most,
                     stock->count - stock->idles);
}

static bool got_fragment(struct mgds_stock_waiter *waiter,
                         struct mgds_piece *fragment)
{
    struct mgds_flow *flow =
        MGDS_CONTAINER_OF(waiter, struct mgds_flow, waiter);
    struct mgds_flow_part *part = next_part(flow);

    if (!part) {
        mgds_stock_give(flow->stock, &flow->waiter, fragment);
        mgds_flow_stop(flow, -ENOMEM);
        return false;
    }
    count_fragment(flow->stock);
    part->fragment = fragment;
    flow->way->begin(part);
    return wants_fragment(flow);
}

void mgds_flow_go_on(struct mgds_flow *flow)
{
    struct mgds_flow_part *part;

    if (flow->stock) {
        if (wants_fragment(flow))
            mgds_stock_want(flow->stock, &flow->waiter);
        return;
    }
    while (wants_fragment(flow)) {
        part = next_part(flow);
        if (part)
            flow->way->begin(part);
        else
            mgds_flow_stop(flow, -ENOMEM);
    }
}

void mgds_flow_part_end(struct mgds_flow_part *part, int error)
{
    struct mgds_flow *flow = part->flow;

    flow->busy--;
    flow->since = mgds_clock_ns();
    if (!error)
        flow->moved += part->bytes;
    drop_part(part);
    if (error)
        mgds_flow_stop(flow, error);
    if (flow->way->alone && flow->moved == flow->granted)
        flow->granted = flow->bytes;
    mgds_flow_go_on(flow);
    try_end(flow);
}

/* Untold: the engine ends. */
void mgds_flow_part_gone(struct mgds_carry *carry)
{
    struct mgds_flow_part *part = mgds_flow_part_of(carry);
    struct mgds_op *op = part->flow->op;

    mgds_engine_enter();
    if (!carry->told)
        mgds_flow_part_end(part, -ECANCELED);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): two references */
    put_part(part);
    mgds_op_put_later(op);
    mgds_engine_leave();
}

void mgds_flow_part_prepare(struct mgds_flow_part *part,
                            const struct mgds_carry_owner *owner)
{
    part->refs++;
    mgds_op_get(part->flow->op); /* and the stream with it */
    part->carry.owner = owner;
    part->carry.stream = stream_of(part->flow->op);
}

void mgds_flow_part_carry(struct mgds_flow_part *part,
                          const struct mgds_carry_owner *owner, void *to,
                          const void *from)
{
    mgds_flow_part_prepare(part, owner);
    part->carry.take.bounce = mgds_carry_checked(part->flow->op);
    mgds_carry_bytes(&part->carry, to, from, part->bytes);
}

/* Without the lock. */
static void empty_fragment(struct mgds_carry *carry)
{
    const struct mgds_flow_part *part = mgds_flow_part_of(carry);

    memcpy((char *)mgds_op_place(part->flow->op) + part->first,
           part->fragment->addr, part->bytes);
}

void mgds_flow_part_over(struct mgds_carry *carry, int error)
{
    mgds_flow_part_end(mgds_flow_part_of(carry), error);
}

const struct mgds_carry_owner mgds_flow_part_emptied = {
    .settle = empty_fragment,
    .over = mgds_flow_part_over,
    .gone = mgds_flow_part_gone};

void mgds_flow_sent(struct mgds_op *op, int error)
{
    ends->sent(op, error);
}

void mgds_flow_kept(struct mgds_op *op, int error)
{
    ends->kept(op, error);
}

void mgds_flow_filled(struct mgds_op *op, int error)
{
    ends->filled(op, error);
}

void mgds_flow_got(struct mgds_op *op, int error)
{
    ends->got(op, error);
}

struct mgds_flow *mgds_flow_make(struct mgds_op *op,
                                 const struct mgds_flow_way *way, size_t bytes,
                                 size_t size)
{
    struct mgds_flow *flow = (struct mgds_flow *)mgds_calloc(1, sizeof(*flow));

    if (!flow || (way->through && size == 0)) {
        free(flow);
        way->over(op, -ENOMEM);
        return NULL;
    }
    flow->op = mgds_op_get(op);
    flow->way = way;
    flow->stock = way->through ? stock_of(op) : NULL;
    flow->bytes = bytes;
    flow->size = size;
    flow->since = mgds_clock_ns();
    flow->waiter.got = got_fragment;
    return flow;
}

struct mgds_flow *mgds_flow_create(struct mgds_op *op,
                                   const struct mgds_flow_way *way,
                                   size_t bytes, size_t size)
{
    op->flow = mgds_flow_make(op, way, bytes, size);
    return op->flow;
}

void mgds_flow_fail(struct mgds_op *op, int error)
{
    if (!op->flow->way->alone)
        mgds_flow_stop(op->flow, error);
}

void mgds_flow_init(const struct mgds_flow_ends *told)
{
    ends = told;
}
