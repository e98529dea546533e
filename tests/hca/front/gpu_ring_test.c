/* A stream rings: the CPU has put WQEs into a queue of shim/gds/hca, and two
 * memory operations store record and doorbell, which are mapped for the GPU by
 * shim/gds/cuda. Data is in memory of the GPU, which goes as a dma-buf. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/gds/cuda/dmabuf.h"
#include "shim/gds/cuda/hostmap.h"
#include "shim/gds/cuda/memop.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/cuda/stream.h"
#include "sim/cuda/state.h"
#include "tests/hca/front/rail_side.h"

enum { GPU_BYTES = 1 << 16, OFFSET = 5000, BYTES = 3000, LAPS = 300 };

#define CU(call) assert_int_equal(call, CUDA_SUCCESS)

static struct place {
    struct rail_side a; /* its queue is rung */
    struct rail_side b; /* has registered the GPU's memory */
    struct mgds_context *ctx;
    void *stream;
    CUdeviceptr gpu; /* GPU_BYTES */
    struct mgds_region region;
    struct mgds_hostmap record, doorbell;
} place;

static void open_sides(void)
{
    uint8_t frame_a[MGDS_END_BYTES], frame_b[MGDS_END_BYTES];
    struct side_memory unused;

    side_open(&place.a, frame_a, &unused);
    side_open(&place.b, frame_b, &unused);
    side_connect(&place.a, frame_b);
    side_connect(&place.b, frame_a);
}

/* A part that begins anywhere in a page. */
static void register_memory(void)
{
    struct mgds_region_memory memory = {.address = place.gpu + OFFSET,
                                        .bytes = GPU_BYTES - OFFSET,
                                        .gpu = true,
                                        .offset = OFFSET};
    struct mgds_refusal refusal;

    assert_int_equal(mgds_dmabuf_export(&memory.dmabuf, place.ctx,
                                        (void *)(uintptr_t)place.gpu,
                                        GPU_BYTES),
                     0);
    assert_int_equal(
        mgds_region_init(&place.region, place.b.rail, &memory, &refusal), 0);
    assert_int_equal(place.region.way, MGDS_REGION_DMABUF);
    close(memory.dmabuf);
}

static void map_queue(void)
{
    struct mgds_sendq *queue = place.a.sendq;

    assert_int_equal(mgds_hostmap_init(&place.record, place.ctx, queue->record,
                                       sizeof(*queue->record), false),
                     0);
    assert_int_equal(mgds_hostmap_init(&place.doorbell, place.ctx,
                                       queue->doorbell,
                                       sizeof(*queue->doorbell), true),
                     0);
}

static int set_up(void **state)
{
    CUcontext ctx;

    (void)state;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&ctx, 0));
    CU(cuCtxSetCurrent(ctx));
    assert_true(mgds_presence_scan());
    CU(cuMemAlloc_v2(&place.gpu, GPU_BYTES));
    assert_int_equal(mgds_context_of_device(&place.ctx, 0), 0);
    assert_int_equal(mgds_memop_width(place.ctx), 64);
    assert_int_equal(mgds_stream_create(&place.stream, place.ctx), 0);
    open_sides();
    register_memory();
    map_queue();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mgds_hostmap_fini(&place.doorbell, place.ctx);
    mgds_hostmap_fini(&place.record, place.ctx);
    mgds_region_fini(&place.region);
    side_close(&place.a);
    side_close(&place.b);
    mgds_stream_destroy(place.stream, place.ctx);
    mgds_context_put(place.ctx);
    CU(cuMemFree_v2(place.gpu));
    CU(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

/* Puts a WRITE to the GPU's memory; nothing happens yet. */
static uint32_t put_write(void)
{
    const struct side_memory gpu = {place.gpu + OFFSET, place.region.rkey};

    return side_put(&place.a,
                    mgds_wqe_write(side_path(&place.a), MGDS_WQE_CE_ALWAYS,
                                   side_remote(gpu, 0),
                                   side_local(&place.a, 0, BYTES)));
}

static void ring_by_stream(void)
{
    struct mgds_sendq_bell lent = mgds_sendq_lend(place.a.sendq);
    const struct mgds_memop_bell bell = {.record = place.record.at,
                                         .doorbell = place.doorbell.at,
                                         .record_value = lent.record,
                                         .doorbell_value = lent.doorbell};

    assert_int_equal(mgds_context_enter(place.ctx), 0);
    assert_int_equal(mgds_memop_ring(place.stream, &bell), 0);
    mgds_context_leave();
}

static void a_stream_rings(void **state)
{
    static uint8_t copy[BYTES];

    (void)state;
    for (unsigned lap = 1; lap <= LAPS; lap++) {
        uint32_t index;

        memset(place.a.memory, (int)(lap & 0xff), BYTES);
        index = put_write();
        ring_by_stream();
        side_expect(&place.a, index);
        CU(cuMemcpyDtoH_v2(copy, place.gpu + OFFSET, BYTES));
        assert_memory_equal(copy, place.a.memory, BYTES);
    }
}

/* The WQE is there, and the stream has not come to the doorbell: it waits. */
static void nothing_goes_before_the_stream_is_there(void **state)
{
    static _Alignas(8) uint32_t gate;
    struct mgds_completion completion;
    CUdeviceptr seen;
    uint32_t index;

    (void)state;
    CU(cuMemHostRegister_v2(&gate, sizeof(gate), CU_MEMHOSTREGISTER_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&seen, &gate, 0));
    CU(cuStreamWaitValue32_v2(place.stream, seen, 1, CU_STREAM_WAIT_VALUE_GEQ));
    index = put_write();
    ring_by_stream();
    assert_int_equal(mgds_stream_query(place.stream), 0);
    assert_int_equal(mgds_sendq_poll(place.a.sendq, &completion), 0);
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    side_expect(&place.a, index);
    CU(cuStreamSynchronize(place.stream));
    CU(cuMemHostUnregister(&gate));
}

/* Two queues may have words in one page, which is registered once. */
static void a_page_may_be_mapped_twice(void **state)
{
    struct mgds_hostmap again;

    (void)state;
    assert_int_equal(mgds_hostmap_init(&again, place.ctx, place.a.sendq->record,
                                       sizeof(uint32_t), false),
                     0);
    assert_true(again.foreign);
    assert_int_equal(again.at, place.record.at);
    mgds_hostmap_fini(&again, place.ctx);
    put_write();
    ring_by_stream(); /* the first mapping holds */
    assert_int_equal(side_wait(&place.a).state, MGDS_CQE_DONE);
}

static void what_is_no_memory_is_refused(void **state)
{
    struct mgds_hostmap map;
    int fd;

    (void)state;
    assert_int_equal(mgds_hostmap_init(&map, place.ctx, (void *)4096, 8, false),
                     -EINVAL);
    assert_true(mgds_dmabuf_export(&fd, place.ctx, place.a.memory, 4096) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_rings),
        cmocka_unit_test(nothing_goes_before_the_stream_is_there),
        cmocka_unit_test(a_page_may_be_mapped_twice),
        cmocka_unit_test(what_is_no_memory_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
