/* Messages that a fetch is to copy, when its launch fails; and those that one
 * is to keep from being copied. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include "shim/base/stats.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/stream/gstream_state.h"
#include "tests/soft/gpu_env.h"

/* Launches of fetches, which the linker leads here: so many find no memory, and
 * end when a stream was told to copy the message. */
static unsigned without_memory; /* atomic: the worker launches, too */

static unsigned left_without_memory(void)
{
    return __atomic_load_n(&without_memory, __ATOMIC_RELAXED);
}

int __real_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_command *take, uint64_t *flag,
                              uint64_t value);
int __wrap_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_command *take, uint64_t *flag,
                              uint64_t value);

int __wrap_mgds_gstream_fetch(struct mgds_gstream *stream,
                              const struct mgds_command *take, uint64_t *flag,
                              uint64_t value)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;

    if (left_without_memory() == 0)
        return __real_mgds_gstream_fetch(stream, take, flag, value);
    __atomic_fetch_sub(&without_memory, 1, __ATOMIC_RELAXED);
    while (mgds_stats_value(MGDS_STAT_pull_orders) == 0) {
        assert_true(gpu_env_seconds() < end);
        mgds_works_run(MGDS_WORK_BY_WIRE);
    }
    return -ENOMEM;
}

/* The receive that the stream stands for. */
static void end_short(struct gpu_env *place)
{
    gpu_env_come_staged(OTHER);
    gpu_env_finish(place);
}

/* Its sender's stream has come to it. */
static void come_reached(const struct mgds_rts *rts)
{
    const struct mgds_tell reached = {
        .comm = ID, .number = rts->number, .rank = SELF};

    wire_come_rts(rts);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REACHED, &reached, sizeof(reached), NULL, 0),
        HEARD);
}

static struct mgds_op *recv_from_self(struct gpu_env *place)
{
    const struct mgds_xfer xfer = gpu_env_xfer_of(place, place->to, LONG, SELF);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_recv(&op, place->comm, &xfer), 0);
    return op;
}

static void poll_marks(void)
{
    mgds_engine_enter();
    mgds_timelines_poll();
    mgds_engine_leave();
}

/* A kernel may be at it, or come to it. */
static void what_a_stream_was_told_to_copy_does_not_fail(void **state)
{
    const struct mgds_op_sink none = {.store = NULL};
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct mgds_op *send, *recv;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    recv = recv_from_self(&place);
    gpu_env_recv_on_stream(&place, SHORT, OTHER, &none);
    /* the worker may launch at once */
    __atomic_store_n(&without_memory, 1, __ATOMIC_RELAXED);
    come_reached(&rts);
    while (left_without_memory() > 0) {
        assert_true(gpu_env_seconds() < end);
        /* not left to the worker: a launch that is late is ordered instead */
        mgds_works_run(MGDS_WORK_BY_HOST);
        poll_marks();
    }
    assert_int_equal(gpu_env_outcome(recv), 0);
    gpu_env_assert_gpu(place.to, 0x33, LONG);
    wire_come_taken(
        gpu_env_await(MGDS_ENVELOPE_TAKEN)->head.taken.request_id[0], SELF);
    assert_int_equal(gpu_env_outcome(send), 0);
    end_short(&place);
    gpu_env_close(&place);
}

static int ended_with(void)
{
    assert_int_equal(wire_posts(MGDS_ENVELOPE_ENDED), 1);
    return wire_posted(MGDS_ENVELOPE_ENDED)->head.ended.error;
}

static void come_revoke(const struct mgds_rts *rts)
{
    const struct mgds_revoke revoke = {
        .message = {.comm = ID, .number = rts->number, .rank = SELF},
        .request_id = rts->request_id,
        .receiver = SELF};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REVOKE, &revoke, sizeof(revoke), NULL, 0),
        HEARD);
    assert_int_equal(ended_with(), 0);
}

/* By who does not look at its end; until it is through. */
static void fetch_late(const struct gpu_env *place)
{
    CUstream beside = place->stream.gstream->gpu->copyqueue->stream;
    uint64_t before = mgds_stats_value(MGDS_STAT_pull_late);
    time_t end = gpu_env_seconds() + PATIENCE_S;

    while (mgds_stats_value(MGDS_STAT_pull_late) == before) {
        assert_true(gpu_env_seconds() < end);
        mgds_works_run(MGDS_WORK_BY_WORKER);
    }
    OK(cu.cuStreamSynchronize(beside));
}

/* The withdrawal has won, and let the TAKE pass, before anybody has looked at
 * its end: the receive fails all the same, and that is all the sender hears. */
static void what_was_withdrawn_is_not_said_to_be_taken(void **state)
{
    const struct mgds_op_sink none = {.store = NULL};
    struct mgds_failure failure;
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;
    struct mgds_syncwords *words;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    words = mgds_gstream_words(place.stream.gstream);
    assert_int_equal(mgds_syncwords_take(&gate, words), 0);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    queue_hold(place.stream.native, gate);
    gpu_env_recv_on_stream(&place, LONG, SELF, &none);
    come_reached(&rts);
    come_revoke(&rts);
    fetch_late(&place);
    queue_write(gate, 1);
    OK(cu.cuStreamSynchronize(place.stream.native));
    poll_marks();
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 0);
    assert_int_equal(ended_with(), -ETIMEDOUT);
    assert_int_equal(mgds_gstream_take_error(place.stream.gstream, &failure),
                     -ETIMEDOUT);
    gpu_env_assert_gpu(place.to, 0, 0);
    wire_come_ended(rts.request_id, -ETIMEDOUT, SELF);
    assert_int_equal(gpu_env_outcome(send), -ETIMEDOUT);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 0);
    mgds_syncwords_give(words, gate);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_stream_was_told_to_copy_does_not_fail),
        cmocka_unit_test(what_was_withdrawn_is_not_said_to_be_taken),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
