/* Envelopes that name places of a ring, or memory: against a communicator that
 * has a ring in GPU memory, on a wire that goes nowhere. This process is SELF;
 * what the others say is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/impl/mem.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/ring_pair.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/gpu_env.h"

/* Places. */

static void places_are_in_the_ring_or_refused(void **state)
{
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    {
        const uint32_t room = place.room;
        const struct {
            size_t bytes;
            uint32_t units;
            bool good;
        } places[] = {{0, 0, true},
                      {8, 0, true},
                      {(size_t)room * 8, 0, true},
                      {(size_t)room * 8 + 1, 0, false},
                      {(size_t)room * 8, 1, false},
                      {0, room - 1, true},
                      {8, room - 1, true},
                      {9, room - 1, false},
                      {16, room - 2, true},
                      {0, room, false},
                      {8, room + 1, false},
                      {0, UINT32_MAX, false},
                      {8, UINT32_MAX, false},
                      {SIZE_MAX, UINT32_MAX - 1, false},
                      {SIZE_MAX, 0, false},
                      {SIZE_MAX - 7, 0, false},
                      {(size_t)UINT32_MAX * 8, 1, false},
                      {(size_t)8 << 32, 0, false}};

        for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            struct mgds_rts rts = gpu_env_rts_of(OTHER, i, places[i].bytes);

            rts.units = places[i].units;
            wire_come_rts(&rts);
            assert_int_equal(gpu_env_refused(&place), !places[i].good);
        }
    }
    gpu_env_close(&place);
}

static void another_host_has_no_place_in_the_ring(void **state)
{
    struct mgds_rts rts[] = {gpu_env_rts_of(FAR, 0, SHORT),
                             gpu_env_rts_of(FAR, 1, SHORT),
                             gpu_env_rts_of(OTHER, 0, SHORT)};
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    rts[1].ring = rts[2].ring = 0; /* by a far way, which there is not */
    for (unsigned i = 0; i < 3; i++)
        wire_come_rts(&rts[i]);
    assert_int_equal(gpu_env_refused(&place), 3);
    gpu_env_close(&place);
}

/* Its sender says so, since it has its bytes nowhere else. */
static void a_message_outside_the_ring_fails(void **state)
{
    struct mgds_op_status status = {.error = 1};
    const struct mgds_op_sink sink = {.store = gpu_env_keep_status,
                                      .arg = &status};
    struct mgds_rts rts = gpu_env_rts_of(OTHER, 0, SHORT);
    struct mgds_data data = {.error = -EPROTO, .rank = OTHER};
    const struct mgds_pull *pull;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    rts.units = place.room;
    gpu_env_recv_on_stream(&place, SHORT, OTHER, &sink);
    wire_come_rts(&rts);
    assert_int_equal(gpu_env_refused(&place), 1);
    pull = &gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull;
    assert_int_equal(pull->refused, -EPROTO);
    data.answer = pull->answer;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
        -ECANCELED);
    gpu_env_finish(&place);
    assert_int_equal(status.error, -EPROTO);
    gpu_env_assert_gpu(place.to, 0x11, 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

/* Until the host has it. */
static void await_recv(struct gpu_env *place, struct mgds_op *op)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;

    while (mgds_op_test(op) == 0) {
        assert_true(gpu_env_seconds() < end);
        sched_yield();
    }
    mgds_op_put(op);
    gpu_env_assert_gpu(place->to, 0x11, SHORT);
}

/* What a sender's stream stores in the ring: bytes 0x11. */
static void put_units(CUdeviceptr at, const struct mgds_rts *rts)
{
    struct mgds_unit unit[SHORT / 8];

    for (size_t i = 0; i < SHORT / 8; i++)
        unit[i] = (struct mgds_unit){0x1111111111111111, rts->serial};
    OK(cu.cuMemcpy(at, (CUdeviceptr)(uintptr_t)unit, sizeof(unit)));
    OK(cu.cuStreamSynchronize(NULL));
}

/* Small request IDs are all that there are. */
static void data_for_a_message_in_the_ring_lands_nowhere(void **state)
{
    enum { COOKIES = 64 };
    const struct mgds_rts rts = gpu_env_rts_of(OTHER, 0, SHORT);
    struct mgds_xfer xfer;
    struct mgds_op *op = NULL;
    struct gpu_env place;
    uint64_t answer;

    (void)state;
    gpu_env_open(&place);
    xfer = gpu_env_xfer_of(&place, place.to, SHORT, OTHER);
    assert_int_equal(mgds_op_recv(&op, place.comm, &xfer), 0);
    wire_come_rts(&rts);
    for (uint64_t i = 0; i <= COOKIES; i++)
        assert_int_equal(wire_come_data(i, SHORT, OTHER), -ECANCELED);
    assert_int_equal(gpu_env_refused(&place), COOKIES + 1);
    assert_int_equal(mgds_op_test(op), 0); /* asks for it */
    answer = gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull.answer;
    put_units(mgds_op_units(op), &rts);
    assert_int_equal(wire_come_data(answer, 0, OTHER), -ECANCELED);
    await_recv(&place, op);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

static void say_closed(const struct gpu_env *place, uint32_t number)
{
    const struct mgds_ring_said said = {
        {place->pair->there, place->pair->here->id}, number, 0};

    wire_author = OTHER + 1;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_RING_CLOSED, &said, sizeof(said), NULL, 0),
        HEARD);
    wire_author = 0;
}

static uint64_t bytes_after_safe_point(void)
{
    mgds_comms_note_freed();
    mgds_comms_trim();
    mgds_defer_drain();
    return mgds_rings_bytes();
}

/* Its sender must not have closed it. */
static void a_ring_stays_while_a_message_is_in_it(void **state)
{
    const struct mgds_rts rts = gpu_env_rts_of(OTHER, 0, SHORT);
    struct mgds_xfer xfer;
    struct mgds_op *op = NULL;
    struct gpu_env place;
    uint64_t bytes;

    (void)state;
    gpu_env_open(&place);
    bytes = mgds_rings_bytes();
    wire_come_rts(&rts);
    say_closed(&place, rts.ring);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_true(bytes_after_safe_point() == bytes);
    xfer = gpu_env_xfer_of(&place, place.to, SHORT, OTHER);
    assert_int_equal(mgds_op_recv(&op, place.comm, &xfer), 0);
    assert_int_equal(mgds_op_test(op), 0); /* asks for it */
    put_units(mgds_op_units(op), &rts);
    wire_come_data(gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull.answer, 0,
                   OTHER);
    await_recv(&place, op);
    gpu_env_finish(&place);
    assert_true(bytes_after_safe_point() < bytes);
    gpu_env_close(&place);
}

/* Though its stream has not come to it. */
static void data_lands_once(void **state)
{
    struct mgds_rts rts = gpu_env_rts_of(OTHER, 0, SHORT);
    struct mgds_xfer xfer;
    struct mgds_op *op = NULL;
    struct gpu_env place;
    uint64_t *gate, answer;

    (void)state;
    gpu_env_open(&place);
    OK(cu.cuMemHostAlloc((void **)&gate, sizeof(*gate), 0));
    *gate = 0;
    queue_hold(place.stream.native, gate);
    xfer = gpu_env_xfer_of(&place, place.to, SHORT, OTHER);
    assert_int_equal(mgds_op_recv(&op, place.comm, &xfer), 0);
    rts.protocol = MGDS_PROTOCOL_FRAGMENTS;
    wire_come_rts(&rts);
    answer = gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull.answer;
    assert_int_equal(wire_come_data(answer, SHORT, OTHER), 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_int_equal(wire_come_data(answer, SHORT, OTHER), -ECANCELED);
    assert_int_equal(gpu_env_refused(&place), 1);
    queue_write(gate, 1);
    await_recv(&place, op);
    assert_int_equal(wire_come_data(answer, SHORT, OTHER), -ECANCELED);
    assert_int_equal(gpu_env_refused(&place), 1);
    gpu_env_finish(&place);
    OK(cu.cuMemFreeHost(gate));
    gpu_env_close(&place);
}

/* Messages to oneself: all that is true. */

static void deliver_to_self(struct gpu_env *place, size_t bytes)
{
    struct mgds_op_status status = {.error = 1};
    const struct mgds_op_sink sink = {.store = gpu_env_keep_status,
                                      .arg = &status};
    struct mgds_taken taken;
    struct mgds_rts rts;
    struct mgds_op *op = gpu_env_send_to_self(place, bytes, &rts);

    gpu_env_recv_on_stream(place, bytes, SELF, &sink);
    wire_come_taken(rts.request_id, OTHER); /* not whom it is for */
    assert_int_equal(gpu_env_refused(place), 1);
    wire_come_rts(&rts);
    gpu_env_finish(place);
    assert_int_equal(status.error, 0);
    gpu_env_assert_gpu(place->to, 0x33, bytes);
    taken = gpu_env_await(MGDS_ENVELOPE_TAKEN)->head.taken;
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.request_id[0], rts.request_id);
    wire_come_taken(taken.request_id[0], taken.rank);
    assert_int_equal(gpu_env_refused(place), 0);
    wire_come_taken(taken.request_id[0], taken.rank); /* it is gone */
    assert_int_equal(gpu_env_refused(place), 1);
    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_put(op);
    OK(cu.cuMemsetD8_v2(place->to, 0xee, LONG));
    OK(cu.cuStreamSynchronize(NULL));
}

static void true_envelopes_bring_their_messages(void **state)
{
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    for (int i = 0; i < 3; i++) {
        deliver_to_self(&place, SHORT);
        deliver_to_self(&place, LONG);
    }
    gpu_env_close(&place);
}

/* Not before the sender has said that it may be copied. */
static void what_was_asked_for_is_not_taken(void **state)
{
    struct mgds_pull pull = {.answer = 99, .bytes = SHORT, .rank = SELF};
    struct mgds_rts rts;
    struct mgds_op *op;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    op = gpu_env_send_to_self(&place, SHORT, &rts);
    pull.request_id = rts.request_id;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0), HEARD);
    wire_come_taken(rts.request_id, SELF);
    assert_int_equal(gpu_env_refused(&place), 1);
    gpu_env_finish(&place);
    assert_int_equal(gpu_env_await(MGDS_ENVELOPE_DATA)->body_bytes, 0);
    wire_come_taken(rts.request_id, SELF);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_put(op);
    gpu_env_close(&place);
}

/* What no send that is here says of itself is not read: the bytes are asked
 * for. */
static void own_memory_is_that_of_the_send(void **state)
{
    enum { COOKIE, ADDRESS, SIZE, NO_SERIAL, NO_WORD, NO_PLACE, LIES };

    (void)state;
    for (int lie = COOKIE; lie < LIES; lie++) {
        struct mgds_xfer xfer;
        struct mgds_pull pull;
        struct mgds_op *send, *recv = NULL;
        struct mgds_rts rts, said;
        struct gpu_env place;

        gpu_env_open(&place);
        send = gpu_env_send_to_self(&place, LONG, &rts);
        assert_true(rts.address != 0 && rts.export == 0);
        said = rts;
        said.request_id += lie == COOKIE;
        said.address = lie == ADDRESS ? place.to : rts.address;
        said.bytes -= lie == SIZE;
        said.serial = lie == NO_SERIAL ? 0 : rts.serial;
        said.done =
            (rts.done + (lie == NO_WORD ? DONES : 0u)) & MGDS_RTS_DONE_MOST;
        said.units = lie == NO_PLACE ? place.room : rts.units;
        xfer = gpu_env_xfer_of(&place, place.to, LONG, SELF);
        xfer.enqueued = false;
        assert_int_equal(mgds_op_recv(&recv, place.comm, &xfer), 0);
        wire_come_rts(&said);
        assert_int_equal(gpu_env_refused(&place),
                         lie == NO_PLACE || lie == NO_SERIAL);
        pull = wire_posted(MGDS_ENVELOPE_PULL)->head.pull;
        assert_true(pull.refused < 0);
        assert_true(pull.request_id == said.request_id &&
                    pull.bytes == said.bytes);
        assert_int_equal(wire_come_data(pull.answer, pull.bytes, SELF), 0);
        assert_int_equal(gpu_env_outcome(recv), 0);
        gpu_env_assert_gpu(place.to, 0x11, said.bytes);
        gpu_env_finish(&place);
        wire_come_taken(rts.request_id, SELF); /* so that it ends */
        mgds_op_put(send);
        gpu_env_close(&place);
    }
}

/* Memory. */

/* A blocking call of each kind; what it needed is given back if one fails. */
static int run_both(void *arg)
{
    struct gpu_env *place = (struct gpu_env *)arg;
    const struct mgds_xfer send =
        gpu_env_xfer_of(place, place->from, SHORT, SELF);
    const struct mgds_op_sink none = {.store = NULL};
    struct mgds_rts rts;
    int rc = mgds_op_run(place->comm, &send, true, &none);

    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        return rc;
    }
    gpu_env_finish(place);
    rts = gpu_env_await(MGDS_ENVELOPE_RTS)->head.rts;
    if (rts.serial) {
        wire_come_taken(rts.request_id, SELF);
    } else { /* there was no memory for a ring: that is no error */
        wire_come_pull(rts.request_id, SHORT, SELF);
        gpu_env_await(MGDS_ENVELOPE_DATA);
    }
    gpu_env_finish(place);
    return 0;
}

static void a_call_without_memory_leaves_no_place(void **state)
{
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, run_both, &place) > 0);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_in_the_ring_or_refused),
        cmocka_unit_test(another_host_has_no_place_in_the_ring),
        cmocka_unit_test(a_message_outside_the_ring_fails),
        cmocka_unit_test(data_for_a_message_in_the_ring_lands_nowhere),
        cmocka_unit_test(a_ring_stays_while_a_message_is_in_it),
        cmocka_unit_test(data_lands_once),
        cmocka_unit_test(true_envelopes_bring_their_messages),
        cmocka_unit_test(what_was_asked_for_is_not_taken),
        cmocka_unit_test(own_memory_is_that_of_the_send),
        cmocka_unit_test(a_call_without_memory_leaves_no_place),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
