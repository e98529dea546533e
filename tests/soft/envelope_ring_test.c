/* Envelopes that name places of a ring, or memory: against a domain that has a
 * ring in GPU memory, on a wire that goes nowhere. This process is SELF; what
 * the others say is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/stats.h"
#include "shim/gds/domain/domain.h"
#include "shim/gds/ring/ring.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/queue_place.h"
#include "tests/unit/fake_wire.h"

/* FAR is on another host. */
enum { SELF, OTHER, FAR, RANKS };
enum { ID = 77, TAG = 5, SHORT = 64, LONG = 1 << 19, DONES = 256 };
enum { HEARD = -ENOSYS, PATIENCE_S = 60 };

struct place {
    struct queue_stream stream;
    struct mgds_domain *domain;
    struct mgds_landing *landing;
    struct mgds_layout *layout; /* a byte */
    CUdeviceptr from, to;       /* LONG bytes each */
    uint32_t room;              /* units of a region for places */
    uint64_t refused;           /* before */
};

static void hear_all(struct place *place)
{
    struct mgds_ring_handle mine, none;

    assert_int_equal(mgds_landing_slot(1), sizeof(mine));
    memset(&none, 0, sizeof(none));
    mgds_landing_tell(place->landing, (char *)&mine);
    assert_true(mine.units > DONES);
    place->room = mine.units - DONES;
    mgds_landing_hear(place->landing, SELF, (char *)&mine);
    mgds_landing_hear(place->landing, OTHER, (char *)&none);
    mgds_landing_hear(place->landing, FAR, (char *)&none);
}

static void open_domain(struct place *place)
{
    struct mgds_member members[RANKS];
    struct mgds_domain_spec spec = {.id = ID,
                                    .rank = SELF,
                                    .size = RANKS,
                                    .streams = &place->stream.gstream,
                                    .stream_count = 1,
                                    .members = members};

    for (unsigned i = 0; i < RANKS; i++)
        members[i] = (struct mgds_member){.address = &wire_address[i],
                                          .address_bytes = 1,
                                          .process = i + 1,
                                          .streams = 1,
                                          .host = i == FAR ? 2 : 1};
    assert_int_equal(mgds_landing_create(&place->landing, &spec), 0);
    hear_all(place);
    spec.landing = place->landing;
    assert_int_equal(mgds_domain_create(&place->domain, &spec), 0);
}

static void open_place(struct place *place)
{
    memset(place, 0, sizeof(*place));
    queue_open(&place->stream, CU_STREAM_NON_BLOCKING);
    place->layout = stage_bytes_of(1);
    OK(cu.cuMemAlloc_v2(&place->from, LONG));
    OK(cu.cuMemAlloc_v2(&place->to, LONG));
    OK(cu.cuMemsetD8_v2(place->from, 0x33, LONG));
    OK(cu.cuMemsetD8_v2(place->to, 0xee, LONG));
    OK(cu.cuStreamSynchronize(NULL));
    open_domain(place);
    place->refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Until the stream is through, with what the engine does meanwhile. */
static void finish(struct place *place)
{
    time_t end = seconds() + PATIENCE_S;

    while (cu.cuStreamQuery(place->stream.native) != CUDA_SUCCESS) {
        assert_true(seconds() < end);
        mgds_op_progress();
        sched_yield();
    }
    mgds_op_progress();
}

static void close_place(struct place *place)
{
    finish(place);
    mgds_domain_put(place->domain);
    mgds_landing_put(place->landing);
    mgds_domains_fini();
    mgds_layout_put(place->layout);
    OK(cu.cuMemFree_v2(place->from));
    OK(cu.cuMemFree_v2(place->to));
    queue_close(&place->stream);
}

static unsigned refused(struct place *place)
{
    uint64_t now = mgds_stats_value(MGDS_STAT_envelopes_refused);
    unsigned since = (unsigned)(now - place->refused);

    place->refused = now;
    return since;
}

static void assert_gpu(CUdeviceptr gpu, unsigned char value, size_t bytes)
{
    unsigned char *got = (unsigned char *)malloc(LONG);

    assert_non_null(got);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, gpu, LONG));
    for (size_t i = 0; i < LONG; i++)
        assert_int_equal(got[i], i < bytes ? value : 0xee);
    free(got);
}

static struct mgds_xfer xfer_of(const struct place *place, CUdeviceptr at,
                                size_t bytes, int peer)
{
    return (struct mgds_xfer){.buffer =
                                  stage_buffer_at(at, place->layout, bytes),
                              .gpu = true,
                              .peer = peer,
                              .tag = TAG,
                              .enqueued = true};
}

static struct mgds_rts rts_of(uint32_t rank, uint64_t number, size_t bytes)
{
    return (struct mgds_rts){.domain = ID,
                             .number = number,
                             .cookie = 4711,
                             .bytes = bytes,
                             .tag = TAG,
                             .rank = rank,
                             .serial = 12345};
}

static void come_rts(const struct mgds_rts *rts)
{
    assert_int_equal(wire_come(MGDS_ENVELOPE_RTS, rts, sizeof(*rts), NULL, 0),
                     HEARD);
}

static void come_taken(uint64_t cookie, uint32_t rank)
{
    const struct mgds_taken taken = {
        .count = 1, .rank = rank, .cookie = {cookie}};

    assert_int_equal(wire_come(MGDS_ENVELOPE_TAKEN, &taken,
                               offsetof(struct mgds_taken, cookie[1]), NULL, 0),
                     HEARD);
}

/* What the wire was told. */
static int come_data(uint64_t answer, size_t bytes, uint32_t rank)
{
    const struct mgds_data data = {.answer = answer, .rank = rank};
    unsigned char *body = (unsigned char *)malloc(bytes);
    int rc;

    assert_non_null(body);
    memset(body, 0x11, bytes);
    rc = wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, bytes);
    free(body);
    return rc;
}

/* What is posted comes when the engine has got so far. */
static const struct wire_post *await(enum mgds_envelope kind)
{
    time_t end = seconds() + PATIENCE_S;

    while (wire_posts(kind) == 0) {
        assert_true(seconds() < end);
        mgds_op_progress();
        sched_yield();
    }
    return wire_posted(kind);
}

/* An enqueued send to this process itself, and what it tells its receiver. */
static struct mgds_op *send_to_self(struct place *place, size_t bytes,
                                    struct mgds_rts *rts)
{
    const struct mgds_xfer xfer = xfer_of(place, place->from, bytes, SELF);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_send(&op, place->domain, &xfer), 0);
    *rts = await(MGDS_ENVELOPE_RTS)->head.rts;
    assert_true(rts->serial != 0);
    return op;
}

/* Both at once, as a blocking receive is. */
static void recv_on_stream(struct place *place, size_t bytes, int peer,
                           const struct mgds_op_sink *sink)
{
    const struct mgds_xfer xfer = xfer_of(place, place->to, bytes, peer);

    assert_int_equal(mgds_op_run(place->domain, &xfer, false, sink), 0);
}

static void keep_status(void *arg, const struct mgds_op_status *status)
{
    *(struct mgds_op_status *)arg = *status;
}

/* Places. */

static void places_are_in_the_ring_or_refused(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
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
                      {8, room + DONES - 1, false},
                      {8, room + DONES, false},
                      {0, UINT32_MAX, false},
                      {8, UINT32_MAX, false},
                      {SIZE_MAX, UINT32_MAX - 1, false},
                      {SIZE_MAX, 0, false},
                      {SIZE_MAX - 7, 0, false},
                      {(size_t)UINT32_MAX * 8, 1, false},
                      {(size_t)8 << 32, 0, false}};

        for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            struct mgds_rts rts = rts_of(OTHER, i, places[i].bytes);

            rts.units = places[i].units;
            come_rts(&rts);
            assert_int_equal(refused(&place), !places[i].good);
        }
    }
    close_place(&place);
}

static void another_host_has_no_place_in_the_ring(void **state)
{
    const struct mgds_rts rts = rts_of(FAR, 0, SHORT);
    struct place place;

    (void)state;
    open_place(&place);
    come_rts(&rts);
    assert_int_equal(refused(&place), 1);
    close_place(&place);
}

static void a_message_outside_the_ring_comes_staged(void **state)
{
    struct mgds_op_status status = {.error = 1};
    const struct mgds_op_sink sink = {keep_status, &status};
    struct mgds_rts rts = rts_of(OTHER, 0, SHORT);
    struct place place;

    (void)state;
    open_place(&place);
    rts.units = place.room;
    recv_on_stream(&place, SHORT, OTHER, &sink);
    come_rts(&rts);
    assert_int_equal(refused(&place), 1);
    assert_int_equal(
        come_data(await(MGDS_ENVELOPE_PULL)->head.pull.answer, SHORT, OTHER),
        0);
    finish(&place);
    assert_int_equal(status.error, 0);
    assert_int_equal(status.bytes, SHORT);
    assert_gpu(place.to, 0x11, SHORT);
    assert_int_equal(refused(&place), 0);
    close_place(&place);
}

/* Until the host has it. */
static void await_recv(struct place *place, struct mgds_op *op)
{
    time_t end = seconds() + PATIENCE_S;

    while (mgds_op_test(op) == 0) {
        assert_true(seconds() < end);
        sched_yield();
    }
    mgds_op_put(op);
    assert_gpu(place->to, 0x11, SHORT);
}

/* Small cookies are all that there are. */
static void data_for_a_message_in_the_ring_lands_nowhere(void **state)
{
    enum { COOKIES = 64 };
    const struct mgds_rts rts = rts_of(OTHER, 0, SHORT);
    struct mgds_xfer xfer;
    struct mgds_op *op = NULL;
    struct place place;

    (void)state;
    open_place(&place);
    xfer = xfer_of(&place, place.to, SHORT, OTHER);
    assert_int_equal(mgds_op_recv(&op, place.domain, &xfer), 0);
    come_rts(&rts);
    for (uint64_t i = 0; i <= COOKIES; i++)
        assert_int_equal(come_data(i, SHORT, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), COOKIES + 1);
    assert_int_equal(mgds_op_test(op), 0); /* asks for it */
    assert_int_equal(
        come_data(await(MGDS_ENVELOPE_PULL)->head.pull.answer, SHORT, OTHER),
        0);
    await_recv(&place, op);
    assert_int_equal(refused(&place), 0);
    close_place(&place);
}

/* Though its stream has not come to it. */
static void data_lands_once(void **state)
{
    struct mgds_rts rts = rts_of(OTHER, 0, SHORT);
    struct mgds_xfer xfer;
    struct mgds_op *op = NULL;
    struct place place;
    uint64_t *gate, answer;

    (void)state;
    open_place(&place);
    OK(cu.cuMemHostAlloc((void **)&gate, sizeof(*gate), 0));
    *gate = 0;
    queue_hold(place.stream.native, gate);
    xfer = xfer_of(&place, place.to, SHORT, OTHER);
    assert_int_equal(mgds_op_recv(&op, place.domain, &xfer), 0);
    rts.serial = 0;
    come_rts(&rts);
    answer = await(MGDS_ENVELOPE_PULL)->head.pull.answer;
    assert_int_equal(come_data(answer, SHORT, OTHER), 0);
    assert_int_equal(refused(&place), 0);
    assert_int_equal(come_data(answer, SHORT, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 1);
    queue_write(gate, 1);
    await_recv(&place, op);
    assert_int_equal(come_data(answer, SHORT, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 1);
    finish(&place);
    OK(cu.cuMemFreeHost(gate));
    close_place(&place);
}

/* Messages to oneself: all that is true. */

static void deliver_to_self(struct place *place, size_t bytes)
{
    struct mgds_op_status status = {.error = 1};
    const struct mgds_op_sink sink = {keep_status, &status};
    struct mgds_taken taken;
    struct mgds_rts rts;
    struct mgds_op *op = send_to_self(place, bytes, &rts);

    recv_on_stream(place, bytes, SELF, &sink);
    come_taken(rts.cookie, OTHER); /* not whom it is for */
    assert_int_equal(refused(place), 1);
    come_rts(&rts);
    finish(place);
    assert_int_equal(status.error, 0);
    assert_gpu(place->to, 0x33, bytes);
    taken = await(MGDS_ENVELOPE_TAKEN)->head.taken;
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.cookie[0], rts.cookie);
    come_taken(taken.cookie[0], taken.rank);
    assert_int_equal(refused(place), 0);
    come_taken(taken.cookie[0], taken.rank); /* it is gone */
    assert_int_equal(refused(place), 1);
    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_put(op);
    OK(cu.cuMemsetD8_v2(place->to, 0xee, LONG));
    OK(cu.cuStreamSynchronize(NULL));
}

static void true_envelopes_bring_their_messages(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    for (int i = 0; i < 3; i++) {
        deliver_to_self(&place, SHORT);
        deliver_to_self(&place, LONG);
    }
    close_place(&place);
}

static void what_was_asked_for_is_not_taken(void **state)
{
    struct mgds_pull pull = {.answer = 99, .bytes = SHORT, .rank = SELF};
    struct mgds_rts rts;
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    op = send_to_self(&place, SHORT, &rts);
    pull.cookie = rts.cookie;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0), HEARD);
    come_taken(rts.cookie, SELF);
    assert_int_equal(refused(&place), 1);
    finish(&place);
    assert_int_equal(await(MGDS_ENVELOPE_DATA)->body_bytes, SHORT);
    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_put(op);
    close_place(&place);
}

/* What is not said of a send that is here brings nothing. */
static void own_memory_is_that_of_the_send(void **state)
{
    enum { COOKIE, ADDRESS, SIZE, NO_SERIAL, NO_WORD, NO_PLACE, LIES };

    (void)state;
    for (int lie = COOKIE; lie < LIES; lie++) {
        struct mgds_xfer xfer;
        struct mgds_op_status status;
        struct mgds_op *send, *recv = NULL;
        struct mgds_rts rts, said;
        struct place place;

        open_place(&place);
        send = send_to_self(&place, LONG, &rts);
        assert_true(rts.address != 0 && rts.export == 0);
        said = rts;
        said.cookie += lie == COOKIE;
        said.address = lie == ADDRESS ? place.to : rts.address;
        said.bytes -= lie == SIZE;
        said.serial = lie == NO_SERIAL ? 0 : rts.serial;
        said.done = lie == NO_WORD ? DONES : rts.done;
        said.units = lie == NO_PLACE ? place.room : rts.units;
        xfer = xfer_of(&place, place.to, LONG, SELF);
        xfer.enqueued = false;
        assert_int_equal(mgds_op_recv(&recv, place.domain, &xfer), 0);
        come_rts(&said);
        assert_int_equal(refused(&place), lie == NO_PLACE);
        assert_int_equal(mgds_op_test(recv), 1);
        mgds_op_status(recv, &status);
        assert_int_equal(status.error, -EIO);
        mgds_op_put(recv);
        assert_gpu(place.to, 0, 0);
        finish(&place);
        come_taken(rts.cookie, SELF); /* so that it ends */
        mgds_op_put(send);
        close_place(&place);
    }
}

/* Memory. */

/* A blocking call of each kind; what it needed is given back if one fails. */
static int run_both(void *arg)
{
    struct place *place = (struct place *)arg;
    const struct mgds_xfer send = xfer_of(place, place->from, SHORT, SELF);
    const struct mgds_op_sink none = {NULL, NULL};
    int rc = mgds_op_run(place->domain, &send, true, &none);

    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        return rc;
    }
    finish(place);
    come_taken(await(MGDS_ENVELOPE_RTS)->head.rts.cookie, SELF);
    finish(place);
    return 0;
}

static void a_call_without_memory_leaves_no_place(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, run_both, &place) > 0);
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_in_the_ring_or_refused),
        cmocka_unit_test(another_host_has_no_place_in_the_ring),
        cmocka_unit_test(a_message_outside_the_ring_comes_staged),
        cmocka_unit_test(data_for_a_message_in_the_ring_lands_nowhere),
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
