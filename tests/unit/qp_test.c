/* Queue pairs and regions over a table that answers by script: failures of each
 * step, and what is asked for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/hca/qp.h"
#include "shim/gds/hca/region.h"
#include "tests/unit/fake_verbs.h"

static struct mgds_rail *rail;

static const struct mgds_end_rail near = {.qpn = 0x99,
                                          .psn = 0xabcdef,
                                          .lid = 0x55,
                                          .mtu = IBV_MTU_2048,
                                          .link = MGDS_LINK_INFINIBAND,
                                          .gid = {0xfe, 0x80, [15] = 9}};

static int set_up(void **state)
{
    struct mgds_refusal refusal;

    (void)state;
    fake_verbs_reset();
    return mgds_rail_open_by(&rail, &fake_verbs_table, &fake_port,
                             &fake_settings, &refusal);
}

static int tear_down(void **state)
{
    (void)state;
    mgds_rail_close(rail);
    return fake_verbs.live == 0 ? 0 : -1;
}

static struct mgds_qp *create(void)
{
    struct mgds_refusal refusal;
    struct mgds_qp *qp;

    assert_int_equal(mgds_qp_create(&qp, rail, FAKE_BLOCKS, &refusal), 0);
    return qp;
}

static void assert_refused(enum mgds_refusal_reason reason, int rc)
{
    struct mgds_refusal refusal = {0};
    struct mgds_qp *qp = NULL;
    unsigned live = fake_verbs.live;

    assert_int_equal(mgds_qp_create(&qp, rail, FAKE_BLOCKS, &refusal), rc);
    assert_int_equal(refusal.reason, reason);
    assert_null(qp);
    assert_int_equal(fake_verbs.live, live);
}

static void every_failure_has_a_name(void **state)
{
    static const struct {
        const char *function;
        enum mgds_refusal_reason reason;
    } rows[] = {
        {"alloc_td", MGDS_REFUSAL_DOORBELL},
        {"alloc_parent_domain", MGDS_REFUSAL_DOORBELL},
        {"mlx5dv_create_cq", MGDS_REFUSAL_QUEUE},
        {"mlx5dv_create_qp", MGDS_REFUSAL_QUEUE},
        {"mlx5dv_init_obj", MGDS_REFUSAL_LAYOUT},
    };

    (void)state;
    fake_verbs.error = ENOMEM;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_verbs.fails = rows[i].function;
        assert_refused(rows[i].reason, -ENOMEM);
    }
}

/* A ring of another form would be written over. */
static void a_strange_layout_is_refused(void **state)
{
    (void)state;
    fake_verbs.queue.sq.stride = 128;
    assert_refused(MGDS_REFUSAL_LAYOUT, -ENOTSUP);
    fake_verbs.queue.sq.stride = 64;
    fake_verbs.queue.sq.wqe_cnt = 48;
    assert_refused(MGDS_REFUSAL_LAYOUT, -ENOTSUP);
    fake_verbs.queue.sq.wqe_cnt = 2 * FAKE_BLOCKS; /* more than CQEs */
    assert_refused(MGDS_REFUSAL_LAYOUT, -ENOTSUP);
    fake_verbs.queue.sq.wqe_cnt = FAKE_BLOCKS;
    fake_verbs.cq.cqe_size = 128;
    assert_refused(MGDS_REFUSAL_LAYOUT, -ENOTSUP);
}

static void it_tells_its_number_and_a_random_psn(void **state)
{
    struct mgds_end_rail one, two;
    struct mgds_qp *a = create(), *b = create();

    (void)state;
    mgds_qp_describe(a, &one);
    mgds_qp_describe(b, &two);
    assert_int_equal(one.qpn, 0x77);
    assert_int_equal(one.lid, 0x1234);
    assert_true(one.psn < 1 << 24 && two.psn < 1 << 24);
    assert_int_not_equal(one.psn, two.psn); /* but once in 2^24 runs */
    mgds_qp_destroy(a);
    mgds_qp_destroy(b);
}

static void connect_to(struct mgds_qp *qp, const struct mgds_end_rail *peer)
{
    struct mgds_refusal refusal;

    fake_verbs.changes = 0;
    assert_int_equal(mgds_qp_connect(qp, peer, IBV_MTU_1024, &refusal), 0);
    assert_int_equal(fake_verbs.changes, 3);
}

static void its_states_have_settings_and_terms(void **state)
{
    const struct ibv_qp_attr *rtr = &fake_verbs.states[1];
    const struct ibv_qp_attr *rts = &fake_verbs.states[2];
    struct mgds_end_rail mine;
    struct mgds_qp *qp = create();

    (void)state;
    connect_to(qp, &near);
    mgds_qp_describe(qp, &mine);
    assert_int_equal(fake_verbs.states[0].qp_state, IBV_QPS_INIT);
    assert_int_equal(fake_verbs.states[0].pkey_index, 1);
    assert_int_equal(rtr->qp_state, IBV_QPS_RTR);
    assert_int_equal(rtr->path_mtu, IBV_MTU_1024);
    assert_int_equal(rtr->dest_qp_num, 0x99);
    assert_int_equal(rtr->rq_psn, 0xabcdef);
    assert_int_equal(rtr->ah_attr.dlid, 0x55);
    assert_int_equal(rtr->ah_attr.sl, 3);
    assert_int_equal(rtr->ah_attr.is_global, 0);
    assert_int_equal(rts->qp_state, IBV_QPS_RTS);
    assert_int_equal(rts->sq_psn, mine.psn);
    assert_int_equal(rts->timeout, 14);
    assert_int_equal(rts->retry_cnt, 6);
    assert_int_equal(rts->rnr_retry, 5);
    mgds_qp_destroy(qp);
}

/* Another subnet, no LID, RoCE. */
static void gids_are_used_where_lids_do_not_do(void **state)
{
    const struct ibv_ah_attr *path = &fake_verbs.states[1].ah_attr;
    struct mgds_end_rail peer = near;
    struct mgds_qp *qp = create();

    (void)state;
    peer.gid[7] = 1;
    connect_to(qp, &peer);
    assert_int_equal(path->is_global, 1);
    assert_memory_equal(path->grh.dgid.raw, peer.gid, sizeof(peer.gid));
    assert_int_equal(path->grh.traffic_class, 106);
    peer = near;
    peer.lid = 0;
    connect_to(qp, &peer);
    assert_int_equal(path->is_global, 1);
    peer = near;
    peer.link = MGDS_LINK_ETHERNET;
    connect_to(qp, &peer);
    assert_int_equal(path->is_global, 1);
    mgds_qp_destroy(qp);
}

static void a_state_that_is_refused_is_said(void **state)
{
    static const char *const names[] = {"init", "rtr", "rts"};
    struct mgds_qp *qp = create();

    (void)state;
    fake_verbs.error = ETIMEDOUT;
    for (unsigned i = 0; i < 3; i++) {
        struct mgds_refusal refusal;

        fake_verbs.changes = 0;
        fake_verbs.fails = names[i];
        assert_int_equal(mgds_qp_connect(qp, &near, IBV_MTU_1024, &refusal),
                         -ETIMEDOUT);
        assert_int_equal(refusal.reason, MGDS_REFUSAL_CONNECT);
        assert_int_equal(fake_verbs.changes, i);
    }
    mgds_qp_destroy(qp);
}

static const struct mgds_region_memory of_gpu = {.address = 0x700000100,
                                                 .bytes = 0x1000,
                                                 .gpu = true,
                                                 .dmabuf = 5,
                                                 .offset = 0x100};

static void memory_of_a_gpu_goes_as_a_dmabuf(void **state)
{
    struct mgds_refusal refusal;
    struct mgds_region region;

    (void)state;
    assert_int_equal(mgds_region_init(&region, rail, &of_gpu, &refusal), 0);
    assert_int_equal(region.way, MGDS_REGION_DMABUF);
    assert_int_equal(region.passed.reason, MGDS_REFUSAL_NONE);
    assert_int_equal(fake_verbs.offset, 0x100);
    assert_int_equal(fake_verbs.access & IBV_ACCESS_RELAXED_ORDERING, 0);
    assert_int_equal(region.lkey, 0x11);
    assert_int_equal(region.rkey, 0x22);
    mgds_region_fini(&region);
}

/* By its address then, and the reason is kept. */
static void a_dmabuf_may_be_refused(void **state)
{
    struct mgds_verbs old = fake_verbs_table;
    struct mgds_refusal refusal;
    struct mgds_region region;

    (void)state;
    fake_verbs.fails = "ibv_reg_dmabuf_mr";
    fake_verbs.error = EOPNOTSUPP;
    assert_int_equal(mgds_region_init(&region, rail, &of_gpu, &refusal), 0);
    assert_int_equal(region.way, MGDS_REGION_PEERMEM);
    assert_int_equal(region.passed.reason, MGDS_REFUSAL_DMABUF);
    assert_int_equal(region.passed.error, EOPNOTSUPP);
    mgds_region_fini(&region);
    old.ibv_reg_dmabuf_mr = NULL;
    rail->verbs = &old;
    assert_int_equal(mgds_region_init(&region, rail, &of_gpu, &refusal), 0);
    assert_int_equal(region.passed.error, ENOSYS);
    mgds_region_fini(&region);
    rail->verbs = &fake_verbs_table;
}

static void memory_may_be_refused_at_all(void **state)
{
    struct mgds_region_memory memory = of_gpu;
    struct mgds_refusal refusal;
    struct mgds_region region;

    (void)state;
    fake_verbs.fails = "ibv_reg_mr";
    fake_verbs.error = EFAULT;
    memory.dmabuf = -1;
    assert_int_equal(mgds_region_init(&region, rail, &memory, &refusal),
                     -EFAULT);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_PEERMEM);
    memory.gpu = false;
    assert_int_equal(mgds_region_init(&region, rail, &memory, &refusal),
                     -EFAULT);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_failure_has_a_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_strange_layout_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_tells_its_number_and_a_random_psn,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_states_have_settings_and_terms,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(gids_are_used_where_lids_do_not_do,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_state_that_is_refused_is_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_of_a_gpu_goes_as_a_dmabuf,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dmabuf_may_be_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_may_be_refused_at_all, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
