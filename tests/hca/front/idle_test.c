/* What the software ConnectX costs while nothing is done, how soon it is awake,
 * and that packets for a device that nobody opened hold nobody up. The engine's
 * thread alone runs the engine here (MPIX_SIM_HCA_INLINE=no), and there are two
 * devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/sanitized.h"
#include "tests/lib/threads.h"

enum {
    SECOND = 1000000000,
    IDLE = SECOND, /* ns */
    TRIES = 5,
    PART = MGDS_SANITIZED ? 20 : 50, /* of a core: what is let pass */
    LIMIT = 100,                     /* s */
    QKEY = 77
};

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;

    assert_int_equal(clock_gettime(clock, &time), 0);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void let_time_pass(void)
{
    struct timespec time = {.tv_sec = IDLE / SECOND};

    nanosleep(&time, NULL);
}

/* The time of a core that this process used, in ns of each second, at best. */
static uint64_t measure_use(void)
{
    uint64_t best = UINT64_MAX, before, used;

    for (int i = 0; i < TRIES && best > SECOND / PART; i++) {
        before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        let_time_pass();
        used = read_clock(CLOCK_PROCESS_CPUTIME_ID) - before;
        best = used < best ? used : best;
    }
    return best;
}

static void without_a_qp_nothing_runs(void **state)
{
    struct ibv_context *context = verbs_open();
    struct verbs_side side;
    unsigned before = mgds_test_threads();
    uint64_t use;

    (void)state;
    verbs_side_open(context, &side);
    assert_int_equal(mgds_test_threads(), before + 1);
    assert_int_equal(ibv_destroy_qp(side.qp), 0);
    use = measure_use();
    print_message("without a QP: %.3f %% of a core\n", (double)use * 1e-7);
    assert_true(use < SECOND / 1000);
    side.qp = NULL;
    verbs_side_close(&side);
    ibv_close_device(context);
}

/* The first doorbell behind a second of nothing. */
static uint64_t measure_waking(const struct verbs_pair *pair)
{
    uint64_t start = read_clock(CLOCK_MONOTONIC);

    verbs_write(pair, 0, pair->b.mr->rkey, 0);
    assert_int_equal(verbs_wait(pair->a.cq).status, IBV_WC_SUCCESS);
    return read_clock(CLOCK_MONOTONIC) - start;
}

static void idle_qps_cost_little(void **state)
{
    uint64_t use, waking, best = UINT64_MAX;
    struct verbs_pair pair;

    (void)state;
    verbs_pair_open(&pair);
    measure_waking(&pair);
    let_time_pass();
    use = measure_use();
    for (int i = 0; i < 2; i++) {
        let_time_pass();
        waking = measure_waking(&pair);
        best = waking < best ? waking : best;
    }
    print_message("idle QPs: %.3f %% of a core; the first doorbell is served "
                  "after %.3f ms\n",
                  (double)use * 1e-7, (double)best * 1e-6);
    assert_true(use <= SECOND / PART);
    assert_true(best < SECOND / 2); /* 5 ms on a machine with time for it */
    verbs_pair_close(&pair);
}

/* The LID of a device, which is closed again. */
static uint16_t lid_of(struct ibv_device *device)
{
    struct ibv_context *context = ibv_open_device(device);
    struct ibv_port_attr port;

    assert_non_null(context);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(ibv_close_device(context), 0);
    return port.lid;
}

static void a_closed_device_loses_what_comes(void **state)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_ah_attr to = {.port_num = 1, .dlid = lid_of(list[1])};
    struct verbs_side side;
    struct ibv_sge sge;
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {.remote_qpn = 65, .remote_qkey = QKEY}};
    struct ibv_send_wr *bad;

    (void)state;
    assert_non_null(context);
    verbs_side_open(context, &side);
    verbs_serve_datagrams(&side, QKEY);
    sge = verbs_sge(&side, 0, 64);
    wr.wr.ud.ah = ibv_create_ah(side.pd, &to);
    assert_non_null(wr.wr.ud.ah);
    assert_int_equal(ibv_post_send(side.qp, &wr, &bad), 0);
    assert_int_equal(verbs_wait(side.cq).status, IBV_WC_SUCCESS);
    let_time_pass(); /* until the thread has come to its rest */
    assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
    assert_true(measure_use() <= SECOND / PART);
    verbs_side_close(&side);
    assert_int_equal(ibv_close_device(context), 0);
    ibv_free_device_list(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_qp_nothing_runs),
        cmocka_unit_test(idle_qps_cost_little),
        cmocka_unit_test(a_closed_device_loses_what_comes),
    };

    alarm(LIMIT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
