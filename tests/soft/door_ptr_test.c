/* The door on the software GPU: what each kind of memory is taken for, what
 * becomes of it when it is freed, and that the door starts nothing. Two
 * devices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ptr.h"
#include "tests/lib/capture.h"
#include "tests/soft/soft_cuda.h"

#define KIB ((size_t)1024)
#define CHUNK ((size_t)2 << 20)

static CUcontext primary[2];

/* Another process with GPU memory, for what is imported from it. */
static int other = -1;

static struct mgds_ptr look(CUdeviceptr addr, size_t bytes)
{
    struct mgds_ptr ptr;

    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)addr, bytes), 0);
    return ptr;
}

static int error_of(CUdeviceptr addr, size_t bytes)
{
    struct mgds_ptr ptr;

    return mgds_ptr_find(&ptr, (void *)(uintptr_t)addr, bytes);
}

static void *new_map(void)
{
    void *map = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != MAP_FAILED);
    return map;
}

/* First of all: nobody has called cuInit. */
static void door_waits_for_the_program_to_start_cuda(void **state)
{
    void *map = new_map();
    CUcontext ctx;
    char *text;

    (void)state;
    assert_non_null(mgds_driver());
    assert_int_equal(look((uintptr_t)map, KIB).kind, MGDS_PTR_HOST);
    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(mgds_driver_require(), -ENODEV);
    text = mgds_capture_stop();
    assert_non_null(strstr(text, "not initialised"));
    free(text);
    assert_int_equal(cu.cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED);
    munmap(map, CHUNK);
}

static void program_starts_cuda(void **state)
{
    (void)state;
    OK(cu.cuInit(0));
    assert_int_equal(mgds_driver_require(), 0);
    for (int i = 0; i < 2; i++)
        OK(cu.cuDevicePrimaryCtxRetain(&primary[i], i));
    OK(cu.cuCtxSetCurrent(primary[0]));
}

static void assert_is(struct mgds_ptr ptr, enum mgds_ptr_kind kind, int device,
                      CUdeviceptr base)
{
    assert_int_equal(ptr.kind, kind);
    assert_int_equal(ptr.device, device);
    assert_int_equal(ptr.base, base);
    assert_true(ptr.size >= KIB);
}

static void device_memory_is_told_with_its_device_and_context(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        CUdeviceptr at;
        struct mgds_ptr ptr;

        OK(cu.cuCtxSetCurrent(primary[i]));
        OK(cu.cuMemAlloc_v2(&at, KIB));
        OK(cu.cuCtxSetCurrent(primary[!i]));
        assert_false(mgds_ptr_is_plain((void *)(uintptr_t)at));
        ptr = look(at + 100, KIB - 100);
        assert_is(ptr, MGDS_PTR_DEVICE, i, at);
        assert_ptr_equal(ptr.ctx, primary[i]);
        assert_true(ptr.ctx_id != 0 && ptr.id != 0);
        assert_true(mgds_ptr_is_gpu(&ptr));
        assert_int_equal(error_of(at, ptr.size + 1), -EFAULT);
        OK(cu.cuMemFree_v2(at));
    }
    OK(cu.cuCtxSetCurrent(primary[0]));
}

static void pool_memory_belongs_to_no_context(void **state)
{
    CUdeviceptr at;
    struct mgds_ptr ptr;

    (void)state;
    OK(cu.cuMemAllocAsync(&at, KIB, NULL));
    assert_false(mgds_ptr_is_plain((void *)(uintptr_t)at));
    ptr = look(at + 8, 8);
    assert_is(ptr, MGDS_PTR_POOL, 0, at);
    assert_null(ptr.ctx);
    OK(cu.cuMemFreeAsync(at, NULL));
    OK(cu.cuStreamSynchronize(NULL));
}

static void managed_memory_is_no_gpu_only_memory(void **state)
{
    CUdeviceptr at;
    struct mgds_ptr ptr;

    (void)state;
    OK(cu.cuMemAllocManaged(&at, KIB, CU_MEM_ATTACH_GLOBAL));
    assert_false(mgds_ptr_is_plain((void *)(uintptr_t)at));
    ptr = look(at, KIB);
    assert_is(ptr, MGDS_PTR_MANAGED, 0, at);
    assert_false(mgds_ptr_is_gpu(&ptr));
    OK(cu.cuMemFree_v2(at));
}

static void pinned_memory_is_told_while_it_is(void **state)
{
    void *map = new_map(), *host;

    (void)state;
    OK(cu.cuMemHostAlloc(&host, KIB, CU_MEMHOSTALLOC_PORTABLE));
    assert_int_equal(look((uintptr_t)host, KIB).kind, MGDS_PTR_PINNED);
    assert_true(mgds_ptr_is_plain(host));
    OK(cu.cuMemFreeHost(host));
    assert_int_equal(look((uintptr_t)map, KIB).kind, MGDS_PTR_HOST);
    OK(cu.cuMemHostRegister_v2(map, CHUNK, CU_MEMHOSTREGISTER_PORTABLE));
    assert_int_equal(look((uintptr_t)map, KIB).kind, MGDS_PTR_PINNED);
    OK(cu.cuMemHostUnregister(map));
    assert_int_equal(look((uintptr_t)map, KIB).kind, MGDS_PTR_HOST);
    munmap(map, CHUNK);
}

static const CUmemAllocationProp on_device_0 = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};

static void map_chunk(CUdeviceptr at)
{
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;

    OK(cu.cuMemCreate(&handle, CHUNK, &on_device_0, 0));
    OK(cu.cuMemMap(at, CHUNK, 0, handle, 0));
    OK(cu.cuMemSetAccess(at, CHUNK, &access, 1));
    OK(cu.cuMemRelease(handle));
}

static void mapped_chunks_are_one_buffer_until_a_gap(void **state)
{
    CUdeviceptr at;
    struct mgds_ptr ptr;

    (void)state;
    OK(cu.cuMemAddressReserve(&at, 4 * CHUNK, 0, 0, 0));
    map_chunk(at);
    map_chunk(at + CHUNK);
    map_chunk(at + 3 * CHUNK);
    assert_false(mgds_ptr_is_plain((void *)(uintptr_t)at));
    ptr = look(at + 8, 2 * CHUNK - 8);
    assert_is(ptr, MGDS_PTR_VMM, 0, at);
    assert_null(ptr.ctx);
    assert_true(ptr.handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    assert_int_equal(error_of(at + 8, 2 * CHUNK), -EFAULT);
    assert_int_equal(error_of(at, 4 * CHUNK), -EFAULT);
    OK(cu.cuMemUnmap(at, CHUNK));
    assert_int_equal(error_of(at + 8, 8), -EFAULT);
    OK(cu.cuMemUnmap(at + CHUNK, CHUNK));
    OK(cu.cuMemUnmap(at + 3 * CHUNK, CHUNK));
    OK(cu.cuMemAddressFree(at, 4 * CHUNK));
}

static void freed_memory_is_an_error_not_host_memory(void **state)
{
    CUdeviceptr at;

    (void)state;
    OK(cu.cuMemAlloc_v2(&at, KIB));
    assert_int_equal(look(at, KIB).kind, MGDS_PTR_DEVICE);
    OK(cu.cuMemFree_v2(at));
    assert_int_equal(error_of(at, KIB), -EFAULT);
}

enum { MOST_RANGES = 64, AGAIN_LAPS = 600 };

/* Takes the address space that is left, so that freed addresses come again:
 * the software GPU keeps them out of use for as long as it can. */
static int take_addresses(CUdeviceptr at[], size_t size[])
{
    size_t bytes = (size_t)1 << 40;
    int count = 0;

    while (bytes >= CHUNK && count < MOST_RANGES) {
        if (cu.cuMemAddressReserve(&at[count], bytes, 0, 0, 0) == CUDA_SUCCESS)
            size[count++] = bytes;
        else
            bytes /= 2;
    }
    return count;
}

static unsigned count_same(const CUdeviceptr *all, int count, CUdeviceptr at)
{
    unsigned same = 0;

    for (int i = 0; i < count; i++)
        same += all[i] == at;
    return same;
}

static void memory_at_the_same_address_is_never_mistaken(void **state)
{
    CUdeviceptr range[MOST_RANGES], all[AGAIN_LAPS];
    size_t size[MOST_RANGES];
    int ranges = take_addresses(range, size);
    unsigned again = 0;
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < AGAIN_LAPS; i++) {
        size_t bytes = CHUNK - (64 + (size_t)i % 3) * KIB;
        struct mgds_ptr ptr;

        OK(cu.cuMemAlloc_v2(&all[i], bytes));
        ptr = look(all[i], bytes);
        assert_is(ptr, MGDS_PTR_DEVICE, 0, all[i]);
        assert_true(ptr.size >= bytes && ptr.size < bytes + CHUNK);
        assert_true(ptr.id != last);
        again += count_same(all, i, all[i]);
        last = ptr.id;
        OK(cu.cuMemFree_v2(all[i]));
    }
    for (int i = 0; i < ranges; i++)
        OK(cu.cuMemAddressFree(range[i], size[i]));
    assert_true(again > 0);
}

static void other_mapping_at_the_same_address_is_seen(void **state)
{
    CUdeviceptr at;
    uint64_t id;

    (void)state;
    OK(cu.cuMemAddressReserve(&at, CHUNK, 0, 0, 0));
    map_chunk(at);
    id = look(at, CHUNK).id;
    OK(cu.cuMemUnmap(at, CHUNK));
    map_chunk(at);
    assert_true(look(at, CHUNK).id != id);
    OK(cu.cuMemUnmap(at, CHUNK));
    OK(cu.cuMemAddressFree(at, CHUNK));
}

static void imported_memory_is_told_from_own(void **state)
{
    CUipcMemHandle handle;
    CUdeviceptr at;
    struct mgds_ptr ptr;

    (void)state;
    assert_int_equal(read(other, &handle, sizeof(handle)), sizeof(handle));
    OK(cu.cuIpcOpenMemHandle_v2(&at, handle, 1));
    ptr = look(at, KIB);
    assert_is(ptr, MGDS_PTR_IMPORTED, 0, at);
    assert_ptr_equal(ptr.ctx, primary[0]);
    OK(cu.cuIpcCloseMemHandle(at));
    assert_int_equal(error_of(at, KIB), -EFAULT);
}

enum { THREADS = 4, LAPS = 300 };

static void *alloc_and_look(void *arg)
{
    int device = (int)(uintptr_t)arg % 2;

    OK(cu.cuCtxSetCurrent(primary[device]));
    for (int i = 0; i < LAPS; i++) {
        CUdeviceptr at;

        OK(cu.cuMemAlloc_v2(&at, KIB));
        for (unsigned again = 0; again < 3; again++) {
            struct mgds_ptr ptr = look(at + again, 8);

            assert_is(ptr, MGDS_PTR_DEVICE, device, at);
            assert_ptr_equal(ptr.ctx, primary[device]);
        }
        OK(cu.cuMemFree_v2(at));
    }
    return NULL;
}

static void threads_that_allocate_and_free_see_their_own(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, alloc_and_look, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* The other process: gives a handle, lives until the socket closes. */
static int give_memory(int fd)
{
    CUipcMemHandle handle;
    CUcontext ctx;
    CUdeviceptr at;
    char end;

    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctx, 0) ||
        cu.cuCtxSetCurrent(ctx) || cu.cuMemAlloc_v2(&at, KIB) ||
        cu.cuIpcGetMemHandle(&handle, at))
        return 1;
    if (write(fd, &handle, sizeof(handle)) != sizeof(handle))
        return 1;
    return read(fd, &end, 1) != 0;
}

static pid_t start_other(void)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        abort();
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(give_memory(ends[1]));
    }
    close(ends[1]);
    other = ends[0];
    return pid;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(door_waits_for_the_program_to_start_cuda),
        cmocka_unit_test(program_starts_cuda),
        cmocka_unit_test(device_memory_is_told_with_its_device_and_context),
        cmocka_unit_test(pool_memory_belongs_to_no_context),
        cmocka_unit_test(managed_memory_is_no_gpu_only_memory),
        cmocka_unit_test(pinned_memory_is_told_while_it_is),
        cmocka_unit_test(mapped_chunks_are_one_buffer_until_a_gap),
        cmocka_unit_test(freed_memory_is_an_error_not_host_memory),
        cmocka_unit_test(memory_at_the_same_address_is_never_mistaken),
        cmocka_unit_test(other_mapping_at_the_same_address_is_seen),
        cmocka_unit_test(imported_memory_is_told_from_own),
        cmocka_unit_test(threads_that_allocate_and_free_see_their_own),
    };
    int status = 0, failed;
    pid_t pid;

    if (soft_cuda_load())
        return 1;
    pid = start_other();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    close(other);
    waitpid(pid, &status, 0);
    return failed || status != 0;
}
