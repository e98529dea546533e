/* Objects through libmlx5: what making, changing and ending them allows, the
 * events that they tell of, and what is not modelled. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hca/front/verbs_pair.h"

static void post_write(const struct verbs_pair *pair, uint64_t offset,
                       uint32_t rkey, unsigned flags)
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

static void post_receive(const struct verbs_side *side)
{
    struct ibv_sge sge = verbs_sge(side, 0, 64);
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    assert_int_equal(ibv_post_recv(side->qp, &wr, &bad), 0);
}

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

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
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
        assert_int_equal(state_of(a.qp), IBV_QPS_INIT);
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
    post_write(&pair, 0, pair.b.mr->rkey, 0);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(state_of(pair.a.qp), IBV_QPS_ERR);
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
    post_receive(&pair.b);
    post_write(&pair, 0, pair.b.mr->rkey + 1, 0);
    post_write(&pair, 0, pair.b.mr->rkey, 0);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
    wc = verbs_wait(pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    wc = verbs_wait(pair.b.cq);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(pair.a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(pair.b.qp), IBV_QPS_ERR);
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
    post_write(&pair, PAIR_MEMORY, pair.b.mr->rkey, 0);
    verbs_wait(pair.a.cq);
    assert_int_equal(poll(&async, 1, -1), 1);
    verbs_side_close(&pair.b);
    assert_int_equal(poll(&async, 1, 0), 0);
    verbs_side_close(&pair.a);
    ibv_close_device(pair.context);
}

/* A region that is registered again, under the same key. */
static void regions_change(void **state)
{
    const int reading = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    struct verbs_pair pair;
    uint32_t rkey;

    (void)state;
    verbs_pair_open(&pair);
    rkey = pair.b.mr->rkey;
    assert_int_equal(ibv_rereg_mr(pair.b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
                                  NULL, 0, reading),
                     0);
    assert_int_equal(pair.b.mr->rkey, rkey);
    post_write(&pair, 0, rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
    verbs_pair_close(&pair);
}

/* No memory, none that may be written, none at all. */
static void wrong_regions_are_refused(void **state)
{
    struct ibv_context *context = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    uint8_t *page =
        mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr;

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(munmap(page + 4096, 4096), 0);
    assert_null(ibv_reg_mr(pd, page, 8192, 0));
    assert_int_equal(errno, EFAULT);
    assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EFAULT);
    assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_WRITE));
    assert_null(ibv_reg_mr(pd, page, 0, 0));
    mr = ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_READ);
    assert_non_null(mr);
    assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    munmap(page, 4096);
    ibv_close_device(context);
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
    post_receive(&pair.b);
    post_receive(&pair.b);
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
    post_receive(&pair.b);
    post_send(&pair.a, IBV_SEND_SOLICITED);
    assert_int_equal(verbs_wait(pair.b.cq).status, IBV_WC_SUCCESS);
    assert_int_equal(poll(&channel, 1, 0), 0);
    verbs_pair_close(&pair);
}

/* A descriptor that stands for memory (a dma-buf) is registered by ioctl. */
static void descriptors_are_registered(void **state)
{
    int fd = memfd_create("buffer", 0);
    struct verbs_pair pair;
    struct ibv_mr *mr;
    uint8_t *memory;

    (void)state;
    assert_int_equal(ftruncate(fd, 8192), 0);
    memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    verbs_pair_open(&pair);
    assert_null(ibv_reg_dmabuf_mr(pair.b.pd, 4096, 8192, 0, fd, 0));
    mr = ibv_reg_dmabuf_mr(pair.b.pd, 4096, 4096, (uintptr_t)pair.b.memory, fd,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    assert_non_null(mr);
    close(fd);
    post_write(&pair, 100, mr->rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_SUCCESS);
    assert_memory_equal(memory + 4096 + 100, pair.a.memory, 64);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    verbs_pair_close(&pair);
    munmap(memory, 8192);
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
    assert_null(ibv_alloc_mw(side.pd, IBV_MW_TYPE_1));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_reg_mr(side.pd, side.memory, 64, IBV_ACCESS_ON_DEMAND));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(ibv_resize_cq(side.cq, 128), EOPNOTSUPP);
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* The device goes while objects are there, and packets are under way. */
static void closing_ends_everything(void **state)
{
    struct verbs_pair pair;

    (void)state;
    verbs_pair_open(&pair);
    for (unsigned i = 0; i < PAIR_WRS; i++)
        post_write(&pair, 0, pair.b.mr->rkey, 0);
    assert_int_equal(ibv_close_device(pair.context), 0);
    verbs_pair_open(&pair);
    post_write(&pair, 0, pair.b.mr->rkey, 0);
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
        cmocka_unit_test(regions_change),
        cmocka_unit_test(wrong_regions_are_refused),
        cmocka_unit_test(channels_tell_of_completions),
        cmocka_unit_test(descriptors_are_registered),
        cmocka_unit_test(services_and_queues_are_there),
        cmocka_unit_test(shared_queues_tell_of_their_end),
        cmocka_unit_test(what_is_not_modelled_is_refused),
        cmocka_unit_test(closing_ends_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
