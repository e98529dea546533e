/* Waits until a long message was copied by its receiver: what could not be put
 * on the stream, and what was copied after the send was given up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"
#include "tests/soft/gpu_env.h"

static const struct mgds_op_sink none = {.store = NULL};

static CUresult refuse_launch(const CUlaunchConfig *config, CUfunction kernel,
                              void **arguments, void **extra)
{
    (void)config;
    (void)kernel;
    (void)arguments;
    (void)extra;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void wait_on(const struct queue_stream *stream, struct mgds_op *op)
{
    assert_int_equal(mgds_op_wait_enqueue(stream->gstream, 1, &op, &none), 0);
}

/* The call succeeds; that it came to nothing is the stream's to tell. */
static void wait_in_vain(struct gpu_env *place, struct mgds_op *op)
{
    struct mgds_driver *table = (struct mgds_driver *)(void *)mgds_driver();
    const struct mgds_driver whole = *table;
    struct mgds_failure failure;

    table->cuLaunchKernelEx = refuse_launch;
    wait_on(&place->stream, op);
    *table = whole;
    assert_int_equal(mgds_gstream_take_error(place->stream.gstream, &failure),
                     -ENOMEM);
}

/* Nobody has seen that it was copied: who asks for it gets it. */
static void send_whose_wait_failed_is_there_for_its_receiver(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    wait_in_vain(&place, send);
    wire_come_pull(rts.request_id, LONG, SELF);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_int_equal(gpu_env_await(MGDS_ENVELOPE_DATA)->head.data.error, 0);
    wire_come_taken(rts.request_id, SELF);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

static bool is_known(const struct mgds_rts *rts)
{
    bool known;

    mgds_engine_enter();
    mgds_timelines_poll();
    known = mgds_op_find(rts->request_id) != NULL;
    mgds_engine_leave();
    return known;
}

/* As the kernel of a receiver does that has copied it. */
static void say_copied(const struct mgds_op *send)
{
    struct queue_stream receiver;
    struct mgds_command step = {
        .kind = MGDS_COMMAND_POST,
        .units =
            mgds_channel_done_here(send->ring->words_of, send->ring->done_word),
        .serial = send->ring->slot.serial};

    queue_open(&receiver, CU_STREAM_NON_BLOCKING);
    queue_put(receiver.gstream, &step, 1);
    queue_close(&receiver);
}

/* Its own stream is not known to have come to it; it was asked for, copied all
 * the same, and then given up by its receiver: it leaves the engine. */
static void send_that_was_asked_for_copied_and_lost_ends(void **state)
{
    struct queue_stream other;
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    queue_open(&other, CU_STREAM_NON_BLOCKING);
    assert_int_equal(
        mgds_syncwords_take(&gate, mgds_gstream_words(place.stream.gstream)),
        0);
    queue_hold(place.stream.native, gate);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    wait_on(&other, send);
    wire_come_pull(rts.request_id, LONG, SELF);
    say_copied(send);
    OK(cu.cuStreamSynchronize(other.native));
    wire_come_ended(rts.request_id, -ETIMEDOUT, SELF);
    assert_false(is_known(&rts));
    queue_write(gate, 1);
    gpu_env_finish(&place);
    mgds_syncwords_give(mgds_gstream_words(place.stream.gstream), gate);
    queue_close(&other);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send_whose_wait_failed_is_there_for_its_receiver),
        cmocka_unit_test(send_that_was_asked_for_copied_and_lost_ends),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
