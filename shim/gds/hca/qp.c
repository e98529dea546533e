/* Making queue pairs by verbs, and finding their queues by mlx5dv. */
#include "shim/gds/hca/qp.h"

#include <errno.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/random.h"
#include "shim/gds/hca/path.h"
#include "shim/gds/hca/rail_state.h"

enum {
    PSN_MASK = 0xffffff,
    READS = 16, /* READs and atomics under way: as many as a ConnectX takes */
    RNR_TIMER = 12,    /* 0.64 ms */
    DYNAMIC_BLOCKS = 2 /* of a WQE with an address vector */
};

struct mgds_qp {
    struct mgds_rail *rail;
    struct ibv_td *td;     /* has the doorbell register */
    struct ibv_pd *domain; /* the rail's, with that */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint32_t psn;
    bool dynamic; /* a DCI */
    struct mgds_sendq sendq;
};

/* A thread domain has a register for itself: one that is rung by a GPU, or by a
 * thread of ours without a lock, must not be rung by anybody else. */
static int create_domain(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    struct ibv_td_init_attr td = {.comp_mask = 0};
    struct ibv_parent_domain_init_attr attr = {.pd = qp->rail->pd};

    qp->td = ibv_alloc_td(qp->rail->context, &td);
    if (!qp->td)
        return mgds_refuse(refusal, MGDS_REFUSAL_DOORBELL, errno);
    attr.td = qp->td;
    qp->domain = ibv_alloc_parent_domain(qp->rail->context, &attr);
    return qp->domain ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_DOORBELL, errno);
}

static int create_cq(struct mgds_qp *qp, uint32_t blocks,
                     struct mgds_refusal *refusal)
{
    struct ibv_cq_init_attr_ex attr = {
        .cqe = blocks,
        .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
        .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
    };
    struct mlx5dv_cq_init_attr size = {
        .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
        .cqe_size = MGDS_CQE_BYTES,
    };
    struct ibv_cq_ex *cq =
        qp->rail->verbs->mlx5dv_create_cq(qp->rail->context, &attr, &size);

    if (!cq)
        return mgds_refuse(refusal, MGDS_REFUSAL_QUEUE, errno);
    qp->cq = ibv_cq_ex_to_cq(cq);
    return 0;
}

static uint32_t slot_of(const struct mgds_qp *qp)
{
    return qp->dynamic ? DYNAMIC_BLOCKS : 1;
}

/* Results go to memory, never into a CQE: nobody would copy them out. */
static int create_qp(struct mgds_qp *qp, uint32_t blocks,
                     struct mgds_refusal *refusal)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = qp->cq,
        .recv_cq = qp->cq,
        .cap = {.max_send_wr = blocks / slot_of(qp), .max_send_sge = 1},
        .qp_type = qp->dynamic ? IBV_QPT_DRIVER : IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = qp->domain,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                          IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                          IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
    };
    struct mlx5dv_qp_init_attr mlx5 = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
        .create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI},
    };

    if (qp->dynamic)
        mlx5.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DC;
    qp->qp = qp->rail->verbs->mlx5dv_create_qp(qp->rail->context, &attr, &mlx5);
    return qp->qp ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_QUEUE, errno);
}

static bool is_power_of_two(uint32_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static bool is_as_ours(const struct mlx5dv_qp *qp, const struct mlx5dv_cq *cq)
{
    return qp->sq.stride == MGDS_WQE_BLOCK && is_power_of_two(qp->sq.wqe_cnt) &&
           qp->sq.wqe_cnt <= MGDS_QP_MOST_BLOCKS &&
           cq->cqe_size == MGDS_CQE_BYTES && is_power_of_two(cq->cqe_cnt) &&
           cq->cqe_cnt >= qp->sq.wqe_cnt;
}

/* From here on queue and CQ are ours: verbs posts and polls no more. */
static int find_queues(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    struct mlx5dv_qp queue = {.comp_mask = 0};
    struct mlx5dv_cq cq = {.comp_mask = 0};
    struct mlx5dv_obj obj = {.qp = {.in = qp->qp, .out = &queue},
                             .cq = {.in = qp->cq, .out = &cq}};
    int rc =
        qp->rail->verbs->mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);

    if (rc != 0)
        return mgds_refuse(refusal, MGDS_REFUSAL_LAYOUT, rc < 0 ? -rc : rc);
    if (!is_as_ours(&queue, &cq))
        return mgds_refuse(refusal, MGDS_REFUSAL_LAYOUT, 0);
    qp->sendq = (struct mgds_sendq){
        .qpn = qp->qp->qp_num,
        .blocks = queue.sq.wqe_cnt,
        .slot = slot_of(qp),
        .ring = (uint8_t *)queue.sq.buf,
        .record = (uint32_t *)&queue.dbrec[MGDS_DBREC_SEND],
        .doorbell = (uint64_t *)queue.bf.reg,
        .cqes = (const uint8_t *)cq.buf,
        .entries = cq.cqe_cnt,
    };
    return 0;
}

/* Packets of an earlier connection are not taken for those of this one. */
static int draw_psn(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    int rc = mgds_random(&qp->psn, sizeof(qp->psn));

    qp->psn &= PSN_MASK;
    return rc == 0 ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_QUEUE, -rc);
}

/* What is made then, or nothing. */
static int create_parts(struct mgds_qp *qp, uint32_t blocks,
                        struct mgds_refusal *refusal)
{
    int rc = draw_psn(qp, refusal);

    if (rc == 0)
        rc = create_domain(qp, refusal);
    if (rc == 0)
        rc = create_cq(qp, blocks, refusal);
    if (rc == 0)
        rc = create_qp(qp, blocks, refusal);
    if (rc == 0)
        rc = find_queues(qp, refusal);
    return rc;
}

static int create(struct mgds_qp **out, struct mgds_rail *rail, uint32_t blocks,
                  bool dynamic, struct mgds_refusal *refusal)
{
    struct mgds_qp *qp = (struct mgds_qp *)mgds_calloc(1, sizeof(*qp));
    int rc;

    if (!qp)
        return mgds_refuse(refusal, MGDS_REFUSAL_QUEUE, ENOMEM);
    qp->rail = rail;
    qp->dynamic = dynamic;
    rc = create_parts(qp, blocks, refusal);
    if (rc < 0) {
        mgds_qp_destroy(qp);
        return rc;
    }
    *out = qp;
    return 0;
}

int mgds_qp_create(struct mgds_qp **out, struct mgds_rail *rail,
                   uint32_t blocks, struct mgds_refusal *refusal)
{
    return create(out, rail, blocks, false, refusal);
}

void mgds_qp_destroy(struct mgds_qp *qp)
{
    const struct mgds_verbs *verbs;

    if (!qp)
        return;
    verbs = qp->rail->verbs;
    if (qp->qp)
        verbs->ibv_destroy_qp(qp->qp);
    if (qp->cq)
        verbs->ibv_destroy_cq(qp->cq);
    if (qp->domain)
        verbs->ibv_dealloc_pd(qp->domain);
    if (qp->td)
        ibv_dealloc_td(qp->td);
    free(qp);
}

void mgds_qp_describe(const struct mgds_qp *qp, struct mgds_end_rail *out)
{
    mgds_rail_describe(qp->rail, out);
    out->qpn = qp->qp->qp_num;
    out->psn = qp->psn;
}

static int modify(struct mgds_qp *qp, struct ibv_qp_attr *attr, int mask,
                  struct mgds_refusal *refusal)
{
    int rc = qp->rail->verbs->ibv_modify_qp(qp->qp, attr, mask);

    return rc == 0 ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_CONNECT, rc);
}

static int to_init(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .pkey_index = qp->rail->pkey_index,
        .port_num = qp->rail->port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC,
    };

    return modify(qp, &attr,
                  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                      IBV_QP_ACCESS_FLAGS,
                  refusal);
}

static int to_rtr(struct mgds_qp *qp, const struct mgds_end_rail *peer,
                  uint8_t mtu, struct mgds_refusal *refusal)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .ah_attr = mgds_path_to(qp->rail, peer),
        .path_mtu = (enum ibv_mtu)mtu,
        .dest_qp_num = peer->qpn,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = READS,
        .min_rnr_timer = RNR_TIMER,
    };

    return modify(qp, &attr,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                      IBV_QP_MIN_RNR_TIMER,
                  refusal);
}

static int to_rts(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    const struct mgds_rail_settings *settings = &qp->rail->settings;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = qp->psn,
        .timeout = (uint8_t)settings->timeout,
        .retry_cnt = (uint8_t)settings->retries,
        .rnr_retry = (uint8_t)settings->rnr_retries,
        .max_rd_atomic = READS,
    };

    return modify(qp, &attr,
                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  refusal);
}

int mgds_qp_connect(struct mgds_qp *qp, const struct mgds_end_rail *peer,
                    uint8_t mtu, struct mgds_refusal *refusal)
{
    int rc = to_init(qp, refusal);

    if (rc == 0)
        rc = to_rtr(qp, peer, mtu, refusal);
    if (rc == 0)
        rc = to_rts(qp, refusal);
    return rc;
}

/* There is no peer to tell anything of. */
static int start_dynamic(struct mgds_qp *qp, struct mgds_refusal *refusal)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = qp->rail->pkey_index,
                               .port_num = qp->rail->port};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = (enum ibv_mtu)qp->rail->address.mtu};
    int rc = modify(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
                    refusal);

    if (rc == 0)
        rc = modify(qp, &rtr, IBV_QP_STATE | IBV_QP_PATH_MTU, refusal);
    if (rc == 0)
        rc = to_rts(qp, refusal);
    return rc;
}

int mgds_qp_create_dynamic(struct mgds_qp **out, struct mgds_rail *rail,
                           uint32_t blocks, struct mgds_refusal *refusal)
{
    struct mgds_qp *qp;
    int rc = create(&qp, rail, blocks, true, refusal);

    if (rc < 0)
        return rc;
    rc = start_dynamic(qp, refusal);
    if (rc < 0) {
        mgds_qp_destroy(qp);
        return rc;
    }
    *out = qp;
    return 0;
}

void mgds_qp_break(struct mgds_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    (void)qp->rail->verbs->ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

struct mgds_sendq *mgds_qp_sendq(struct mgds_qp *qp)
{
    return &qp->sendq;
}
