/* Tests that use everything again and again: nothing is kept that was given
 * back. */
#include "tests/sim/gpu.h"

#include <dirent.h>
#include <malloc.h>

#include "device/abi.h"
#include "device/kernels.h"

#define WARM 20
#define ROUNDS 600

static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    CLAIM(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void use_memory(CUstream stream)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {prop.location,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    const size_t size = 2 << 20;
    CUdeviceptr at, pooled, mapped;
    void *host;

    OK(cuMemAlloc_v2(&at, 5000));
    OK(cuMemHostAlloc(&host, 5000, 0));
    OK(cuMemAllocAsync(&pooled, 5000, stream));
    OK(cuMemcpyAsync(pooled, (uintptr_t)host, 5000, stream));
    OK(cuMemcpyAsync(at, pooled, 5000, stream));
    OK(cuMemFreeAsync(pooled, stream));
    OK(cuMemCreate(&handle, size, &prop, 0));
    OK(cuMemAddressReserve(&mapped, size, 0, 0, 0));
    OK(cuMemMap(mapped, size, 0, handle, 0));
    OK(cuMemRelease(handle));
    OK(cuMemSetAccess(mapped, size, &access, 1));
    OK(cuMemsetD8Async(mapped, 1, size, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(mapped, size));
    OK(cuMemAddressFree(mapped, size));
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(at));
}

static void use_events(CUstream stream)
{
    CUevent event, shared;
    CUstream other;
    unsigned flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&shared, flags));
    OK(cuEventRecord(event, stream));
    OK(cuEventRecord(shared, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    OK(cuStreamWaitEvent(other, shared, 0));
    OK(cuLaunchHostFunc(other, nothing, NULL));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamSynchronize(other));
    OK(cuEventDestroy_v2(shared));
    OK(cuStreamDestroy_v2(other));
}

static void use_graphs(CUstream stream, CUdeviceptr at)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph graph, outer;
    CUgraphNode child;
    CUgraphExec exec;
    CUuserObject object;

    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuMemsetD32Async(at, 1, 16, stream));
    OK(cuStreamWriteValue32_v2(stream, at, 5, 0));
    OK(cuLaunchHostFunc(stream, nothing, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuUserObjectCreate(&object, NULL, nothing, 1,
                          CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
    OK(cuGraphInstantiateWithFlags(&exec, outer, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecUpdate_v2(exec, outer, &info));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
    OK(cuGraphDestroy(graph));
    OK(cuStreamSynchronize(stream));
}

static void use_kernels(CUstream stream, CUdeviceptr at)
{
    struct mgds_copy_args args = {.src = at, .dst = at + 4096, .bytes = 1000};
    void *params[] = {&args};
    CUfunction copy;
    CUmodule module;

    OK(cuModuleLoadData(&module, mgds_kernel_image));
    OK(cuModuleGetFunction(&copy, module, "mgds_copy_kernel"));
    OK(cuLaunchKernel(copy, 3, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuModuleUnload(module));
}

static void round_of_all(CUdeviceptr at)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    use_memory(stream);
    use_events(stream);
    use_graphs(stream, at);
    use_kernels(stream, at);
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxSynchronize());
}

/* The C library's threads keep some pieces for themselves, up to about 10 KiB
 * in all; a piece a round would be more. */
GPU_TEST(what_is_given_back_is_not_kept)
{
    CUdeviceptr at;
    size_t used, room, room_later, total;
    unsigned open;

    (void)arg;
    gpu_start();
    OK(cuMemAlloc_v2(&at, 8192));
    OK(cuMemGetInfo_v2(&room, &total));
    for (int i = 0; i < WARM; i++)
        round_of_all(at);
    open = descriptors();
    used = mallinfo2().uordblks;
    for (int i = 0; i < ROUNDS; i++)
        round_of_all(at);
    OK(cuMemGetInfo_v2(&room_later, &total));
    CLAIM(room_later == room);
    CLAIM(descriptors() == open);
    CLAIM(mallinfo2().uordblks < used + (size_t)ROUNDS * 48);
}

/* Contexts of one's own take what is in them along. */
GPU_TEST(destroyed_context_takes_its_memory_along)
{
    CUdeviceptr at;
    size_t room, room_later, total;
    CUstream stream;
    CUcontext ctx;
    void *host;

    (void)arg;
    gpu_start();
    OK(cuMemGetInfo_v2(&room, &total));
    for (int i = 0; i < 50; i++) {
        OK(cuCtxCreate_v2(&ctx, 0, 0));
        OK(cuMemAlloc_v2(&at, 1 << 20));
        OK(cuMemHostAlloc(&host, 1 << 20, 0));
        OK(cuStreamCreate(&stream, 0));
        OK(cuMemcpyAsync(at, (uintptr_t)host, 1 << 20, stream));
        OK(cuCtxDestroy_v2(ctx));
        EXPECT_RC(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
        EXPECT_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(at));
    }
    OK(cuMemGetInfo_v2(&room_later, &total));
    CLAIM(room_later == room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_is_not_kept),
        cmocka_unit_test(destroyed_context_takes_its_memory_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
