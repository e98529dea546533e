/* A queue pair that posts by hand: its queue is filled, rung and polled
 * through sendq.h, never through verbs. It has a doorbell register that nobody
 * else rings, and takes no messages that need a receive. */
#ifndef MGDS_HCA_QP_H
#define MGDS_HCA_QP_H

#include "shim/gds/hca/end.h"
#include "shim/gds/hca/refusal.h"
#include "shim/gds/hca/sendq.h"

struct mgds_qp;
struct mgds_rail;

enum { MGDS_QP_MOST_BLOCKS = 32768 };

/* Of RC: one peer, and WQEs of a block. With room for so many blocks, a power
 * of two. The rail outlives it. 0; or negative errno and why: DOORBELL, QUEUE,
 * LAYOUT. */
int mgds_qp_create(struct mgds_qp **out, struct mgds_rail *rail,
                   uint32_t blocks, struct mgds_refusal *refusal);

/* A DCI: each WQE names whom it calls by an address vector (dct.h), and has two
 * blocks. It can post at once. Likewise, and CONNECT. */
int mgds_qp_create_dynamic(struct mgds_qp **out, struct mgds_rail *rail,
                           uint32_t blocks, struct mgds_refusal *refusal);

/* What was posted may still be under way, or not: the owner has seen to that.
 * NULL is allowed. */
void mgds_qp_destroy(struct mgds_qp *qp);

/* What the other end is to be told of this one. */
void mgds_qp_describe(const struct mgds_qp *qp, struct mgds_end_rail *out);

/* Of RC: to a QP there, with the MTU of the terms. 0; or negative errno and
 * why: CONNECT; then the QP can only be destroyed. */
int mgds_qp_connect(struct mgds_qp *qp, const struct mgds_end_rail *peer,
                    uint8_t mtu, struct mgds_refusal *refusal);

/* Whatever was posted ends: with a CQE, which says that it was flushed, or as
 * it would have. From then on nobody writes into memory here by way of this QP.
 */
void mgds_qp_break(struct mgds_qp *qp);

struct mgds_sendq *mgds_qp_sendq(struct mgds_qp *qp);

#endif
