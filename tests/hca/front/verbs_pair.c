/* Opens, connects and closes two QPs. */
#include "tests/hca/front/verbs_pair.h"

#include <stdlib.h>
#include <string.h>

struct ibv_context *verbs_open(void)
{
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context;

    assert_non_null(list);
    assert_true(count >= 1);
    assert_string_equal(ibv_get_device_name(list[0]), "mlx5_0");
    context = ibv_open_device(list[0]);
    assert_non_null(context);
    ibv_free_device_list(list);
    return context;
}

static void create_qp(struct verbs_side *side, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = type,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .srq = side->srq,
        .cap = {.max_send_wr = PAIR_WRS,
                .max_recv_wr = PAIR_WRS,
                .max_send_sge = 4,
                .max_recv_sge = 4,
                .max_inline_data = 128},
    };

    side->qp = ibv_create_qp(side->pd, &attr);
    assert_non_null(side->qp);
}

void verbs_side_open(struct ibv_context *context, struct verbs_side *side)
{
    side->memory = aligned_alloc(4096, PAIR_MEMORY);
    assert_non_null(side->memory);
    side->pd = ibv_alloc_pd(context);
    assert_non_null(side->pd);
    side->mr =
        ibv_reg_mr(side->pd, side->memory, PAIR_MEMORY,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    assert_non_null(side->mr);
    side->channel = ibv_create_comp_channel(context);
    assert_non_null(side->channel);
    side->cq = ibv_create_cq(context, 64, side, side->channel, 0);
    assert_non_null(side->cq);
    side->srq = NULL;
    create_qp(side, IBV_QPT_RC);
}

void verbs_side_share(struct verbs_side *side, struct ibv_srq *srq)
{
    assert_int_equal(ibv_destroy_qp(side->qp), 0);
    side->srq = srq;
    create_qp(side, IBV_QPT_RC);
}

void verbs_side_serve(struct verbs_side *side, enum ibv_qp_type type)
{
    assert_int_equal(ibv_destroy_qp(side->qp), 0);
    create_qp(side, type);
}

void verbs_serve_datagrams(struct verbs_side *side, uint32_t qkey)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey};

    verbs_side_serve(side, IBV_QPT_UD);
    assert_int_equal(ibv_modify_qp(side->qp, &attr,
                                   IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                       IBV_QP_PORT | IBV_QP_QKEY),
                     0);
    attr.qp_state = IBV_QPS_RTR;
    assert_int_equal(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RTS;
    assert_int_equal(
        ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

struct ibv_cq *verbs_side_use(struct verbs_side *side, struct ibv_cq *cq)
{
    struct ibv_cq *before = side->cq;

    assert_int_equal(ibv_destroy_qp(side->qp), 0);
    side->cq = cq;
    create_qp(side, IBV_QPT_RC);
    return before;
}

void verbs_reset(struct verbs_side *side)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

    assert_int_equal(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), 0);
}

void verbs_side_close(struct verbs_side *side)
{
    if (side->qp)
        assert_int_equal(ibv_destroy_qp(side->qp), 0);
    if (side->srq)
        assert_int_equal(ibv_destroy_srq(side->srq), 0);
    assert_int_equal(ibv_destroy_cq(side->cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(side->channel), 0);
    assert_int_equal(ibv_dereg_mr(side->mr), 0);
    assert_int_equal(ibv_dealloc_pd(side->pd), 0);
    free(side->memory);
}

int verbs_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC,
    };

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS);
}

const int verbs_rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

struct ibv_qp_attr verbs_rtr(const struct verbs_side *peer)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp->qp_num,
        .rq_psn = PAIR_PSN,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 1,
        .ah_attr = {.port_num = 1, .is_global = 1, .grh = {.hop_limit = 1}},
    };
    struct ibv_port_attr port;

    assert_int_equal(ibv_query_port(peer->pd->context, 1, &port), 0);
    assert_int_equal(
        ibv_query_gid(peer->pd->context, 1, 0, &attr.ah_attr.grh.dgid), 0);
    attr.ah_attr.dlid = port.lid;
    return attr;
}

int verbs_rts(struct ibv_qp *qp, uint8_t retries)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = PAIR_PSN,
        .timeout = 14,
        .retry_cnt = retries,
        .rnr_retry = 7,
        .max_rd_atomic = 4,
    };

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                             IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_MAX_QP_RD_ATOMIC);
}

void verbs_connect(struct verbs_side *side, const struct verbs_side *peer)
{
    struct ibv_qp_attr attr = verbs_rtr(peer);

    assert_int_equal(verbs_init(side->qp), 0);
    assert_int_equal(ibv_modify_qp(side->qp, &attr, verbs_rtr_mask), 0);
    assert_int_equal(verbs_rts(side->qp, 7), 0);
}

void verbs_connect_uc(struct verbs_side *side, const struct verbs_side *peer)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_attr rtr = verbs_rtr(peer);
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = PAIR_PSN};

    assert_int_equal(ibv_modify_qp(side->qp, &init,
                                   IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                     0);
    assert_int_equal(ibv_modify_qp(side->qp, &rtr,
                                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
                     0);
    assert_int_equal(
        ibv_modify_qp(side->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

void verbs_pair_open(struct verbs_pair *pair)
{
    pair->context = verbs_open();
    verbs_side_open(pair->context, &pair->a);
    verbs_side_open(pair->context, &pair->b);
    for (unsigned i = 0; i < PAIR_MEMORY; i++) {
        pair->a.memory[i] = (uint8_t)(i * 7);
        pair->b.memory[i] = (uint8_t)(i * 13 + 1);
    }
    verbs_connect(&pair->a, &pair->b);
    verbs_connect(&pair->b, &pair->a);
}

void verbs_pair_close(struct verbs_pair *pair)
{
    verbs_side_close(&pair->a);
    verbs_side_close(&pair->b);
    assert_int_equal(ibv_close_device(pair->context), 0);
}

enum ibv_qp_state verbs_state(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
}

/* libmlx5 leaves fields alone that the status or the opcode gives no meaning:
 * a test that looks at one finds noise in each run. */
struct ibv_wc verbs_wait(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    int found;

    memset(&wc, 0xa5, sizeof(wc));
    do
        found = ibv_poll_cq(cq, 1, &wc);
    while (found == 0);
    assert_int_equal(found, 1);
    return wc;
}

struct ibv_sge verbs_sge(const struct verbs_side *side, size_t offset,
                         uint32_t bytes)
{
    return (struct ibv_sge){.addr = (uintptr_t)side->memory + offset,
                            .length = bytes,
                            .lkey = side->mr->lkey};
}

void verbs_receive(const struct verbs_side *side, struct ibv_sge sge)
{
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    assert_int_equal(ibv_post_recv(side->qp, &wr, &bad), 0);
}

void verbs_write(const struct verbs_pair *pair, uint64_t offset, uint32_t rkey,
                 unsigned flags)
{
    struct ibv_sge sge = verbs_sge(&pair->a, 0, 64);
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED | flags,
        .wr.rdma = {.remote_addr = (uintptr_t)pair->b.memory + offset,
                    .rkey = rkey},
    };
    struct ibv_send_wr *bad;

    assert_int_equal(ibv_post_send(pair->a.qp, &wr, &bad), 0);
}
