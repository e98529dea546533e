/* Receives in parts; see flow.h. */
#include "device/abi.h"
#include "device/impl/mem.h"
#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/proto/flow_state.h"

static void post_grant(struct mgds_flow *flow)
{
    const struct mgds_op *op = flow->op;
    const struct mgds_message *from = op->recv->message;
    const struct mgds_grant head = {.request_id = from->request_id,
                                    .bytes = flow->begun,
                                    .rank = op->comm->rank};
    int rc = mgds_am_tell(op->comm->member[from->rank].peer,
                          MGDS_ENVELOPE_GRANT, &head, sizeof(head));

    if (rc < 0)
        mgds_flow_stop(flow, rc);
}

static void begin_fill(struct mgds_flow_part *part)
{
    post_grant(part->flow);
}

static void begin_land(struct mgds_flow_part *part)
{
    (void)part;
}

/* Units hold 8 bytes each; the last part has all that are left. */
static void begin_get(struct mgds_flow_part *part)
{
    const struct mgds_op *op = part->flow->op;
    const struct mgds_message *from = op->recv->message;
    struct mgds_command *take = &part->carry.take;
    bool last = part->flow->begun == part->flow->bytes;
    uint64_t units = mgds_op_units(op);

    mgds_flow_part_begin(part);
    mgds_flow_part_prepare(part, &mgds_flow_part_emptied);
    if (!from->source)
        units += part->first / 8 * sizeof(struct mgds_unit);
    *take = (struct mgds_command){.kind = MGDS_COMMAND_TAKE,
                                  .user = (char *)part->fragment->addr,
                                  .bytes = part->bytes,
                                  .units = (void *)(uintptr_t)units,
                                  .serial = from->serial,
                                  .length = part->bytes,
                                  .delivers = true};
    if (last)
        take->length = from->bytes - part->first;
    if (from->source)
        take->source = from->source + part->first;
    if (last)
        take->done = from->done;
    mgds_carry_begin(&part->carry, MGDS_WORK_PART);
}

static const struct mgds_flow_way fill = {
    .through = true, .begin = begin_fill, .over = mgds_flow_filled};
static const struct mgds_flow_way land = {.begin = begin_land,
                                          .over = mgds_flow_filled};
static const struct mgds_flow_way get = {
    .through = true, .alone = true, .begin = begin_get, .over = mgds_flow_got};

void mgds_flow_fill(struct mgds_op *op, size_t size)
{
    struct mgds_flow *flow = mgds_flow_create(op, &fill, op->recv->got, size);

    if (!flow)
        return;
    op->recv->direct = true;
    flow->granted = flow->bytes;
    mgds_flow_go_on(flow);
}

void mgds_flow_land(struct mgds_op *op)
{
    struct mgds_flow *flow = mgds_flow_create(op, &land, op->recv->got, 0);

    if (flow)
        flow->granted = flow->begun = flow->bytes;
}

/* In place: none that has come before, as far as that is known. */
static struct mgds_flow_part *begin_landing(struct mgds_flow *flow,
                                            uint64_t first, size_t bytes)
{
    size_t under_way = flow->moved;
    const struct mgds_flow_part *other;

    LIST_FOREACH(other, &flow->parts, link)
    {
        under_way += other->bytes;
    }
    if (bytes == 0 || first > flow->bytes || bytes > flow->bytes - first ||
        bytes > flow->bytes - under_way)
        return NULL;
    return mgds_flow_part_add(flow, first, bytes);
}

static struct mgds_flow_part *find_due(const struct mgds_flow *flow,
                                       uint64_t first, size_t bytes)
{
    struct mgds_flow_part *part;

    LIST_FOREACH(part, &flow->parts, link)
    {
        if (part->state == MGDS_FLOW_PART_DUE && part->first == first &&
            part->bytes == bytes)
            break;
    }
    return part;
}

static void carry_up(struct mgds_flow_part *part)
{
    static const struct mgds_carry_owner owner = {.over = mgds_flow_part_over,
                                                  .gone = mgds_flow_part_gone};

    mgds_flow_part_carry(part, &owner,
                         mgds_op_user(part->flow->op) + part->first,
                         part->fragment->addr);
}

static void part_landed(struct mgds_landing *landing, int error)
{
    struct mgds_flow_part *part =
        MGDS_CONTAINER_OF(landing, struct mgds_flow_part, landing);

    if (!error && part->fragment && !part->flow->error)
        carry_up(part);
    else
        mgds_flow_part_end(part, error);
}

bool mgds_flow_take(struct mgds_op *op, uint64_t first,
                    struct mgds_wire_arrival *arrival)
{
    struct mgds_flow *flow = op->flow;
    size_t bytes = arrival->body_bytes;
    struct mgds_flow_part *part = NULL;

    if (flow->way == &land)
        part = begin_landing(flow, first, bytes);
    else if (flow->way == &fill)
        part = find_due(flow, first, bytes);
    if (!part)
        return false;
    mgds_flow_part_begin(part);
    arrival->where = part->fragment ? part->fragment->addr
                                    : (char *)mgds_op_place(op) + part->first;
    part->landing.landed = part_landed;
    arrival->arg = &part->landing;
    return true;
}

void mgds_flow_get(struct mgds_op *op)
{
    size_t size = mgds_flow_fragment(op), rest;
    struct mgds_flow *flow = mgds_flow_create(op, &get, op->recv->got, size);

    if (!flow)
        return;
    rest = flow->bytes % size;
    flow->granted = flow->bytes - (rest ? rest : size);
    if (flow->granted == 0)
        flow->granted = flow->bytes;
    mgds_flow_go_on(flow);
}
