/* What is known of a stream by where it stands, while nobody can ask the driver
 * for more: that it has come to all that is ahead, but for what is in the same
 * launch. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/msg/engine.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/stand.h"
#include "shim/gds/msg/timeline.h"
#include "shim/gds/stream/gstream.h"
#include "tests/soft/gpu_env.h"

/* The linker leads it here: the worker sits in a call of the driver's, and no
 * call of the program's comes by. */
uint64_t __wrap_mgds_gstream_come(struct mgds_gstream *stream, uint64_t from);

uint64_t __wrap_mgds_gstream_come(struct mgds_gstream *stream, uint64_t from)
{
    (void)stream;
    (void)from;
    return 0;
}

struct mgds_stands
__real_mgds_gstream_stands(const struct mgds_gstream *stream);
struct mgds_stands
__wrap_mgds_gstream_stands(const struct mgds_gstream *stream);

static uint64_t stand; /* atomic; 0: as the stream says */

struct mgds_stands __wrap_mgds_gstream_stands(const struct mgds_gstream *stream)
{
    const uint64_t at = __atomic_load_n(&stand, __ATOMIC_RELAXED);

    return at ? (struct mgds_stands){at, at}
              : __real_mgds_gstream_stands(stream);
}

/* A look at streams, while this one says that it stands at its last wait. */
static void look_at_stand(const struct gpu_env *place)
{
    struct mgds_timeline *timeline;

    assert_int_equal(mgds_timeline_of(&timeline, place->stream.gstream), 0);
    mgds_engine_enter();
    __atomic_store_n(&stand, timeline->waits, __ATOMIC_RELAXED);
    mgds_stands_look();
    __atomic_store_n(&stand, 0, __ATOMIC_RELAXED);
    mgds_engine_leave();
    mgds_op_progress();
}

/* Receive and wait are calls of their own: what tells that the stream has come
 * to the receive is an event. A message from whom the stream takes messages
 * comes staged. */
static void a_kernel_that_stands_says_what_the_stream_has_come_to(void **state)
{
    static const struct mgds_op_sink none = {.store = NULL};
    struct gpu_env place;
    struct mgds_xfer xfer;
    struct mgds_op *op;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    gate = gpu_env_hold(&place);
    xfer = gpu_env_xfer_of(&place, place.to, SHORT, SELF);
    assert_int_equal(mgds_op_recv(&op, place.comm, &xfer), 0);
    assert_int_equal(mgds_op_wait_enqueue(place.stream.gstream, 1, &op, &none),
                     0);
    gpu_env_come_staged(SELF);
    gpu_env_let_go(&place, gate);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

static struct mgds_op *send_beside_a_wait(struct gpu_env *place)
{
    static const struct mgds_op_sink none = {.store = NULL};
    struct mgds_gstream *stream = place->stream.gstream;
    struct mgds_xfer xfer = gpu_env_xfer_of(place, place->from, SHORT, OTHER);
    struct mgds_op *send, *recv;

    assert_int_equal(mgds_group_start(stream, true), 0);
    assert_int_equal(mgds_op_send(&send, place->comm, &xfer), 0);
    xfer = gpu_env_xfer_of(place, place->to, SHORT, SELF);
    assert_int_equal(mgds_op_recv(&recv, place->comm, &xfer), 0);
    assert_int_equal(mgds_op_wait_enqueue(stream, 1, &recv, &none), 0);
    assert_int_equal(mgds_group_end(stream, true), 0);
    return send;
}

/* One block says that it stands, and the one that packs has not begun: the gate
 * keeps it. */
static void a_block_that_stands_tells_nothing_of_others_beside_it(void **state)
{
    const struct wire_post *data;
    struct gpu_env place;
    struct mgds_op *send;
    uint64_t *gate;

    (void)state;
    gpu_env_open(&place);
    gate = gpu_env_hold(&place);
    send = send_beside_a_wait(&place);
    wire_come_pull(gpu_env_await(MGDS_ENVELOPE_RTS)->head.rts.request_id, SHORT,
                   OTHER);
    look_at_stand(&place);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    gpu_env_come_staged(SELF);
    gpu_env_let_go(&place, gate);
    data = gpu_env_await(MGDS_ENVELOPE_DATA);
    assert_int_equal(data->body_bytes, SHORT);
    for (size_t i = 0; i < SHORT; i++)
        assert_int_equal(((const unsigned char *)data->body)[i], 0x33);
    assert_int_equal(gpu_env_outcome(send), 0);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_stands_says_what_the_stream_has_come_to),
        cmocka_unit_test(a_block_that_stands_tells_nothing_of_others_beside_it),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
