/* Receives for whose bytes there is no memory: they come in parts that fit into
 * fragments, whatever their sender says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/msg/op.h"
#include "tests/soft/gpu_env.h"

enum { MOST = 16 };

static struct mgds_op *receive(struct gpu_env *place)
{
    const struct mgds_xfer xfer =
        gpu_env_xfer_of(place, place->to, LONG, OTHER);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_recv(&op, place->comm, &xfer), 0);
    return op;
}

static struct mgds_pull tell(unsigned number)
{
    struct mgds_rts rts = gpu_env_rts_of(OTHER, number, LONG);

    rts.protocol = MGDS_PROTOCOL_FRAGMENTS;
    wire_come_rts(&rts);
    return gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull;
}

/* The first one that finds no memory; those before have theirs, and end. */
static struct mgds_op *receive_lean(struct gpu_env *place,
                                    struct mgds_pull *pull)
{
    struct mgds_op *op[MOST];
    unsigned n = 0;

    do {
        assert_true(n < MOST);
        op[n] = receive(place);
    } while (!mgds_op_is_lean(op[n++]));
    for (unsigned i = 0; i < n - 1; i++) {
        assert_int_equal(wire_come_data(tell(i).answer, LONG, OTHER), 0);
        assert_int_equal(gpu_env_outcome(op[i]), 0);
    }
    *pull = tell(n - 1);
    return op[n - 1];
}

/* One that is ready for parts of that length is refused. */
static void refuses(uint32_t longer)
{
    struct mgds_data ready = {.rank = OTHER, .part = 1};
    struct mgds_pull pull;
    struct gpu_env place;
    struct mgds_op *op;

    gpu_env_open(&place);
    op = receive_lean(&place, &pull);
    assert_true(pull.part > 0);
    ready.answer = pull.answer;
    ready.first = longer ? pull.part + longer : 0;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &ready, sizeof(ready), NULL, 0),
        -ECANCELED);
    assert_int_equal(gpu_env_refused(&place), 1);
    assert_int_equal(gpu_env_outcome(op), -EIO);
    gpu_env_close(&place);
}

static void parts_longer_than_fragments_are_refused(void **state)
{
    (void)state;
    refuses(1);
}

static void parts_of_nothing_are_refused(void **state)
{
    (void)state;
    refuses(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_longer_than_fragments_are_refused),
        cmocka_unit_test(parts_of_nothing_are_refused),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
