/* Two QPs of the software ConnectX in one process, connected through verbs as
 * any program would do it. What fails fails the test. */
#ifndef MGDS_TEST_VERBS_PAIR_H
#define MGDS_TEST_VERBS_PAIR_H

#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PAIR_MEMORY = 1 << 14, PAIR_PSN = 0xfffff0, PAIR_WRS = 16 };

struct verbs_side {
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq; /* NULL: the QP has a queue of its own */
    struct ibv_qp *qp;   /* NULL: it is gone */
    uint8_t *memory;     /* PAIR_MEMORY */
};

struct verbs_pair {
    struct ibv_context *context;
    struct verbs_side a;
    struct verbs_side b;
};

struct ibv_context *verbs_open(void);

/* QPs in RTS, memory filled with a pattern that differs. */
void verbs_pair_open(struct verbs_pair *pair);
void verbs_pair_close(struct verbs_pair *pair);

/* PD, memory and CQ, and a QP in RESET. */
void verbs_side_open(struct ibv_context *context, struct verbs_side *side);
void verbs_side_close(struct verbs_side *side);

/* Its QP is another one, with a shared receive queue of the side's PD,
 * which is the side's from now on. */
void verbs_side_share(struct verbs_side *side, struct ibv_srq *srq);

/* Its QP is another one, of this service. */
void verbs_side_serve(struct verbs_side *side, enum ibv_qp_type type);

/* Its QP is another one, in RESET, with this CQ; returns the CQ before. */
struct ibv_cq *verbs_side_use(struct verbs_side *side, struct ibv_cq *cq);

/* Its QP is another one, of UD and in RTS, with this Q_Key. */
void verbs_serve_datagrams(struct verbs_side *side, uint32_t qkey);

/* Its QP is in RESET again. */
void verbs_reset(struct verbs_side *side);

/* What a QP needs for INIT, RTR and RTS. */
int verbs_init(struct ibv_qp *qp);
struct ibv_qp_attr verbs_rtr(const struct verbs_side *peer);
extern const int verbs_rtr_mask;
int verbs_rts(struct ibv_qp *qp, uint8_t retries);
void verbs_connect(struct verbs_side *side, const struct verbs_side *peer);
void verbs_connect_uc(struct verbs_side *side, const struct verbs_side *peer);

/* The state of a QP, as the device tells it. */
enum ibv_qp_state verbs_state(struct ibv_qp *qp);

/* The next completion, which comes. */
struct ibv_wc verbs_wait(struct ibv_cq *cq);

/* An element of the side's memory. */
struct ibv_sge verbs_sge(const struct verbs_side *side, size_t offset,
                         uint32_t bytes);

/* Posts a receive to the side's own queue. */
void verbs_receive(const struct verbs_side *side, struct ibv_sge sge);

/* Posts a WRITE of 64 bytes of a's memory to b's, signalled. */
void verbs_write(const struct verbs_pair *pair, uint64_t offset, uint32_t rkey,
                 unsigned flags);

#endif
