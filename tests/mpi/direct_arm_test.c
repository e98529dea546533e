/* From when on a rank looks for headers: what begins before, and what the
 * program has by then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/cuda/context.h"
#include "shim/pmpi/direct_arm.h"
#include "shim/pmpi/frame.h"

/* Played. */
static bool has_context;
static int closings; /* of shortcuts */

bool mgds_context_is_any(void)
{
    return has_context;
}

void mgds_frame_close_shortcuts(void)
{
    closings++;
}

void mgds_frame_close_for_streams(void)
{
}

static int begin(void **state)
{
    (void)state;
    mgds_direct_arm_end();
    has_context = false;
    closings = 0;
    return 0;
}

static void a_rank_that_need_not_wait_is_armed(void **state)
{
    (void)state;
    mgds_direct_arm_or_bar(MGDS_CALL_Isend);
    mgds_direct_arm_begin(false, false);
    assert_true(mgds_direct_armed());
    assert_int_equal(closings, 1);
    mgds_direct_arm_or_bar(MGDS_CALL_Irecv);
    mgds_direct_arm_by_gpu();
    assert_int_equal(closings, 1);
    mgds_direct_arm_end();
    assert_false(mgds_direct_armed());
}

static void gpu_memory_arms(void **state)
{
    (void)state;
    mgds_direct_arm_by_gpu(); /* nothing was agreed on */
    assert_false(mgds_direct_armed());
    mgds_direct_arm_begin(true, false);
    assert_false(mgds_direct_armed());
    mgds_direct_arm_or_bar(MGDS_CALL_Recv);
    mgds_direct_arm_or_bar(MGDS_CALL_Isend);
    mgds_direct_arm_or_bar(MGDS_CALL_Waitall);
    mgds_direct_arm_by_gpu();
    assert_true(mgds_direct_armed());
    assert_int_equal(closings, 1);
}

/* Each call that begins a receive which may outlast it. */
static const enum mgds_call outlasting[] = {
    MGDS_CALL_Irecv,     MGDS_CALL_Irecv_c,    MGDS_CALL_Imrecv,
    MGDS_CALL_Imrecv_c,  MGDS_CALL_Isendrecv,  MGDS_CALL_Isendrecv_c,
    MGDS_CALL_Recv_init, MGDS_CALL_Recv_init_c};
/* And those that may be in it while another thread arms. */
static const enum mgds_call blocking[] = {
    MGDS_CALL_Recv,     MGDS_CALL_Recv_c,           MGDS_CALL_Mrecv,
    MGDS_CALL_Sendrecv, MGDS_CALL_Sendrecv_replace, MGDS_CALL_Probe,
    MGDS_CALL_Mprobe};

static bool arms_behind(enum mgds_call call, bool shared, bool context)
{
    begin(NULL);
    has_context = context;
    mgds_direct_arm_begin(true, shared);
    mgds_direct_arm_or_bar(call);
    assert_int_equal(mgds_direct_armed(), closings == 1);
    if (context && mgds_direct_armed())
        return true;
    mgds_direct_arm_by_gpu();
    return mgds_direct_armed();
}

static void a_receive_bars_unless_there_is_a_context(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(outlasting) / sizeof(*outlasting); i++)
        for (int shared = 0; shared < 2; shared++) {
            assert_false(arms_behind(outlasting[i], shared, false));
            assert_true(arms_behind(outlasting[i], shared, true));
        }
    for (size_t i = 0; i < sizeof(blocking) / sizeof(*blocking); i++) {
        assert_true(arms_behind(blocking[i], false, false));
        assert_false(arms_behind(blocking[i], true, false));
        assert_true(arms_behind(blocking[i], true, true));
    }
}

static void a_receive_ahead_of_the_agreement_bars(void **state)
{
    (void)state;
    has_context = true;
    for (int waits = 0; waits < 2; waits++) {
        mgds_direct_arm_end();
        mgds_direct_arm_or_bar(waits ? MGDS_CALL_Irecv : MGDS_CALL_Recv);
        mgds_direct_arm_begin(waits, false);
        mgds_direct_arm_or_bar(MGDS_CALL_Irecv);
        mgds_direct_arm_by_gpu();
        assert_false(mgds_direct_armed());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_rank_that_need_not_wait_is_armed, begin),
        cmocka_unit_test_setup(gpu_memory_arms, begin),
        cmocka_unit_test_setup(a_receive_bars_unless_there_is_a_context, begin),
        cmocka_unit_test_setup(a_receive_ahead_of_the_agreement_bars, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
