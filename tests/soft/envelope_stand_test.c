/* A receive from whom its stream takes messages, of one that comes staged: that
 * the stream has come to it is known also while nobody can ask the driver for
 * that. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/msg/op.h"
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

/* Receive and wait are calls of their own: what tells that the stream has come
 * to the receive is an event. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_stands_says_what_the_stream_has_come_to),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
