/* Tests of what HCAs may do with memory of a GPU, and of what programs are told
 * about it. */
#include "tests/sim/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sim/cuda/hooks.h"

enum { BYTES = 10000, GRANULE = 2 << 20 };

static const void *pointer(CUdeviceptr at)
{
    return (const void *)(uintptr_t)at;
}

static int pin(CUdeviceptr at, size_t bytes, struct mgds_sim_memory *memory)
{
    return mgds_sim_pin(pointer(at), bytes, memory);
}

static void drop(struct mgds_sim_memory *memory)
{
    close(memory->fd);
    mgds_sim_unpin(memory->pin);
}

GPU_TEST(an_hca_finds_the_memory_behind_an_address)
{
    struct mgds_sim_memory memory;
    char path[64], name[128] = "";
    CUdeviceptr at;
    uint32_t word = 0;

    (void)arg;
    gpu_start();
    OK(cuMemAlloc_v2(&at, BYTES));
    OK(cuMemsetD32_v2(at + 8000, 0x12345678, 1));
    OK(cuCtxSynchronize());
    CLAIM(pin(at + 8000, 4, &memory) == 0);
    CLAIM(pread(memory.fd, &word, 4, (off_t)memory.offset) == 4);
    CLAIM(word == 0x12345678 && *memory.gone == 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory.fd);
    CLAIM(readlink(path, name, sizeof(name) - 1) > 0);
    CLAIM(strstr(name, "-0-100 ") != NULL); /* GPU 0, owner */
    drop(&memory);
}

GPU_TEST(an_hca_is_refused_what_is_not_one_buffer_of_a_gpu)
{
    struct mgds_sim_memory memory;
    CUdeviceptr at, pool;
    void *host;
    uint32_t word = 0;
    int capable = 1;

    (void)arg;
    CLAIM(mgds_sim_pin(&word, 4, &memory) == -ENOENT); /* before cuInit */
    gpu_start();
    OK(cuMemAlloc_v2(&at, BYTES));
    CLAIM(pin(at + 8000, BYTES - 8000 + 1, &memory) == -EFAULT);
    CLAIM(pin(at + 12288, 1, &memory) == -EFAULT); /* the page behind it */
    CLAIM(pin(at, 0, &memory) == -EFAULT);
    CLAIM(mgds_sim_pin(&word, 4, &memory) == -ENOENT);
    OK(cuMemHostAlloc(&host, 4096, 0));
    CLAIM(mgds_sim_pin(host, 4096, &memory) == -ENOENT);
    OK(cuMemAllocAsync(&pool, BYTES, NULL));
    CLAIM(pin(pool, BYTES, &memory) == -EFAULT);
    OK(cuPointerGetAttribute(
        &capable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, pool));
    CLAIM(!capable);
    OK(cuMemFree_v2(at));
    CLAIM(pin(at, BYTES, &memory) == -EFAULT);
}

static CUdeviceptr map(bool capable)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
        .allocFlags = {.gpuDirectRDMACapable = capable},
    };
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    OK(cuMemCreate(&handle, GRANULE, &prop, 0));
    OK(cuMemAddressReserve(&at, GRANULE, 0, 0, 0));
    OK(cuMemMap(at, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(at, GRANULE, &access, 1));
    OK(cuMemRelease(handle));
    return at;
}

GPU_TEST(mapped_memory_must_have_been_made_for_it)
{
    struct mgds_sim_memory memory;
    CUdeviceptr plain, capable;
    int fd;

    (void)arg;
    gpu_start();
    plain = map(false);
    capable = map(true);
    CLAIM(pin(plain, GRANULE, &memory) == -EFAULT);
    CLAIM(pin(capable, GRANULE, &memory) == 0);
    OK(cuMemUnmap(capable, GRANULE));
    CLAIM(*memory.gone != 0);
    drop(&memory);
    OK(cuMemGetHandleForAddressRange(&fd, plain, GRANULE,
                                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    close(fd);
}

/* The HCA's mapping, and that of a dma-buf, keep the memory that is freed. */
GPU_TEST(freed_memory_stays_with_whom_has_it)
{
    struct mgds_sim_memory memory;
    CUdeviceptr pinned, exported;
    struct stat about;
    uint8_t *seen;
    int fd;

    (void)arg;
    gpu_start();
    OK(cuMemAlloc_v2(&pinned, BYTES));
    OK(cuMemAlloc_v2(&exported, BYTES));
    OK(cuMemsetD8_v2(pinned, 7, BYTES));
    OK(cuCtxSynchronize());
    CLAIM(pin(pinned, BYTES, &memory) == 0);
    seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, memory.fd, 0);
    CLAIM(seen != MAP_FAILED);
    OK(cuMemGetHandleForAddressRange(&fd, exported, 8192,
                                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    OK(cuMemFree_v2(pinned));
    OK(cuMemFree_v2(exported));
    CLAIM(*memory.gone != 0);
    CLAIM(seen[0] == 7 && seen[BYTES - 1] == 7);
    CLAIM(fstat(fd, &about) == 0 && about.st_size >= 8192);
    drop(&memory);
}

static unsigned flushes, flushed;

static void count_flush(unsigned gpu)
{
    flushes++;
    flushed = gpu;
}

static int attribute(CUdevice_attribute name)
{
    int value = -1;

    OK(cuDeviceGetAttribute(&value, name, 0));
    return value;
}

struct told {
    const char *setting;
    int ordering;
    int options;
};

/* Attributes say what the setting does, and memory operations flush where they
 * say so. */
static void ordering_is_told(void *arg)
{
    const struct told *told = arg;
    CUstreamBatchMemOpParams op = {.operation =
                                       CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES};
    bool memops = told->options & 2;
    CUresult want = memops ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    CUdeviceptr word;

    setenv("MPIX_SIM_GPU_RDMA_ORDERING", told->setting, 1);
    setenv("MPIX_SIM_GPUS", "2", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    gpu_start();
    mgds_sim_on_flush(count_flush);
    CLAIM(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) ==
          told->ordering);
    CLAIM(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) ==
          told->options);
    CLAIM(attribute(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) == memops);
    CLAIM(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) == 1);
    CLAIM(attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 1);
    OK(cuFlushGPUDirectRDMAWrites(0, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER));
    CLAIM(flushes == 1 && flushed == 1);
    EXPECT_RC(CUDA_ERROR_INVALID_VALUE, cuFlushGPUDirectRDMAWrites(0, 7));
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuMemsetD32_v2(word, 3, 1));
    EXPECT_RC(want, cuStreamWaitValue32_v2(NULL, word, 3,
                                           CU_STREAM_WAIT_VALUE_EQ |
                                               CU_STREAM_WAIT_VALUE_FLUSH));
    OK(cuCtxSynchronize());
    CLAIM(flushes == (memops ? 2 : 1));
    EXPECT_RC(want, cuStreamBatchMemOp_v2(NULL, 1, &op, 0));
    OK(cuCtxSynchronize());
    CLAIM(flushes == (memops ? 3 : 1));
}

static void each_ordering_is_told(void **state)
{
    static const struct told all[] = {
        {"none", 0, 3}, {"owner", 100, 1}, {"all", 200, 1}};
    static struct mgds_child child;

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        gpu_test(&child, ordering_is_told, (void *)(uintptr_t)&all[i]);
}

/* NVSHMEM and DOCA register a UAR page so: it is I/O memory, and nothing else
 * is. */
GPU_TEST(pages_of_an_hca_are_registered_as_io_memory)
{
    int fd = memfd_create(MGDS_SIM_BAR_NAME, 0);
    CUdeviceptr seen;
    uint64_t *page;

    (void)arg;
    gpu_start();
    CLAIM(ftruncate(fd, 8192) == 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    CLAIM(page != MAP_FAILED);
    EXPECT_RC(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(page, 4096, 0));
    EXPECT_RC(
        CUDA_ERROR_INVALID_VALUE,
        cuMemHostRegister_v2(page, 8192 + 4096, CU_MEMHOSTREGISTER_IOMEMORY));
    OK(cuMemHostRegister_v2(page, 4096,
                            CU_MEMHOSTREGISTER_IOMEMORY |
                                CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&seen, page, 0));
    OK(cuStreamWriteValue64_v2(NULL, seen + 0x800, 0x1122334455667788, 0));
    OK(cuCtxSynchronize());
    CLAIM(page[0x800 / 8] == 0x1122334455667788);
    OK(cuMemHostUnregister(page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hca_finds_the_memory_behind_an_address),
        cmocka_unit_test(an_hca_is_refused_what_is_not_one_buffer_of_a_gpu),
        cmocka_unit_test(mapped_memory_must_have_been_made_for_it),
        cmocka_unit_test(freed_memory_stays_with_whom_has_it),
        cmocka_unit_test(each_ordering_is_told),
        cmocka_unit_test(pages_of_an_hca_are_registered_as_io_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
