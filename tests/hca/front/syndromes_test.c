/* Each status that a work request may end with, once: what was posted, the CQEs
 * of both sides, the states of both QPs, and the event. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hca/front/verbs_pair.h"

enum { BYTES = 64, PACKET = 4096, QKEY = 0x1234, NONE = -1 };

struct row {
    const char *name;
    int (*post)(struct verbs_pair *pair);
    enum ibv_wc_status status; /* of what a posts */
    uint32_t vendor;           /* of an error alone */
    int receive;               /* of b's receive; NONE: it has no CQE */
    enum ibv_qp_state a;
    enum ibv_qp_state b;
    int event; /* of b */
};

static int post_receive(const struct verbs_side *side, uint32_t lkey,
                        uint32_t bytes)
{
    struct ibv_sge sge = verbs_sge(side, 0, bytes);
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    sge.lkey = lkey;
    return ibv_post_recv(side->qp, &wr, &bad);
}

/* A work request between the first bytes of both memories. */
static struct ibv_send_wr request(const struct verbs_pair *pair,
                                  enum ibv_wr_opcode opcode,
                                  struct ibv_sge *sge)
{
    *sge = verbs_sge(&pair->a, 0, BYTES);
    return (struct ibv_send_wr){
        .sg_list = sge,
        .num_sge = 1,
        .opcode = opcode,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = (uintptr_t)pair->b.memory,
                    .rkey = pair->b.mr->rkey}};
}

static int post_one(const struct verbs_pair *pair, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    return ibv_post_send(pair->a.qp, wr, &bad);
}

static int post_right(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_SEND, &sge);

    return post_receive(&pair->b, pair->b.mr->lkey, BYTES) +
           post_one(pair, &wr);
}

/* A datagram is one packet. */
static int post_long_datagram(struct verbs_pair *pair)
{
    struct ibv_qp_attr to = verbs_rtr(&pair->b);
    struct ibv_ah *ah = ibv_create_ah(pair->a.pd, &to.ah_attr);
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_SEND, &sge);
    int rc;

    assert_non_null(ah);
    verbs_serve_datagrams(&pair->a, QKEY);
    sge.length = PACKET + 1;
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
    wr.wr.ud.remote_qkey = QKEY;
    rc = post_one(pair, &wr);
    return rc + ibv_destroy_ah(ah);
}

/* libmlx5 leaves out the address that a READ needs: UC has none. */
static int post_read_without_service(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_READ, &sge);

    verbs_side_serve(&pair->a, IBV_QPT_UC);
    verbs_side_serve(&pair->b, IBV_QPT_UC);
    verbs_connect_uc(&pair->a, &pair->b);
    verbs_connect_uc(&pair->b, &pair->a);
    return post_one(pair, &wr);
}

static int post_with_a_wrong_lkey(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_WRITE, &sge);

    sge.lkey++;
    return post_one(pair, &wr);
}

static int post_with_a_wrong_rkey(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_WRITE, &sge);

    wr.wr.rdma.rkey++;
    return post_one(pair, &wr);
}

/* The QP of the peer does not let itself be read from. */
static int post_what_is_not_allowed(struct verbs_pair *pair)
{
    struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_READ, &sge);

    return ibv_modify_qp(pair->b.qp, &attr, IBV_QP_ACCESS_FLAGS) +
           post_one(pair, &wr);
}

static int post_more_than_is_received(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_SEND, &sge);

    return post_receive(&pair->b, pair->b.mr->lkey, BYTES - 1) +
           post_one(pair, &wr);
}

static int post_to_a_wrong_receive(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_SEND, &sge);

    return post_receive(&pair->b, pair->b.mr->lkey + 1, BYTES) +
           post_one(pair, &wr);
}

/* Connected anew, as a program that does not come again after RNR. */
static int post_without_receives(struct verbs_pair *pair)
{
    struct ibv_qp_attr rtr = verbs_rtr(&pair->b);
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                              .sq_psn = PAIR_PSN,
                              .timeout = 14,
                              .max_rd_atomic = 1};
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_SEND, &sge);

    verbs_reset(&pair->a);
    return verbs_init(pair->a.qp) +
           ibv_modify_qp(pair->a.qp, &rtr, verbs_rtr_mask) +
           ibv_modify_qp(pair->a.qp, &rts,
                         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                             IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_MAX_QP_RD_ATOMIC) +
           post_one(pair, &wr);
}

static int post_to_nobody(struct verbs_pair *pair)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_WRITE, &sge);

    verbs_reset(&pair->b);
    return post_one(pair, &wr);
}

/* A row's window and its region, which go before the PD does. */
static struct {
    struct ibv_mw *window;
    struct ibv_mr *region;
} bound;

static void release_window(void)
{
    if (!bound.window)
        return;
    assert_int_equal(ibv_dealloc_mw(bound.window), 0);
    assert_int_equal(ibv_dereg_mr(bound.region), 0);
    bound.window = NULL;
}

/* A window of type 2 is free when it is bound; the first bind goes well. */
static int post_two_binds(struct verbs_pair *pair)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW}, second;

    bound.region = ibv_reg_mr(pair->a.pd, pair->a.memory, PAIR_MEMORY,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    bound.window = ibv_alloc_mw(pair->a.pd, IBV_MW_TYPE_2);
    assert_non_null(bound.region);
    assert_non_null(bound.window);
    wr.bind_mw.mw = bound.window;
    wr.bind_mw.rkey = ibv_inc_rkey(bound.window->rkey);
    wr.bind_mw.bind_info.mr = bound.region;
    wr.bind_mw.bind_info.addr = (uintptr_t)pair->a.memory;
    wr.bind_mw.bind_info.length = BYTES;
    wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
    second = wr;
    second.send_flags = IBV_SEND_SIGNALED;
    wr.next = &second;
    return post_one(pair, &wr);
}

static int post_in_error(struct verbs_pair *pair)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_sge sge;
    struct ibv_send_wr wr = request(pair, IBV_WR_RDMA_WRITE, &sge);

    return post_receive(&pair->b, pair->b.mr->lkey, BYTES) +
           ibv_modify_qp(pair->b.qp, &attr, IBV_QP_STATE) +
           ibv_modify_qp(pair->a.qp, &attr, IBV_QP_STATE) + post_one(pair, &wr);
}

/* Vendor syndromes are those of syndromes.def. */
static const struct row rows[] = {
    {"success", post_right, IBV_WC_SUCCESS, 0, IBV_WC_SUCCESS, IBV_QPS_RTS,
     IBV_QPS_RTS, NONE},
    {"length", post_long_datagram, IBV_WC_LOC_LEN_ERR, 0, NONE, IBV_QPS_ERR,
     IBV_QPS_RTS, NONE},
    {"operation", post_read_without_service, IBV_WC_LOC_QP_OP_ERR, 0x68, NONE,
     IBV_QPS_ERR, IBV_QPS_RTS, NONE},
    {"lkey", post_with_a_wrong_lkey, IBV_WC_LOC_PROT_ERR, 0x52, NONE,
     IBV_QPS_ERR, IBV_QPS_RTS, NONE},
    {"window", post_two_binds, IBV_WC_MW_BIND_ERR, 0, NONE, IBV_QPS_ERR,
     IBV_QPS_RTS, NONE},
    {"rkey", post_with_a_wrong_rkey, IBV_WC_REM_ACCESS_ERR, 0x88, NONE,
     IBV_QPS_ERR, IBV_QPS_ERR, IBV_EVENT_QP_ACCESS_ERR},
    {"permission", post_what_is_not_allowed, IBV_WC_REM_INV_REQ_ERR, 0x8a, NONE,
     IBV_QPS_ERR, IBV_QPS_ERR, IBV_EVENT_QP_REQ_ERR},
    {"receive too short", post_more_than_is_received, IBV_WC_REM_INV_REQ_ERR,
     0x8a, IBV_WC_LOC_LEN_ERR, IBV_QPS_ERR, IBV_QPS_ERR, NONE},
    {"receive's lkey", post_to_a_wrong_receive, IBV_WC_REM_OP_ERR, 0x89,
     IBV_WC_LOC_PROT_ERR, IBV_QPS_ERR, IBV_QPS_ERR, NONE},
    {"no receive", post_without_receives, IBV_WC_RNR_RETRY_EXC_ERR, 0, NONE,
     IBV_QPS_ERR, IBV_QPS_RTS, NONE},
    {"nobody", post_to_nobody, IBV_WC_RETRY_EXC_ERR, 0x81, NONE, IBV_QPS_ERR,
     IBV_QPS_RESET, NONE},
    {"flushed", post_in_error, IBV_WC_WR_FLUSH_ERR, 0xf9, IBV_WC_WR_FLUSH_ERR,
     IBV_QPS_ERR, IBV_QPS_ERR, NONE},
};

static void expect_event(const struct verbs_pair *pair, int type)
{
    struct pollfd async = {.fd = pair->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (type == NONE) {
        assert_int_equal(poll(&async, 1, 0), 0);
        return;
    }
    assert_int_equal(ibv_get_async_event(pair->context, &event), 0);
    ibv_ack_async_event(&event);
    assert_int_equal(event.event_type, type);
    assert_ptr_equal(event.element.qp, pair->b.qp);
}

static void run_row(const struct row *row)
{
    struct verbs_pair pair;
    struct ibv_wc wc;

    verbs_pair_open(&pair);
    assert_int_equal(row->post(&pair), 0);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, row->status);
    if (row->status != IBV_WC_SUCCESS)
        assert_int_equal(wc.vendor_err, row->vendor);
    assert_int_equal(wc.qp_num, pair.a.qp->qp_num);
    if (row->receive != NONE)
        assert_int_equal(verbs_wait(pair.b.cq).status, row->receive);
    assert_int_equal(ibv_poll_cq(pair.b.cq, 1, &wc), 0);
    assert_int_equal(ibv_poll_cq(pair.a.cq, 1, &wc), 0);
    assert_int_equal(verbs_state(pair.a.qp), row->a);
    assert_int_equal(verbs_state(pair.b.qp), row->b);
    expect_event(&pair, row->event);
    release_window();
    verbs_pair_close(&pair);
}

static void each_status_comes_as_its_row_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("%s\n", rows[i].name);
        run_row(&rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_comes_as_its_row_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
