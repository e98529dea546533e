/* What is behind a flow (flow.h), for the files that have its ways: flow_send.c
 * and flow_recv.c. All under the engine's lock. */
#ifndef MGDS_PROTO_FLOW_STATE_H
#define MGDS_PROTO_FLOW_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/proto/carry.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/mem/stock.h"
#include "shim/gds/proto/flow.h"

enum mgds_flow_part_state { MGDS_FLOW_PART_DUE, MGDS_FLOW_PART_BUSY };

struct mgds_flow_part {
    struct mgds_carry carry;
    struct mgds_landing landing;
    struct mgds_flow *flow;
    struct mgds_piece *fragment; /* or NULL */
    size_t first, bytes;
    enum mgds_flow_part_state state;
    unsigned refs; /* the flow's; and the carry's, which keeps the operation,
                      too */
    LIST_ENTRY(mgds_flow_part) link;
};

struct mgds_flow_way {
    bool through; /* fragments */
    bool alone;   /* its sender takes no part: it ends by itself; and its last
                     part is begun when the others are over */
    void (*begin)(struct mgds_flow_part *part);
    void (*over)(struct mgds_op *op, int error);
};

struct mgds_flow {
    struct mgds_op *op; /* a reference, until it is over */
    const struct mgds_flow_way *way;
    struct mgds_stock *stock; /* NULL: none is needed */
    size_t size;              /* of a part, at most */
    size_t bytes, granted;    /* in all; for which there is room */
    size_t begun, moved;
    unsigned busy;    /* parts */
    uint64_t since;   /* ns: when something of it happened last */
    uint64_t revoked; /* the same when its sender asked for its end last */
    int error;
    bool over;
    struct mgds_stock_waiter waiter;
    LIST_HEAD(, mgds_flow_part) parts;
};

/* Without memory for the record, or for its first part, the operation fails.
 * The first one makes the operation's own. */
struct mgds_flow *mgds_flow_create(struct mgds_op *op,
                                   const struct mgds_flow_way *way,
                                   size_t bytes, size_t size);
struct mgds_flow *mgds_flow_make(struct mgds_op *op,
                                 const struct mgds_flow_way *way, size_t bytes,
                                 size_t size);
/* More was granted, or is over: parts are begun. */
void mgds_flow_go_on(struct mgds_flow *flow);
/* It fails. */
void mgds_flow_stop(struct mgds_flow *flow, int error);

/* Tell, as flow.h says. */
void mgds_flow_sent(struct mgds_op *op, int error);
void mgds_flow_kept(struct mgds_op *op, int error);
void mgds_flow_filled(struct mgds_op *op, int error);
void mgds_flow_got(struct mgds_op *op, int error);

/* NULL: there is no memory for the record. */
struct mgds_flow_part *mgds_flow_part_add(struct mgds_flow *flow, size_t first,
                                          size_t bytes);
/* Somebody is at it from here on; and not any more. */
void mgds_flow_part_begin(struct mgds_flow_part *part);
void mgds_flow_part_end(struct mgds_flow_part *part, int error);

/* A copy of it, which is set up by the caller; between the program's memory,
 * which is looked at again, and the fragment. The owner calls the last three.
 */
void mgds_flow_part_prepare(struct mgds_flow_part *part,
                            const struct mgds_carry_owner *owner);
void mgds_flow_part_carry(struct mgds_flow_part *part,
                          const struct mgds_carry_owner *owner, void *to,
                          const void *from);
/* An owner: the CPU copies the part out of its fragment, and it is over; and
 * the last alone. */
extern const struct mgds_carry_owner mgds_flow_part_emptied;
void mgds_flow_part_over(struct mgds_carry *carry, int error);
struct mgds_flow_part *mgds_flow_part_of(const struct mgds_carry *carry);
void mgds_flow_part_gone(struct mgds_carry *carry);

#endif
