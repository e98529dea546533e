/* Copies and sets: what they move, when they read, what they refuse. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "case.h"

static void pattern(unsigned char *at, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + seed);
}

static void copies_of_any_size_and_alignment_arrive(void)
{
    static const size_t sizes[] = {1, 3, 8, 4097, 65536, 1000003};
    enum { ROOM = 1 << 20 };
    unsigned char *out = malloc(ROOM + 16), *in = malloc(ROOM + 16);
    CUdeviceptr a = mgds_zeroed(ROOM + 16), b = mgds_zeroed(ROOM + 16);

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        pattern(out, sizes[i], i);
        memset(in, 0, sizes[i] + 1);
        OK(cu.MemcpyHtoD(a + i, out, sizes[i]));
        OK(cu.MemcpyDtoD(b + 3, a + i, sizes[i]));
        OK(cu.MemcpyDtoH(in, b + 3, sizes[i]));
        EXPECT_EQ(0, memcmp(in, out, sizes[i]));
        EXPECT_EQ(0, in[sizes[i]]);
    }
    free(out);
    free(in);
}

static void unified_copy_infers_the_direction(void)
{
    uint32_t *pinned = mgds_pinned(16), plain = 5;
    CUdeviceptr a = mgds_zeroed(4), b = mgds_zeroed(4);

    OK(cu.Memcpy(a, mgds_address(&plain), 4));
    OK(cu.Memcpy(b, a, 4));
    OK(cu.Memcpy(mgds_address(pinned), b, 4));
    OK(cu.Memcpy(mgds_address(&pinned[1]), mgds_address(pinned), 4));
    OK(cu.CtxSynchronize());
    EXPECT_EQ(5, pinned[0]);
    EXPECT_EQ(5, pinned[1]);
    plain = 0;
    OK(cu.Memcpy(mgds_address(&plain), b, 4));
    EXPECT_EQ(5, plain);
}

static void copy_of_no_bytes_succeeds(void)
{
    CUdeviceptr a = mgds_zeroed(4);
    uint32_t word = 3;

    OK(cu.MemcpyHtoD(a, &word, 0));
    OK(cu.MemcpyDtoHAsync(&word, a, 0, NULL));
    OK(cu.MemsetD8Async(a, 1, 0, NULL));
    OK(cu.StreamSynchronize(NULL));
    EXPECT_EQ(0, mgds_peek(a));
    EXPECT_EQ(3, word);
}

/* Pinned memory is read when the stream gets there, not at the call. */
static void pinned_source_is_read_in_stream_order(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t *source = mgds_pinned(4);
    CUdeviceptr to = mgds_zeroed(4);

    *source = 1;
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemcpyHtoDAsync(to, source, 4, s));
    *source = 2;
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(2, mgds_peek(to));
}

struct copy {
    CUdeviceptr device;
    void *host;
    size_t bytes;
    CUstream stream;
};

static void up_task(void *arg)
{
    struct copy *c = arg;

    OK(cu.MemcpyHtoDAsync(c->device, c->host, c->bytes, c->stream));
}

static void down_task(void *arg)
{
    struct copy *c = arg;

    OK(cu.MemcpyDtoHAsync(c->host, c->device, c->bytes, c->stream));
}

struct host_copy {
    uint32_t *at; /* [0] to [1] */
    CUstream stream;
};

static void host_task(void *arg)
{
    struct host_copy *c = arg;

    OK(cu.MemcpyAsync(mgds_address(&c->at[1]), mgds_address(&c->at[0]), 4,
                      c->stream));
}

/* "API synchronization behavior": from host to host even the asynchronous
 * copy is synchronous. H200, driver 580: the call comes back when the stream
 * has got there and the copy is done. */
static void host_to_host_copy_waits_for_its_stream(void)
{
    struct host_copy c = {mgds_pinned(8), mgds_free_stream()};
    struct mgds_hwqueue gate = mgds_hwqueue_new();

    c.at[0] = 6;
    mgds_hwqueue_hold(gate, c.stream);
    mgds_expect_blocked(gate, "cuMemcpyAsync from host to host", host_task, &c);
    EXPECT_EQ(6, c.at[1]);
    OK(cu.StreamSynchronize(c.stream));
}

/* "API synchronization behavior": pageable memory is staged first, so the
 * caller may change it at once. */
static void small_pageable_source_may_change_after_the_call(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t word = 1;
    struct copy c = {mgds_zeroed(4), &word, 4, s};

    mgds_hwqueue_hold(gate, s);
    mgds_expect_returns(gate, "cuMemcpyHtoDAsync of 4 pageable bytes", up_task,
                        &c);
    word = 2;
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, mgds_peek(c.device));
}

/* A source larger than what the driver stages waits for its stream. */
static void large_pageable_source_waits_for_its_stream(void)
{
    size_t bytes = 64u << 20;
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    struct copy c = {mgds_zeroed(bytes), calloc(1, bytes), bytes, s};

    mgds_hwqueue_hold(gate, s);
    mgds_expect_blocked(gate, "cuMemcpyHtoDAsync of 64 MiB pageable", up_task,
                        &c);
    OK(cu.StreamSynchronize(s));
    free(c.host);
}

/* "For transfers from device memory to pageable host memory, the function
 * will return only once the copy has completed." */
static void copy_to_pageable_memory_waits_for_its_stream(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t word = 0;
    struct copy c = {mgds_zeroed(4), &word, 4, s};

    mgds_poke(c.device, 8);
    mgds_hwqueue_hold(gate, s);
    mgds_expect_blocked(gate, "cuMemcpyDtoHAsync to pageable memory", down_task,
                        &c);
    EXPECT_EQ(8, word);
}

static CUDA_MEMCPY2D plane(CUdeviceptr from, void *to)
{
    CUDA_MEMCPY2D p = {0};

    p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = from;
    p.srcPitch = 64;
    p.srcXInBytes = 4;
    p.srcY = 1;
    p.dstMemoryType = CU_MEMORYTYPE_HOST;
    p.dstHost = to;
    p.dstPitch = 16;
    p.WidthInBytes = 12;
    p.Height = 3;
    return p;
}

static void plane_copy_takes_its_rectangle_only(void)
{
    unsigned char image[64 * 8], *got = mgds_pinned(48);
    CUdeviceptr from = mgds_zeroed(sizeof(image));
    CUDA_MEMCPY2D p = plane(from, got);
    CUstream s = mgds_free_stream();

    pattern(image, sizeof(image), 1);
    OK(cu.MemcpyHtoD(from, image, sizeof(image)));
    OK(cu.Memcpy2D(&p));
    for (size_t y = 0; y < 3; y++)
        EXPECT_EQ(0, memcmp(got + 16 * y, image + 64 * (y + 1) + 4, 12));
    EXPECT_EQ(0, got[12]);
    memset(got, 0, 48);
    OK(cu.Memcpy2DAsync(&p, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, memcmp(got + 32, image + (size_t)64 * 3 + 4, 12));
}

static void plane_wider_than_its_pitch_is_refused(void)
{
    unsigned char got[256];
    CUDA_MEMCPY2D p = plane(mgds_zeroed(1024), got);

    p.WidthInBytes = 100;
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.Memcpy2D(&p));
}

static void box_copy_moves_a_box(void)
{
    const size_t side = 8, bytes = side * side * side;
    unsigned char *box = mgds_pinned(bytes);
    unsigned char *got = mgds_pinned(64);
    CUdeviceptr at = mgds_zeroed(bytes);
    CUstream s = mgds_free_stream();
    CUDA_MEMCPY3D p = {0};

    pattern(box, bytes, 3);
    OK(cu.MemcpyHtoD(at, box, bytes));
    p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = at;
    p.srcPitch = p.srcHeight = side;
    p.srcXInBytes = p.srcY = p.srcZ = 2;
    p.dstMemoryType = CU_MEMORYTYPE_HOST;
    p.dstHost = got;
    p.dstPitch = p.dstHeight = 4;
    p.WidthInBytes = p.Height = p.Depth = 4;
    OK(cu.Memcpy3DAsync(&p, s));
    OK(cu.StreamSynchronize(s));
    for (size_t i = 0; i < 64; i++)
        EXPECT_EQ(
            box[((i / 16 + 2) * side + (i / 4 % 4 + 2)) * side + (i % 4 + 2)],
            got[i]);
}

static void sets_write_their_width(void)
{
    CUdeviceptr at = mgds_zeroed(64);

    OK(cu.MemsetD8(at, 0xab, 3));
    OK(cu.MemsetD16(at + 8, 0x1234, 3));
    OK(cu.MemsetD32(at + 16, 0xdeadbeef, 1));
    OK(cu.MemsetD2D8(at + 32, 8, 0x11, 2, 3));
    /* Sets of device memory do not wait; mgds_peek is of another stream. */
    OK(cu.CtxSynchronize());
    EXPECT_EQ(0x00ababab, mgds_peek(at));
    EXPECT_EQ(0x0000123412341234, mgds_peek64(at + 8));
    EXPECT_EQ(0x00000000deadbeef, mgds_peek64(at + 16));
    EXPECT_EQ(0x1111, mgds_peek64(at + 32));
    EXPECT_EQ(0x1111, mgds_peek64(at + 48));
    EXPECT_EQ(0, mgds_peek64(at + 56));
}

static void misaligned_sets_are_refused(void)
{
    CUdeviceptr at = mgds_zeroed(64);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemsetD32(at + 2, 1, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemsetD16(at + 1, 1, 1));
    EXPECT_EQ(0, mgds_peek64(at));
}

static void copy_past_the_end_is_refused(void)
{
    size_t bytes = 4u << 20;
    CUdeviceptr at = mgds_zeroed(bytes);
    char *host = calloc(1, 2 * bytes);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyHtoD(at, host, bytes + 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyDtoH(host, at + 1, bytes));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemsetD8(at + 1, 1, bytes));
    free(host);
}

static void copy_of_freed_memory_is_refused(void)
{
    CUdeviceptr at;
    uint32_t word = 0;

    OK(cu.MemAlloc(&at, 64u << 20));
    OK(cu.MemFree(at));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyDtoH(&word, at, 4));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemsetD8(at, 1, 4));
    OK(cu.CtxSynchronize());
}

/* What the driver does not know is pageable memory to a copy that finds out
 * what its ends are: the CPU goes there, in the call. */
static void copy_from_freed_memory(int sock)
{
    CUdeviceptr at, other;

    (void)sock;
    signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
    mgds_env_start();
    OK(cu.MemAlloc(&other, 64));
    OK(cu.MemAlloc(&at, 64u << 20));
    OK(cu.MemFree(at));
    cu.MemcpyAsync(other, at, 64, NULL);
}

static void copy_to_freed_memory(int sock)
{
    CUdeviceptr at, other;

    (void)sock;
    signal(SIGSEGV, SIG_DFL);
    mgds_env_start();
    OK(cu.MemAlloc(&other, 64));
    OK(cu.MemAlloc(&at, 64u << 20));
    OK(cu.MemFree(at));
    cu.Memcpy(at, other, 64);
}

static void expect_crash(void (*run)(int sock))
{
    struct mgds_peer peer;
    int status;

    mgds_peer_start(&peer, run);
    status = mgds_peer_status(&peer);
    EXPECT(WIFSIGNALED(status));
    EXPECT_EQ(SIGSEGV, WTERMSIG(status));
}

static void unified_copy_of_freed_memory_crashes(void)
{
    expect_crash(copy_from_freed_memory);
    expect_crash(copy_to_freed_memory);
}

static void device_copy_with_a_host_pointer_for_the_device_is_refused(void)
{
    static uint64_t plain;
    uint64_t word = 0;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemcpyDtoH(&word, mgds_address(&plain), 8));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemsetD8(mgds_address(&plain), 1, 8));
}

static void null_pointers_are_refused(void)
{
    CUdeviceptr at = mgds_zeroed(8);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyHtoD(at, NULL, 8));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyDtoH(NULL, at, 8));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemcpyDtoD(at, 0, 8));
}

const struct mgds_case mgds_cases_copy[] = {
    CASE(copies_of_any_size_and_alignment_arrive),
    CASE(unified_copy_infers_the_direction),
    CASE(copy_of_no_bytes_succeeds),
    CASE(pinned_source_is_read_in_stream_order, NEED_MEMOPS),
    CASE(host_to_host_copy_waits_for_its_stream, NEED_MEMOPS),
    CASE(small_pageable_source_may_change_after_the_call, NEED_MEMOPS),
    CASE(large_pageable_source_waits_for_its_stream, NEED_MEMOPS),
    CASE(copy_to_pageable_memory_waits_for_its_stream, NEED_MEMOPS),
    CASE(plane_copy_takes_its_rectangle_only),
    CASE(plane_wider_than_its_pitch_is_refused),
    CASE(box_copy_moves_a_box),
    CASE(sets_write_their_width),
    CASE(misaligned_sets_are_refused),
    CASE(copy_past_the_end_is_refused, 0, ALONE),
    CASE(copy_of_freed_memory_is_refused, 0, ALONE),
    CASE(unified_copy_of_freed_memory_crashes, 0, FRESH | UNSURE),
    CASE(device_copy_with_a_host_pointer_for_the_device_is_refused),
    CASE(null_pointers_are_refused),
    CASE_END,
};
