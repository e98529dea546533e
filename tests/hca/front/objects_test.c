/* Objects through libmlx5: what making, changing and ending them allows, the
 * events that they tell of, and what is not modelled. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>

#include "tests/hca/front/verbs_pair.h"

static void post_send(const struct verbs_side *side, unsigned flags)
{
    struct ibv_sge sge = verbs_sge(side, 0, 64);
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED | flags};
    struct ibv_send_wr *bad;

    assert_int_equal(ibv_post_send(side->qp, &wr, &bad), 0);
}

static void what_was_set_is_told(void **state)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr, path;
    struct verbs_pair pair;

    (void)state;
    verbs_pair_open(&pair);
    path = verbs_rtr(&pair.b);
    assert_int_equal(ibv_query_qp(pair.a.qp, &attr, IBV_QP_STATE, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_RTS);
    assert_int_equal(attr.path_mtu, IBV_MTU_1024);
    assert_int_equal(attr.dest_qp_num, pair.b.qp->qp_num);
    assert_int_equal(attr.rq_psn, PAIR_PSN);
    assert_int_equal(attr.sq_psn, PAIR_PSN);
    assert_int_equal(attr.max_rd_atomic, 4);
    assert_int_equal(attr.max_dest_rd_atomic, 4);
    assert_int_equal(attr.min_rnr_timer, 1);
    assert_int_equal(attr.timeout, 14);
    assert_int_equal(attr.retry_cnt, 7);
    assert_int_equal(attr.rnr_retry, 7);
    assert_int_equal(attr.port_num, 1);
    assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE |
                                               IBV_ACCESS_REMOTE_READ |
                                               IBV_ACCESS_REMOTE_ATOMIC);
    assert_int_equal(attr.ah_attr.dlid, path.ah_attr.dlid);
    assert_memory_equal(&attr.ah_attr.grh.dgid, &path.ah_attr.grh.dgid, 16);
    assert_int_equal(attr.cap.max_recv_wr, PAIR_WRS);
    assert_int_equal(init.sq_sig_all, 0);
    verbs_pair_close(&pair);
}

/* Each of these alone makes RTR an error, and leaves the QP in INIT. */
static void wrong_paths_are_refused(void **state)
{
    struct ibv_qp_attr good, bad[6];
    struct verbs_side a, b;
    struct ibv_context *context = verbs_open();
    int mask = verbs_rtr_mask;

    (void)state;
    verbs_side_open(context, &a);
    verbs_side_open(context, &b);
    good = verbs_rtr(&b);
    for (unsigned i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].path_mtu = 6;
    bad[1].path_mtu = 0;
    bad[2].ah_attr.port_num = 2;
    bad[3].ah_attr.grh.sgid_index = 1;
    bad[4].max_dest_rd_atomic = 17;
    bad[5].qp_state = IBV_QPS_RTS;
    assert_int_equal(verbs_init(a.qp), 0);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(ibv_modify_qp(a.qp, &bad[i], mask), EINVAL);
        assert_int_equal(verbs_state(a.qp), IBV_QPS_INIT);
    }
    assert_int_equal(ibv_modify_qp(a.qp, &good, mask & ~IBV_QP_RQ_PSN), EINVAL);
    assert_int_equal(ibv_modify_qp(a.qp, &good, mask | IBV_QP_QKEY), EINVAL);
    good.pkey_index = 1;
    assert_int_equal(ibv_modify_qp(a.qp, &good, mask | IBV_QP_PKEY_INDEX),
                     EINVAL);
    assert_int_equal(ibv_modify_qp(a.qp, &good, mask), 0);
    verbs_side_close(&a);
    verbs_side_close(&b);
    ibv_close_device(context);
}

/* Nobody has the LID; or the GID is not of who has it. */
static void nobody_answers_a_wrong_address(bool gid)
{
    struct ibv_qp_attr path;
    struct verbs_pair pair;
    struct ibv_wc wc;

    verbs_pair_open(&pair);
    path = verbs_rtr(&pair.b);
    if (gid)
        path.ah_attr.grh.dgid.raw[8] ^= 1;
    else
        path.ah_attr.dlid += 77;
    verbs_reset(&pair.a);
    assert_int_equal(verbs_init(pair.a.qp), 0);
    assert_int_equal(ibv_modify_qp(pair.a.qp, &path, verbs_rtr_mask), 0);
    assert_int_equal(verbs_rts(pair.a.qp, 0), 0);
    verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(verbs_state(pair.a.qp), IBV_QPS_ERR);
    verbs_pair_close(&pair);
}

static void nobody_answers_a_wrong_lid(void **state)
{
    (void)state;
    nobody_answers_a_wrong_address(false);
}

static void nobody_answers_a_wrong_gid(void **state)
{
    (void)state;
    nobody_answers_a_wrong_address(true);
}

static struct ibv_async_event next_event(struct ibv_context *context)
{
    struct ibv_async_event event;

    assert_int_equal(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
    return event;
}

/* CQEs of both sides, states of both, and the responder's event. */
static void wrong_keys_break_both(void **state)
{
    struct ibv_async_event event;
    struct verbs_pair pair;
    struct ibv_wc wc;

    (void)state;
    verbs_pair_open(&pair);
    verbs_receive(&pair.b, verbs_sge(&pair.b, 0, 64));
    verbs_write(&pair, 0, pair.b.mr->rkey + 1, 0);
    verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    wc = verbs_wait(pair.b.cq);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(verbs_state(pair.a.qp), IBV_QPS_ERR);
    assert_int_equal(verbs_state(pair.b.qp), IBV_QPS_ERR);
    event = next_event(pair.context);
    assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    assert_ptr_equal(event.element.qp, pair.b.qp);
    verbs_pair_close(&pair);
}

/* An event that nobody has read does not hold the QP. */
static void unread_events_go_with_their_object(void **state)
{
    struct verbs_pair pair;
    struct pollfd async;

    (void)state;
    verbs_pair_open(&pair);
    async = (struct pollfd){.fd = pair.context->async_fd, .events = POLLIN};
    verbs_write(&pair, PAIR_MEMORY, pair.b.mr->rkey, 0);
    verbs_wait(pair.a.cq);
    assert_int_equal(poll(&async, 1, -1), 1);
    verbs_side_close(&pair.b);
    assert_int_equal(poll(&async, 1, 0), 0);
    verbs_side_close(&pair.a);
    ibv_close_device(pair.context);
}

/* A CQE, an event, and no event more until the CQ is armed again. */
static void channels_tell_of_completions(void **state)
{
    struct verbs_pair pair;
    struct pollfd channel;
    struct ibv_cq *cq;
    void *about;

    (void)state;
    verbs_pair_open(&pair);
    channel = (struct pollfd){.fd = pair.b.channel->fd, .events = POLLIN};
    verbs_receive(&pair.b, verbs_sge(&pair.b, 0, 64));
    verbs_receive(&pair.b, verbs_sge(&pair.b, 0, 64));
    assert_int_equal(ibv_req_notify_cq(pair.b.cq, 1), 0);
    post_send(&pair.a, 0); /* not solicited: no event */
    assert_int_equal(verbs_wait(pair.b.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(poll(&channel, 1, 0), 0);
    post_send(&pair.a, IBV_SEND_SOLICITED);
    assert_int_equal(ibv_get_cq_event(pair.b.channel, &cq, &about), 0);
    assert_ptr_equal(cq, pair.b.cq);
    assert_ptr_equal(about, &pair.b);
    assert_int_equal(verbs_wait(pair.b.cq).status, IBV_WC_SUCCESS);
    ibv_ack_cq_events(cq, 1);
    verbs_receive(&pair.b, verbs_sge(&pair.b, 0, 64));
    post_send(&pair.a, IBV_SEND_SOLICITED);
    assert_int_equal(verbs_wait(pair.b.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(poll(&channel, 1, 0), 0);
    verbs_pair_close(&pair);
}

/* A QP of any type, and its end. */
static void make_qp(const struct verbs_side *side, enum ibv_qp_type type,
                    struct ibv_srq *srq)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = type,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .srq = srq,
        .cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct ibv_qp *qp = ibv_create_qp(side->pd, &attr);

    assert_non_null(qp);
    if (srq)
        assert_int_equal(ibv_destroy_srq(srq), EBUSY);
    assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void services_and_queues_are_there(void **state)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = 5, .max_sge = 2}};
    struct ibv_context *context = verbs_open();
    struct ibv_srq_attr told;
    struct verbs_side side;
    struct ibv_srq *srq;

    (void)state;
    verbs_side_open(context, &side);
    srq = ibv_create_srq(side.pd, &attr);
    assert_non_null(srq);
    make_qp(&side, IBV_QPT_RC, NULL);
    make_qp(&side, IBV_QPT_RC, srq);
    make_qp(&side, IBV_QPT_UC, NULL);
    make_qp(&side, IBV_QPT_UD, srq);
    assert_int_equal(ibv_query_srq(srq, &told), 0);
    assert_true(told.max_wr >= 5);
    assert_true(told.max_sge >= 2);
    assert_int_equal(told.srq_limit, 0);
    attr.attr.srq_limit = told.max_wr + 2;
    assert_int_equal(ibv_modify_srq(srq, &attr.attr, IBV_SRQ_LIMIT), EINVAL);
    assert_int_equal(ibv_modify_srq(srq, &attr.attr, IBV_SRQ_MAX_WR), EINVAL);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* A limit that is passed, and an error: an event each. */
static void shared_queues_tell_of_their_end(void **state)
{
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_async_event event;
    struct verbs_pair pair;
    struct ibv_recv_wr *bad;
    struct ibv_srq *srq;
    struct ibv_sge sge;

    (void)state;
    verbs_pair_open(&pair);
    srq = ibv_create_srq(pair.b.pd, &shared);
    assert_non_null(srq);
    verbs_side_share(&pair.b, srq);
    verbs_connect(&pair.b, &pair.a);
    verbs_reset(&pair.a);
    verbs_connect(&pair.a, &pair.b);
    sge = verbs_sge(&pair.b, 0, 64);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            ibv_post_srq_recv(
                srq, &(struct ibv_recv_wr){.sg_list = &sge, .num_sge = 1},
                &bad),
            0);
    shared.attr.srq_limit = 2;
    assert_int_equal(ibv_modify_srq(srq, &shared.attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(ibv_query_srq(srq, &shared.attr), 0);
    assert_int_equal(shared.attr.srq_limit, 2);
    post_send(&pair.a, 0);
    assert_int_equal(verbs_wait(pair.b.cq).status, IBV_WC_SUCCESS);
    assert_memory_equal(pair.b.memory, pair.a.memory, 64);
    event = next_event(pair.context);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    assert_ptr_equal(event.element.srq, srq);
    assert_int_equal(ibv_modify_qp(pair.b.qp, &error, IBV_QP_STATE), 0);
    event = next_event(pair.context);
    assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    assert_ptr_equal(event.element.qp, pair.b.qp);
    verbs_pair_close(&pair);
}

static uint64_t time_of_day(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time of a WRITE whose CQE this queue has. */
static uint64_t timestamp_of_write(struct verbs_pair *pair,
                                   struct ibv_cq_ex *cq)
{
    struct ibv_poll_cq_attr attr = {.comp_mask = 0};
    struct mlx5dv_clock_info clock;
    uint64_t ticks;
    int rc;

    verbs_write(pair, 0, pair->b.mr->rkey, 0);
    do
        rc = ibv_start_poll(cq, &attr);
    while (rc == ENOENT);
    assert_int_equal(rc, 0);
    ticks = ibv_wc_read_completion_ts(cq);
    ibv_end_poll(cq);
    assert_int_equal(mlx5dv_get_clock_info(pair->context, &clock), 0);
    return mlx5dv_ts_to_ns(&clock, ticks);
}

/* Times are right to a second: the time of day may be set meanwhile. */
static void timestamps_are_times_of_day(void **state)
{
    struct ibv_cq_init_attr_ex attr = {
        .cqe = 8,
        .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
    };
    const uint64_t second = 1000000000;
    struct verbs_pair pair;
    struct ibv_cq *cq, *own;
    uint64_t before, found;

    (void)state;
    verbs_pair_open(&pair);
    cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(pair.context, &attr));
    assert_non_null(cq);
    own = verbs_side_use(&pair.a, cq);
    verbs_connect(&pair.a, &pair.b);
    verbs_reset(&pair.b);
    verbs_connect(&pair.b, &pair.a);
    before = time_of_day();
    found = timestamp_of_write(&pair, (struct ibv_cq_ex *)cq);
    assert_true(found + second >= before);
    assert_true(found <= time_of_day() + second);
    assert_ptr_equal(verbs_side_use(&pair.a, own), cq);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    verbs_pair_close(&pair);
}

/* The attributes are some that only the extended command takes. */
static void queue_pairs_are_made_by_the_extended_command(void **state)
{
    struct ibv_context *context = verbs_open();
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
        .cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct verbs_side side;
    struct ibv_qp *qp;

    (void)state;
    verbs_side_open(context, &side);
    attr.pd = side.pd;
    attr.send_cq = attr.recv_cq = side.cq;
    qp = ibv_create_qp_ex(context, &attr);
    assert_non_null(qp);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* An errno that says so, at creation. */
static void what_is_not_modelled_is_refused(void **state)
{
    struct ibv_xrcd_init_attr xrcd = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
                                                   IBV_XRCD_INIT_ATTR_OFLAGS,
                                      .fd = -1};
    struct ibv_context *context = verbs_open();
    struct verbs_side side;

    (void)state;
    verbs_side_open(context, &side);
    assert_null(ibv_open_xrcd(context, &xrcd));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_reg_mr(side.pd, side.memory, 64, IBV_ACCESS_ON_DEMAND));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(ibv_resize_cq(side.cq, 128), EOPNOTSUPP);
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* MLX5DV_QP_CREATE_OOO_DP, which headers before rdma-core 54 do not have. */
static void a_qp_out_of_order_is_refused(void **state)
{
    const uint32_t out_of_order = 1 << 7;
    struct ibv_context *context = verbs_open();
    struct mlx5dv_qp_init_attr flags = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS};
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    struct verbs_side side;
    struct ibv_qp *qp;

    (void)state;
    verbs_side_open(context, &side);
    attr.pd = side.pd;
    attr.send_cq = attr.recv_cq = side.cq;
    flags.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    qp = mlx5dv_create_qp(context, &attr, &flags);
    assert_non_null(qp);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    flags.create_flags = out_of_order;
    assert_null(mlx5dv_create_qp(context, &attr, &flags));
    assert_true(errno == EINVAL || errno == EOPNOTSUPP);
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* UAR pages that a program asks for: two registers each, and one page of
 * another kind for all. */
static void pages_are_given(void **state)
{
    enum { UARS = 5 };
    struct ibv_context *context = verbs_open();
    struct mlx5dv_devx_uar *uar[UARS], *nc;

    (void)state;
    nc = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC);
    assert_non_null(nc);
    for (unsigned i = 0; i < UARS; i++) {
        uar[i] = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_BF);
        assert_non_null(uar[i]);
        assert_int_not_equal(uar[i]->page_id, nc->page_id);
        *(volatile uint64_t *)uar[i]->reg_addr = 0;
        for (unsigned j = 0; j < i; j++) {
            assert_ptr_not_equal(uar[i]->reg_addr, uar[j]->reg_addr);
            assert_int_equal(uar[i]->page_id == uar[j]->page_id,
                             i / 2 == j / 2);
        }
    }
    for (unsigned i = 0; i < UARS; i++)
        mlx5dv_devx_free_uar(uar[i]);
    mlx5dv_devx_free_uar(nc);
    assert_int_equal(ibv_close_device(context), 0);
}

/* A QP of a parent domain, with a register of its thread domain. */
static void a_thread_domain_has_a_register(void **state)
{
    struct ibv_parent_domain_init_attr attr = {0};
    struct ibv_td_init_attr none = {0};
    struct verbs_pair pair;
    struct verbs_side *a = &pair.a;
    struct ibv_pd *pd;

    (void)state;
    verbs_pair_open(&pair);
    pd = a->pd;
    attr.pd = pd;
    attr.td = ibv_alloc_td(pair.context, &none);
    assert_non_null(attr.td);
    a->pd = ibv_alloc_parent_domain(pair.context, &attr);
    assert_non_null(a->pd);
    verbs_side_serve(a, IBV_QPT_RC);
    verbs_reset(&pair.b);
    verbs_connect(a, &pair.b);
    verbs_connect(&pair.b, a);
    for (unsigned i = 0; i < 3 * PAIR_WRS; i++) {
        verbs_write(&pair, 0, pair.b.mr->rkey, 0);
        assert_int_equal(verbs_wait(a->cq).status, IBV_WC_SUCCESS);
    }
    assert_memory_equal(pair.b.memory, a->memory, 64);
    assert_int_equal(ibv_destroy_qp(a->qp), 0);
    assert_int_equal(ibv_dealloc_pd(a->pd), 0);
    assert_int_equal(ibv_dealloc_td(attr.td), 0);
    a->qp = NULL;
    a->pd = pd;
    verbs_pair_close(&pair);
}

/* A device that is imported by a copy of its descriptor: it has events of its
 * own objects, and goes on when the one that was opened is closed. */
static void an_import_goes_on(void **state)
{
    struct ibv_context *context = verbs_open();
    int copy = fcntl(context->cmd_fd, F_DUPFD_CLOEXEC, 0);
    struct ibv_async_event event;
    struct verbs_pair pair;

    (void)state;
    assert_true(copy >= 0);
    pair.context = ibv_import_device(copy);
    assert_non_null(pair.context);
    verbs_side_open(pair.context, &pair.a);
    verbs_side_open(pair.context, &pair.b);
    verbs_connect(&pair.a, &pair.b);
    verbs_connect(&pair.b, &pair.a);
    assert_int_equal(ibv_close_device(context), 0);
    verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_SUCCESS);
    verbs_write(&pair, 0, pair.b.mr->rkey + 1, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_get_async_event(pair.context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    assert_ptr_equal(event.element.qp, pair.b.qp);
    ibv_ack_async_event(&event);
    verbs_pair_close(&pair);
    assert_null(ibv_import_device(open("/dev/null", O_RDWR)));
}

/* The device goes while objects are there, and packets are under way. */
static void closing_ends_everything(void **state)
{
    struct verbs_pair pair;

    (void)state;
    verbs_pair_open(&pair);
    for (unsigned i = 0; i < PAIR_WRS; i++)
        verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    assert_int_equal(ibv_close_device(pair.context), 0);
    verbs_pair_open(&pair);
    verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_SUCCESS);
    verbs_pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_told),
        cmocka_unit_test(wrong_paths_are_refused),
        cmocka_unit_test(nobody_answers_a_wrong_lid),
        cmocka_unit_test(nobody_answers_a_wrong_gid),
        cmocka_unit_test(wrong_keys_break_both),
        cmocka_unit_test(unread_events_go_with_their_object),
        cmocka_unit_test(channels_tell_of_completions),
        cmocka_unit_test(services_and_queues_are_there),
        cmocka_unit_test(shared_queues_tell_of_their_end),
        cmocka_unit_test(timestamps_are_times_of_day),
        cmocka_unit_test(queue_pairs_are_made_by_the_extended_command),
        cmocka_unit_test(what_is_not_modelled_is_refused),
        cmocka_unit_test(a_qp_out_of_order_is_refused),
        cmocka_unit_test(pages_are_given),
        cmocka_unit_test(a_thread_domain_has_a_register),
        cmocka_unit_test(an_import_goes_on),
        cmocka_unit_test(closing_ends_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
