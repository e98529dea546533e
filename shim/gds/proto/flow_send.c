/* Sends in parts; see flow.h. */
#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/stats.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/proto/flow_state.h"

static void part_posted(void *arg, int rc)
{
    mgds_engine_enter();
    mgds_flow_part_end((struct mgds_flow_part *)arg, rc);
    mgds_engine_leave();
}

static int post_data(const struct mgds_op *op, size_t first,
                     const struct mgds_wire_message *body)
{
    const struct mgds_data head = {.answer = op->send->answer,
                                   .rank = op->comm->rank,
                                   .first = first,
                                   .part = 1};
    struct mgds_wire_message message = *body;

    message.kind = MGDS_ENVELOPE_DATA;
    message.head = &head;
    message.head_bytes = sizeof(head);
    return op->send->transport->post(op->comm->member[op->call->rank].peer,
                                     &message);
}

static void post_part(struct mgds_flow_part *part, const void *bytes)
{
    const struct mgds_wire_message body = {.body = bytes,
                                           .body_bytes = part->bytes,
                                           .done = part_posted,
                                           .arg = part};
    int rc = post_data(part->flow->op, part->first, &body);

    if (rc < 0)
        mgds_flow_part_end(part, rc);
}

static void part_poured(struct mgds_carry *carry, int error)
{
    struct mgds_flow_part *part = mgds_flow_part_of(carry);

    if (error)
        mgds_flow_part_end(part, error);
    else
        post_part(part, part->fragment->addr);
}

/* Into its fragment. */
static void begin_copy(struct mgds_flow_part *part,
                       const struct mgds_carry_owner *owner)
{
    mgds_flow_part_begin(part);
    mgds_flow_part_carry(part, owner, part->fragment->addr,
                         mgds_op_user(part->flow->op) + part->first);
}

static void begin_pour(struct mgds_flow_part *part)
{
    static const struct mgds_carry_owner owner = {.over = part_poured,
                                                  .gone = mgds_flow_part_gone};

    begin_copy(part, &owner);
}

static void begin_post(struct mgds_flow_part *part)
{
    mgds_flow_part_begin(part);
    post_part(part, (const char *)mgds_op_place(part->flow->op) + part->first);
}

static void begin_keep(struct mgds_flow_part *part)
{
    begin_copy(part, &mgds_flow_part_emptied);
}

static const struct mgds_flow_way keep = {.through = true,
                                          .alone = true,
                                          .begin = begin_keep,
                                          .over = mgds_flow_kept};
static const struct mgds_flow_way pour = {
    .through = true, .begin = begin_pour, .over = mgds_flow_sent};
static const struct mgds_flow_way post_all = {.begin = begin_post,
                                              .over = mgds_flow_sent};

/* In how long parts, where the receiver asks for them. */
static int post_ready(const struct mgds_op *op, size_t size)
{
    static const struct mgds_wire_message none;

    return post_data(op, size, &none);
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

void mgds_flow_send(struct mgds_op *op, size_t most)
{
    bool lean = mgds_op_is_lean(op);
    size_t size = lean ? mgds_flow_fragment(op) : most;
    struct mgds_flow *flow;
    int rc;

    if (most > 0)
        size = least_of(size, most);
    flow =
        mgds_flow_create(op, lean ? &pour : &post_all, op->send->wanted, size);
    if (!flow)
        return;
    if (most == 0) {
        mgds_flow_grant(op, flow->bytes);
        return;
    }
    rc = post_ready(op, size);
    if (rc < 0)
        mgds_flow_stop(flow, rc);
}

void mgds_flow_keep(struct mgds_op *op)
{
    size_t bytes = op->call->bytes;
    struct mgds_flow *flow;

    op->copy = (char *)mgds_malloc(bytes);
    if (!op->copy) {
        mgds_flow_kept(op, -ENOMEM);
        return;
    }
    flow = mgds_flow_make(op, &keep, bytes, mgds_flow_fragment(op));
    op->send->keep = flow;
    if (!flow)
        return;
    mgds_count(sends_kept);
    flow->granted = bytes;
    mgds_flow_go_on(flow);
}

/* A GRANT may be overtaken by the next one. */
void mgds_flow_grant(struct mgds_op *op, uint64_t bytes)
{
    struct mgds_flow *flow = op->flow;

    if (!mgds_flow_is_on(op))
        return;
    if (bytes > flow->bytes) {
        mgds_flow_stop(flow, -EIO);
        return;
    }
    if (bytes > flow->granted)
        flow->granted = bytes;
    mgds_flow_go_on(flow);
}
