/* Messages that a fetch is to copy, when its launch fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include "shim/base/stats.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/queue/gstream.h"
#include "tests/soft/gpu_env.h"

/* Launches of fetches, which the linker leads here: so many find no memory, and
 * end when a stream was told to copy the message. */
static unsigned without_memory;

int __real_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_step *take, uint64_t *flag,
                              uint64_t value);
int __wrap_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_step *take, uint64_t *flag,
                              uint64_t value);

int __wrap_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_step *take, uint64_t *flag,
                              uint64_t value)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;

    if (without_memory == 0)
        return __real_mgds_gstream_fetch(stream, take, flag, value);
    without_memory--;
    while (mgds_stats_value(MGDS_STAT_pull_orders) == 0) {
        assert_true(gpu_env_seconds() < end);
        mgds_fetches_chore();
    }
    return -ENOMEM;
}

/* The receive that the stream stands for. */
static void end_short(struct gpu_env *place)
{
    struct mgds_rts rts = gpu_env_rts_of(OTHER, 0, SHORT);

    rts.serial = 0;
    gpu_env_come_rts(&rts);
    assert_int_equal(
        gpu_env_come_data(gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull.answer,
                          SHORT, OTHER),
        0);
    gpu_env_finish(place);
}

static struct mgds_op *recv_from_self(struct gpu_env *place,
                                      const struct mgds_rts *rts)
{
    const struct mgds_xfer xfer = gpu_env_xfer_of(place, place->to, LONG, SELF);
    const struct mgds_tell reached = {
        .domain = ID, .number = rts->number, .rank = SELF};
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_recv(&op, place->domain, &xfer), 0);
    gpu_env_come_rts(rts);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REACHED, &reached, sizeof(reached), NULL, 0),
        HEARD);
    return op;
}

static void until_over(struct mgds_op *op)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct mgds_op_status status;

    while (mgds_op_test(op) == 0) {
        assert_true(gpu_env_seconds() < end);
        sched_yield();
    }
    mgds_op_status(op, &status);
    assert_int_equal(status.error, 0);
    mgds_op_put(op);
}

/* A kernel may be at it, or come to it. */
static void what_a_stream_was_told_to_copy_does_not_fail(void **state)
{
    const struct mgds_op_sink none = {NULL, NULL};
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct mgds_op *send, *recv;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    recv = recv_from_self(&place, &rts);
    gpu_env_recv_on_stream(&place, SHORT, OTHER, &none);
    for (without_memory = 1; without_memory > 0;) {
        assert_true(gpu_env_seconds() < end);
        mgds_op_progress();
    }
    until_over(recv);
    gpu_env_assert_gpu(place.to, 0x33, LONG);
    gpu_env_come_taken(gpu_env_await(MGDS_ENVELOPE_TAKEN)->head.taken.cookie[0],
                       SELF);
    until_over(send);
    end_short(&place);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_stream_was_told_to_copy_does_not_fail),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
