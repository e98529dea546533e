/* Long messages that their receiver cannot copy, and says so when it asks for
 * them: their bytes are sent, once, and whoever waits for the send goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/base/stats.h"
#include "shim/gds/msg/op.h"
#include "tests/soft/gpu_env.h"

static const struct mgds_op_sink none = {.store = NULL};

static void come_refusal(const struct mgds_rts *rts, uint64_t bytes)
{
    const struct mgds_pull pull = {.request_id = rts->request_id,
                                   .answer = 99,
                                   .bytes = bytes,
                                   .rank = SELF,
                                   .refused = -EFAULT};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0), HEARD);
}

static void assert_data(size_t bytes)
{
    const struct wire_post *post = gpu_env_await(MGDS_ENVELOPE_DATA);

    assert_int_equal(post->head.data.answer, 99);
    assert_int_equal(post->head.data.error, 0);
    assert_int_equal(post->body_bytes, bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(((const unsigned char *)post->body)[i], 0x33);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
}

static void its_bytes_are_sent_once(void **state)
{
    uint64_t before = mgds_stats_value(MGDS_STAT_pull_refused);
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    assert_true(rts.address != 0);
    come_refusal(&rts, LONG);
    assert_data(LONG);
    assert_int_equal(mgds_stats_value(MGDS_STAT_pull_refused), before + 1);
    come_refusal(&rts, LONG); /* is over */
    wire_come_taken(rts.request_id, SELF);
    assert_int_equal(gpu_env_refused(&place), 2);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    assert_int_equal(gpu_env_outcome(send), 0);
    gpu_env_close(&place);
}

static void a_shorter_receive_gets_what_it_asks_for(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    come_refusal(&rts, SHORT);
    assert_data(SHORT);
    assert_int_equal(gpu_env_outcome(send), 0);
    gpu_env_close(&place);
}

/* Its stream has a kernel that waits until the message was copied. */
static void a_stream_that_waits_goes_on(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct mgds_failure failure;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    assert_int_equal(
        mgds_op_wait_enqueue(place.stream.gstream, 1, &send, &none), 0);
    come_refusal(&rts, LONG);
    gpu_env_finish(&place);
    assert_data(LONG);
    assert_int_equal(mgds_gstream_take_error(place.stream.gstream, &failure),
                     0);
    gpu_env_close(&place);
}

static void so_does_one_whose_wait_comes_afterwards(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    come_refusal(&rts, LONG);
    assert_int_equal(
        mgds_op_wait_enqueue(place.stream.gstream, 1, &send, &none), 0);
    gpu_env_finish(&place);
    assert_data(LONG);
    gpu_env_close(&place);
}

/* The buffer is not ready before. */
static void nothing_is_read_before_its_stream_comes(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    OK(cu.cuMemsetD8_v2(place.from, 0, LONG));
    OK(cu.cuStreamSynchronize(NULL));
    gate = gpu_env_hold(&place);
    OK(cu.cuMemsetD8Async(place.from, 0x33, LONG, place.stream.native));
    send = gpu_env_send_to_self(&place, LONG, &rts);
    come_refusal(&rts, LONG);
    mgds_op_progress();
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    gpu_env_let_go(&place, gate);
    assert_data(LONG);
    assert_int_equal(gpu_env_outcome(send), 0);
    gpu_env_close(&place);
}

static void what_fails_meanwhile_is_not_sent(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    gate = gpu_env_hold(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    come_refusal(&rts, LONG);
    wire_come_ended(rts.request_id, -ETIMEDOUT, SELF);
    gpu_env_let_go(&place, gate);
    assert_int_equal(gpu_env_outcome(send), -ETIMEDOUT);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    gpu_env_close(&place);
}

/* The program may not: then both ends hear of it. */
static void memory_that_is_gone_fails_it(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    OK(cu.cuStreamSynchronize(place.stream.native));
    OK(cu.cuMemFree_v2(place.from));
    come_refusal(&rts, LONG);
    assert_true(gpu_env_await(MGDS_ENVELOPE_DATA)->head.data.error < 0);
    assert_true(gpu_env_outcome(send) < 0);
    OK(cu.cuMemAlloc_v2(&place.from, LONG));
    gpu_env_close(&place);
}

/* A message in a ring is nowhere else: its send may be over, since its buffer
 * was the program's again, and its receive fails. */
static void an_eager_message_fails(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, SHORT, &rts);
    OK(cu.cuStreamSynchronize(place.stream.native));
    come_refusal(&rts, SHORT);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_int_equal(gpu_env_await(MGDS_ENVELOPE_DATA)->head.data.error,
                     -EFAULT);
    gpu_env_outcome(send);
    wire_come_taken(rts.request_id, SELF); /* it is gone */
    assert_int_equal(gpu_env_refused(&place), 1);
    gpu_env_close(&place);
}

/* Of one that nobody was to copy this cannot be said, nor more be asked for
 * than there is. */
static void refusals_that_cannot_be_true_are_refused(void **state)
{
    struct mgds_op *send;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    send = gpu_env_send_to_self(&place, LONG, &rts);
    come_refusal(&rts, LONG + 1);
    assert_int_equal(gpu_env_refused(&place), 1);
    assert_int_equal(gpu_env_await(MGDS_ENVELOPE_DATA)->head.data.error, -EIO);
    assert_int_equal(gpu_env_outcome(send), -EIO);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_bytes_are_sent_once),
        cmocka_unit_test(a_shorter_receive_gets_what_it_asks_for),
        cmocka_unit_test(a_stream_that_waits_goes_on),
        cmocka_unit_test(so_does_one_whose_wait_comes_afterwards),
        cmocka_unit_test(nothing_is_read_before_its_stream_comes),
        cmocka_unit_test(what_fails_meanwhile_is_not_sent),
        cmocka_unit_test(memory_that_is_gone_fails_it),
        cmocka_unit_test(an_eager_message_fails),
        cmocka_unit_test(refusals_that_cannot_be_true_are_refused),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
