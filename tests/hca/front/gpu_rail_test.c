/* Memory of the software GPU in regions of shim/gds/hca: as a dma-buf, by its
 * address, or refused; a queue of ours writes to it and reads it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sim/cuda/state.h"
#include "tests/hca/front/rail_side.h"

enum { BYTES = 5000, GPU_BYTES = 1 << 16, OFFSET = 4096, BACK = 8192 };

#define CU(call) assert_int_equal(call, CUDA_SUCCESS)

struct place {
    struct rail_side side;  /* posts */
    struct rail_side other; /* has registered the GPU's memory */
    CUdeviceptr gpu;        /* GPU_BYTES, all 0 */
};

static void open_place(struct place *place)
{
    uint8_t frame[MGDS_END_BYTES], there[MGDS_END_BYTES];
    struct side_memory unused;
    CUcontext ctx;

    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&ctx, 0));
    CU(cuCtxSetCurrent(ctx));
    CU(cuMemAlloc_v2(&place->gpu, GPU_BYTES));
    CU(cuMemsetD8_v2(place->gpu, 0, GPU_BYTES));
    CU(cuCtxSynchronize());
    side_open(&place->side, frame, &unused);
    side_open(&place->other, there, &unused);
    side_connect(&place->side, there);
    side_connect(&place->other, frame);
}

static void close_place(struct place *place)
{
    side_close(&place->side);
    side_close(&place->other);
    CU(cuMemFree_v2(place->gpu));
    CU(cuDevicePrimaryCtxRelease_v2(0));
}

static void post(struct place *place, struct mgds_wqe wqe)
{
    uint32_t index = side_put(&place->side, wqe);

    mgds_sendq_ring(place->side.sendq);
    side_expect(&place->side, index);
}

/* To the GPU, as a copy of the driver finds it, and back. */
static void exercise(struct place *place, const struct mgds_region *region)
{
    const struct side_memory gpu = {place->gpu + OFFSET, region->rkey};
    uint8_t *memory = place->side.memory;
    static uint8_t copy[BYTES];

    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (uint8_t)(i * 3 + 1);
    post(place, mgds_wqe_write(side_path(&place->side), MGDS_WQE_CE_ALWAYS,
                               side_remote(gpu, 100),
                               side_local(&place->side, 0, BYTES)));
    CU(cuMemcpyDtoH_v2(copy, place->gpu + OFFSET + 100, BYTES));
    assert_memory_equal(copy, memory, BYTES);
    post(place, mgds_wqe_read(side_path(&place->side), MGDS_WQE_CE_ALWAYS,
                              side_remote(gpu, 100),
                              side_local(&place->side, BACK, BYTES)));
    assert_memory_equal(memory + BACK, memory, BYTES);
}

static struct mgds_region_memory part_of(const struct place *place)
{
    return (struct mgds_region_memory){.address = place->gpu + OFFSET,
                                       .bytes = GPU_BYTES - OFFSET,
                                       .gpu = true,
                                       .dmabuf = -1};
}

/* Registers the memory with the rail of the other side, which must succeed. */
static void open_region(struct mgds_region *region, const struct place *place,
                        const struct mgds_region_memory *memory)
{
    struct mgds_refusal refusal;

    assert_int_equal(
        mgds_region_init(region, place->other.rail, memory, &refusal), 0);
}

/* Messages go there and back, and all is given back. */
static void exercise_and_close(struct place *place, struct mgds_region *region)
{
    exercise(place, region);
    mgds_region_fini(region);
    close_place(place);
}

static void by_address(void **state)
{
    struct mgds_region_memory memory;
    struct mgds_region region;
    struct place place;

    (void)state;
    open_place(&place);
    memory = part_of(&place);
    open_region(&region, &place, &memory);
    assert_int_equal(region.way, MGDS_REGION_PEERMEM);
    exercise_and_close(&place, &region);
}

/* The second page of a buffer: an offset in it, and in the region none. */
static void as_a_dmabuf(void **state)
{
    struct mgds_region_memory memory;
    struct mgds_region region;
    struct place place;

    (void)state;
    open_place(&place);
    memory = part_of(&place);
    memory.offset = OFFSET;
    CU(cuMemGetHandleForAddressRange(&memory.dmabuf, place.gpu, GPU_BYTES,
                                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    open_region(&region, &place, &memory);
    close(memory.dmabuf);
    assert_int_equal(region.way, MGDS_REGION_DMABUF);
    exercise_and_close(&place, &region);
}

/* What is no dma-buf: by address then, and why. */
static void by_address_if_it_is_no_dmabuf(void **state)
{
    struct mgds_region_memory memory;
    struct mgds_region region;
    struct place place;

    (void)state;
    open_place(&place);
    memory = part_of(&place);
    memory.dmabuf = 10000; /* no descriptor */
    open_region(&region, &place, &memory);
    assert_int_equal(region.way, MGDS_REGION_PEERMEM);
    assert_int_equal(region.passed.reason, MGDS_REFUSAL_DMABUF);
    assert_int_equal(region.passed.error, EBADF);
    exercise_and_close(&place, &region);
}

static void memory_that_is_gone_is_refused(void **state)
{
    struct mgds_region_memory memory;
    struct mgds_refusal refusal;
    struct mgds_region region;
    struct place place;

    (void)state;
    open_place(&place);
    memory = part_of(&place);
    memory.bytes += GPU_BYTES; /* beyond the end */
    assert_int_equal(
        mgds_region_init(&region, place.other.rail, &memory, &refusal),
        -EFAULT);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_PEERMEM);
    close_place(&place);
}

/* Freed under its region: an error of the operation alone. */
static void memory_that_is_freed_is_an_error(void **state)
{
    struct mgds_region_memory memory;
    struct mgds_completion completion;
    struct mgds_region region;
    struct place place;

    (void)state;
    open_place(&place);
    memory = part_of(&place);
    open_region(&region, &place, &memory);
    CU(cuMemFree_v2(place.gpu));
    side_put(&place.side, mgds_wqe_write(side_path(&place.side), 0,
                                         (struct mgds_wqe_remote){
                                             memory.address, region.rkey},
                                         side_local(&place.side, 0, BYTES)));
    mgds_sendq_ring(place.side.sendq);
    completion = side_wait(&place.side);
    assert_int_equal(completion.state, MGDS_CQE_FAILED);
    assert_int_equal(completion.syndrome, MGDS_SYNDROME_REMOTE_ACCESS);
    mgds_region_fini(&region);
    CU(cuMemAlloc_v2(&place.gpu, GPU_BYTES));
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_address),
        cmocka_unit_test(as_a_dmabuf),
        cmocka_unit_test(by_address_if_it_is_no_dmabuf),
        cmocka_unit_test(memory_that_is_gone_is_refused),
        cmocka_unit_test(memory_that_is_freed_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
