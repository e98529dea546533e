/* The communicator, operations and envelopes of gpu_env.h. */
#include "tests/soft/gpu_env.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/transport/own_rings.h"

static uint32_t ring_of_other; /* its number */

static void hear_all(struct gpu_env *place)
{
    size_t bytes = mgds_channels_description(1);
    char *mine = (char *)calloc(1, bytes), *none = (char *)calloc(1, bytes);

    assert_true(mine && none);
    mgds_channels_describe(place->channels, mine);
    mgds_channels_connect(place->channels, SELF, mine);
    mgds_channels_connect(place->channels, OTHER, none);
    mgds_channels_connect(place->channels, FAR, none);
    mgds_channels_settle(place->channels);
    free(mine);
    free(none);
}

/* OTHER has asked for a ring here, though nothing is sent to it by one. */
static void make_ring(struct gpu_env *place)
{
    enum { THERE = 77 };
    struct mgds_context *ctx = mgds_gstream_context(place->stream.gstream);
    struct mgds_ring_asked asked = {
        .ends = {THERE, ctx->id}, .token = 1, .units = MGDS_RING_FIRST};
    struct mgds_wire_peer *peer;
    const struct mgds_ring_told *told;

    assert_int_equal(mgds_wire_peer_get(&peer, &wire_address[OTHER], 1), 0);
    mgds_engine_enter();
    place->pair = mgds_ring_pair_open(ctx, peer, THERE, false);
    mgds_engine_leave();
    assert_non_null(place->pair);
    wire_author = OTHER + 1;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_RING_ASKED, &asked, sizeof(asked), NULL, 0),
        HEARD);
    wire_author = 0;
    told = &gpu_env_await(MGDS_ENVELOPE_RING_TOLD)->head.ring_told;
    assert_int_equal(told->error, 0);
    assert_true(told->token == 1 && told->handle.units == MGDS_RING_FIRST);
    ring_of_other = told->number;
    place->room = told->handle.units;
}

static void open_comm(struct gpu_env *place)
{
    struct mgds_member members[RANKS];
    struct mgds_comm_spec spec = {.id = ID,
                                  .rank = SELF,
                                  .size = RANKS,
                                  .streams = &place->stream.gstream,
                                  .stream_count = 1,
                                  .members = members};
    const void *address;
    size_t bytes;

    assert_int_equal(mgds_comms_open(false, &address, &bytes), 0);
    for (unsigned i = 0; i < RANKS; i++)
        members[i] = (struct mgds_member){.address = &wire_address[i],
                                          .address_bytes = 1,
                                          .process = i + 1,
                                          .streams = 1,
                                          .host = i == FAR ? 2 : 1};
    assert_int_equal(mgds_channels_create(&place->channels, &spec), 0);
    hear_all(place);
    spec.channels = place->channels;
    assert_int_equal(mgds_comm_create(&place->comm, &spec), 0);
}

void gpu_env_open(struct gpu_env *place)
{
    memset(place, 0, sizeof(*place));
    queue_open(&place->stream, CU_STREAM_NON_BLOCKING);
    place->layout = stage_bytes_of(1);
    OK(cu.cuMemAlloc_v2(&place->from, LONG));
    OK(cu.cuMemAlloc_v2(&place->to, LONG));
    OK(cu.cuMemsetD8_v2(place->from, 0x33, LONG));
    OK(cu.cuMemsetD8_v2(place->to, 0xee, LONG));
    OK(cu.cuStreamSynchronize(NULL));
    open_comm(place);
    make_ring(place);
    place->refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
}

time_t gpu_env_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

void gpu_env_finish(struct gpu_env *place)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;

    while (cu.cuStreamQuery(place->stream.native) != CUDA_SUCCESS) {
        assert_true(gpu_env_seconds() < end);
        mgds_op_progress();
        sched_yield();
    }
    mgds_op_progress();
}

int gpu_env_outcome(struct mgds_op *op)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct mgds_op_status status;

    while (mgds_op_test(op) == 0) {
        assert_true(gpu_env_seconds() < end);
        sched_yield();
    }
    mgds_op_status(op, &status);
    mgds_op_put(op);
    return status.error;
}

uint64_t *gpu_env_hold(struct gpu_env *place)
{
    uint64_t *gate;

    assert_int_equal(
        mgds_syncwords_take(&gate, mgds_gstream_words(place->stream.gstream)),
        0);
    queue_hold(place->stream.native, gate);
    return gate;
}

void gpu_env_let_go(struct gpu_env *place, uint64_t *gate)
{
    queue_write(gate, 1);
    gpu_env_finish(place);
    mgds_syncwords_give(mgds_gstream_words(place->stream.gstream), gate);
}

/* What the stream has passed is asked for, where nothing tells of it. */
static void drain(struct gpu_env *place)
{
    const struct mgds_drain_rule rule = {.call = "gpu_env_close",
                                         .timeout = PATIENCE_S};
    unsigned left = 0;

    assert_int_equal(mgds_comm_drain(place->comm, &rule, &left), 0);
}

void gpu_env_close(struct gpu_env *place)
{
    gpu_env_finish(place);
    drain(place);
    mgds_comm_put(place->comm);
    mgds_channels_put(place->channels);
    mgds_engine_enter();
    mgds_ring_pair_put(place->pair);
    mgds_engine_leave();
    mgds_comms_fini();
    mgds_comms_gone();
    mgds_defer_drain();
    mgds_layout_put(place->layout);
    OK(cu.cuMemFree_v2(place->from));
    OK(cu.cuMemFree_v2(place->to));
    queue_close(&place->stream);
}

unsigned gpu_env_refused(struct gpu_env *place)
{
    uint64_t now = mgds_stats_value(MGDS_STAT_envelopes_refused);
    unsigned since = (unsigned)(now - place->refused);

    place->refused = now;
    return since;
}

void gpu_env_assert_gpu(CUdeviceptr gpu, unsigned char value, size_t bytes)
{
    unsigned char *got = (unsigned char *)malloc(LONG);

    assert_non_null(got);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, gpu, LONG));
    for (size_t i = 0; i < LONG; i++)
        assert_int_equal(got[i], i < bytes ? value : 0xee);
    free(got);
}

struct mgds_xfer gpu_env_xfer_of(const struct gpu_env *place, CUdeviceptr at,
                                 size_t bytes, int peer)
{
    return (struct mgds_xfer){.buffer =
                                  stage_buffer_at(at, place->layout, bytes),
                              .gpu = true,
                              .peer = peer,
                              .tag = TAG,
                              .enqueued = true};
}

struct mgds_rts gpu_env_rts_of(uint32_t rank, uint64_t number, size_t bytes)
{
    return (struct mgds_rts){.comm = ID,
                             .number = number,
                             .request_id = 4711,
                             .bytes = bytes,
                             .tag = TAG,
                             .rank = rank,
                             .ring = ring_of_other,
                             .protocol = MGDS_PROTOCOL_EAGER,
                             .serial = 12345};
}

const struct wire_post *gpu_env_await(enum mgds_envelope kind)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;

    while (wire_posts(kind) == 0) {
        assert_true(gpu_env_seconds() < end);
        mgds_op_progress();
        sched_yield();
    }
    return wire_posted(kind);
}

struct mgds_op *gpu_env_send_to_self(struct gpu_env *place, size_t bytes,
                                     struct mgds_rts *rts)
{
    const struct mgds_xfer xfer =
        gpu_env_xfer_of(place, place->from, bytes, SELF);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_send(&op, place->comm, &xfer), 0);
    *rts = gpu_env_await(MGDS_ENVELOPE_RTS)->head.rts;
    assert_true(rts->serial != 0);
    return op;
}

void gpu_env_recv_on_stream(struct gpu_env *place, size_t bytes, int peer,
                            const struct mgds_op_sink *sink)
{
    const struct mgds_xfer xfer =
        gpu_env_xfer_of(place, place->to, bytes, peer);

    assert_int_equal(mgds_op_run(place->comm, &xfer, false, sink), 0);
}

void gpu_env_keep_status(void *arg, const struct mgds_op_status *status)
{
    *(struct mgds_op_status *)arg = *status;
}

void gpu_env_come_staged(uint32_t rank)
{
    struct mgds_rts rts = gpu_env_rts_of(rank, 0, SHORT);

    rts.protocol = MGDS_PROTOCOL_FRAGMENTS;
    wire_come_rts(&rts);
    assert_int_equal(
        wire_come_data(gpu_env_await(MGDS_ENVELOPE_PULL)->head.pull.answer,
                       SHORT, rank),
        0);
}
