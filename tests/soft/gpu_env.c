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
#include "shim/gds/proto/ring.h"

static void hear_all(struct gpu_env *place)
{
    struct mgds_ring_handle mine, none;

    assert_int_equal(mgds_channels_description(1), sizeof(mine));
    memset(&none, 0, sizeof(none));
    mgds_channels_describe(place->channels, (char *)&mine);
    assert_true(mine.units > DONES);
    place->room = mine.units - DONES;
    mgds_channels_connect(place->channels, SELF, (char *)&mine);
    mgds_channels_connect(place->channels, OTHER, (char *)&none);
    mgds_channels_connect(place->channels, FAR, (char *)&none);
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
    mgds_comms_fini();
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
