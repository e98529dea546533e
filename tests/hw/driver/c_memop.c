/* Stream memory operations: compares, writes, their order and their misuse
 * (Driver API, "Stream Memory Operations"). Batches: c_batch.c. */
#include <stdatomic.h>

#include "case.h"

struct compare {
    unsigned flags;
    bool passes;
    uint64_t word, value;
    uint64_t release; /* a word that passes when this one does not */
};

static _Atomic uint64_t *host_word(void)
{
    return mgds_pinned(8);
}

/* Queues a wait on a host word that holds row->word. A wait that should not
 * pass must still stand after other work had its chance, and go when the
 * word changes. */
static void check_compare(const struct compare *row, bool wide)
{
    CUstream s = mgds_free_stream();
    _Atomic uint64_t *word = host_word();

    atomic_store(word, row->word);
    if (wide)
        OK(cu.StreamWaitValue64(s, mgds_address(word), row->value, row->flags));
    else
        OK(cu.StreamWaitValue32(s, mgds_address(word), (uint32_t)row->value,
                                row->flags));
    if (!row->passes) {
        mgds_chance();
        EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
        atomic_store(word, row->release);
    }
    OK(cu.StreamSynchronize(s));
}

static void check_compares(const struct compare *rows, size_t count, bool wide)
{
    for (size_t i = 0; i < count; i++)
        check_compare(&rows[i], wide);
}

#define EQ CU_STREAM_WAIT_VALUE_EQ
#define GEQ CU_STREAM_WAIT_VALUE_GEQ
#define AND CU_STREAM_WAIT_VALUE_AND
#define NOR CU_STREAM_WAIT_VALUE_NOR
#define CHECK(rows, wide)                                                      \
    check_compares(rows, sizeof(rows) / sizeof((rows)[0]), wide)

static void wait32_eq_passes_on_the_same_value_only(void)
{
    static const struct compare rows[] = {
        {EQ, true, 5, 5, 0},
        {EQ, false, 6, 5, 5},
        {EQ, false, 4, 5, 5},
        {EQ, true, 0x100000005, 5, 0}, /* the upper half is not looked at */
    };
    CHECK(rows, false);
}

/* "(int32_t)(*addr - value) >= 0": a cyclic compare. */
static void wait32_geq_is_cyclic(void)
{
    static const struct compare rows[] = {
        {GEQ, true, 5, 5, 0},           {GEQ, true, 6, 5, 0},
        {GEQ, false, 4, 5, 5},          {GEQ, true, 5, 0xfffffff0, 0},
        {GEQ, false, 0xfffffff0, 5, 6}, {GEQ, false, 0, 0x80000000, 0x80000001},
        {GEQ, true, 0, 0x80000001, 0},
    };
    CHECK(rows, false);
}

static void wait32_and_passes_on_a_common_bit(void)
{
    static const struct compare rows[] = {
        {AND, true, 0x6, 0x4, 0},
        {AND, true, 0xff, 0x80000001, 0},
        {AND, false, 0x6, 0x1, 0x1},
        {AND, false, 0, 0xffffffff, 0x80000000},
    };
    CHECK(rows, false);
}

/* "~(*addr | value) != 0": some bit is clear in both. */
static void wait32_nor_passes_on_a_bit_clear_in_both(void)
{
    static const struct compare rows[] = {
        {NOR, true, 0, 0, 0},
        {NOR, true, 0xffff0000, 0x0000fffe, 0},
        {NOR, false, 0xffff0000, 0x0000ffff, 0},
        {NOR, false, 0xffffffff, 0, 0x7fffffff},
    };
    CHECK(rows, false);
}

static void wait64_eq_compares_all_bits(void)
{
    static const struct compare rows[] = {
        {EQ, true, 0x500000001, 0x500000001, 0},
        {EQ, false, 0x600000001, 0x500000001, 0x500000001},
    };
    CHECK(rows, true);
}

static void wait64_geq_is_cyclic(void)
{
    static const struct compare rows[] = {
        {GEQ, true, 0x100000000, 0xffffffff, 0},
        {GEQ, false, 0xffffffff, 0x100000000, 0x100000000},
        {GEQ, true, 3, 0xfffffffffffffff0, 0},
        {GEQ, false, 0, 0x8000000000000000, 0x8000000000000001},
    };
    CHECK(rows, true);
}

static void wait64_and_passes_on_a_common_bit(void)
{
    static const struct compare rows[] = {
        {AND, true, 0x4000000000, 0x4000000000, 0},
        {AND, false, 0xffffffff, 0xffffffff00000000, 0x100000000},
    };
    CHECK(rows, true);
}

static void wait64_nor_passes_on_a_bit_clear_in_both(void)
{
    static const struct compare rows[] = {
        {NOR, true, 0xffffffff, 0, 0},
        {NOR, false, 0xffffffff, 0xffffffff00000000, 0},
    };
    CHECK(rows, true);
}

static void wait_looks_again_until_it_holds(void)
{
    CUstream s = mgds_free_stream();
    _Atomic uint64_t *word = host_word();

    OK(cu.StreamWaitValue32(s, mgds_address(word), 4, GEQ));
    for (uint64_t i = 1; i < 4; i++) {
        atomic_store(word, i);
        mgds_chance();
        EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(s));
    }
    atomic_store(word, 4);
    OK(cu.StreamSynchronize(s));
}

static void wait_on_a_device_word_sees_another_streams_write(void)
{
    CUstream a = mgds_free_stream();
    CUstream b = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);

    OK(cu.StreamWaitValue32(a, word, 1, EQ));
    mgds_chance();
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.StreamQuery(a));
    OK(cu.StreamWriteValue32(b, word, 1, 0));
    OK(cu.StreamSynchronize(a));
    OK(cu.StreamSynchronize(b));
    OK(cu.StreamWaitValue64(a, word, 1ull << 40, GEQ));
    OK(cu.StreamWriteValue64(b, word, 1ull << 40, 0));
    OK(cu.StreamSynchronize(a));
    OK(cu.StreamSynchronize(b));
}

static void write32_changes_four_bytes_only(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr words = mgds_zeroed(16);

    OK(cu.MemsetD8Async(words, 0xee, 16, s));
    OK(cu.StreamWriteValue32(s, words + 4, 0x12345678, 0));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x12345678eeeeeeee, mgds_peek64(words));
    EXPECT_EQ(0xeeeeeeeeeeeeeeee, mgds_peek64(words + 8));
    OK(cu.StreamWriteValue64(s, words + 8, 0x1122334455667788, 0));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0x1122334455667788, mgds_peek64(words + 8));
}

/* Host memory is seen by a polling CPU with no synchronisation call. */
static void written_word_is_seen_by_a_polling_host(void)
{
    CUstream s = mgds_free_stream();
    _Atomic uint64_t *word = host_word();

    OK(cu.StreamWriteValue32(s, mgds_address(word), 77, 0));
    while (atomic_load(word) != 77)
        sched_yield();
    OK(cu.StreamWriteValue64(s, mgds_address(word), 1ull << 50, 0));
    while (atomic_load(word) != 1ull << 50)
        sched_yield();
    OK(cu.StreamSynchronize(s));
}

/* The write comes after a fence: who sees the flag
 * sees the copy before it. */
static void write_comes_after_the_copy_before_it(void)
{
    enum { WORDS = 4096, ROUNDS = 20 };
    CUstream s = mgds_free_stream();
    _Atomic uint64_t *flag = host_word();
    uint32_t *to = mgds_pinned(WORDS * sizeof(uint32_t));
    CUdeviceptr from = mgds_zeroed(WORDS * sizeof(uint32_t));

    for (uint32_t i = 1; i <= ROUNDS; i++) {
        OK(cu.MemsetD32Async(from, i, WORDS, s));
        OK(cu.MemcpyDtoHAsync(to, from, WORDS * sizeof(uint32_t), s));
        OK(cu.StreamWriteValue32(s, mgds_address(flag), i, 0));
        while (atomic_load(flag) != i)
            sched_yield();
        EXPECT_EQ(i, to[0]);
        EXPECT_EQ(i, to[WORDS - 1]);
    }
    OK(cu.StreamSynchronize(s));
}

/* cuda.h: the flag "is not supported in the v2 API" (H100 and H200, driver
 * 580): every write of a stream is fenced. */
static void write_without_barrier_is_refused(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(8);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue32(s, word, 3,
                                    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek(word));
}

static void memory_operations_work_on_the_legacy_stream(void)
{
    CUdeviceptr word = mgds_zeroed(8);

    OK(cu.StreamWriteValue32(NULL, word, 3, 0));
    OK(cu.StreamWaitValue32(NULL, word, 3, EQ));
    OK(cu.StreamSynchronize(NULL));
    EXPECT_EQ(3, mgds_peek(word));
}

static void memory_operations_reach_registered_memory(void)
{
    static _Atomic uint64_t page[1024] __attribute__((aligned(4096)));
    CUstream s = mgds_free_stream();
    CUdeviceptr at;

    OK(cu.MemHostRegister(page, sizeof(page), CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cu.MemHostGetDevicePointer(&at, page, 0));
    OK(cu.StreamWaitValue32(s, at, 1, GEQ));
    OK(cu.StreamWriteValue32(s, at + 8, 5, 0));
    mgds_chance();
    EXPECT_EQ(0, atomic_load(&page[1]));
    atomic_store(&page[0], 1);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5, atomic_load(&page[1]));
    OK(cu.MemHostUnregister(page));
}

static void misaligned_words_are_refused(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(16);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue32(s, word + 2, 1, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWaitValue32(s, word + 1, 0, EQ));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue64(s, word + 4, 1, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWaitValue64(s, word + 4, 0, EQ));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, mgds_peek64(word));
}

static void unknown_memop_flags_are_refused(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(16);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWaitValue32(s, word, 0, 0x100));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue32(s, word, 0, 0x100));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWaitValue64(s, word, 0, 0x100));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue64(s, word, 0, 0x100));
}

static void words_the_device_cannot_reach_are_refused(void)
{
    static uint64_t plain;
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.StreamWriteValue32(s, 0, 1, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWriteValue32(s, mgds_address(&plain), 1, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.StreamWaitValue32(s, mgds_address(&plain), 0, EQ));
}

/* Documented: the flag needs CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES. */
static void flush_flag_needs_the_attribute(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr word = mgds_zeroed(16);
    bool can =
        mgds_env_attribute(0, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES);

    EXPECT_CU(
        can ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED,
        cu.StreamWaitValue32(s, word, 0, EQ | CU_STREAM_WAIT_VALUE_FLUSH));
    OK(cu.StreamSynchronize(s));
}

const struct mgds_case mgds_cases_memop[] = {
    CASE(wait32_eq_passes_on_the_same_value_only, NEED_MEMOPS),
    CASE(wait32_geq_is_cyclic, NEED_MEMOPS),
    CASE(wait32_and_passes_on_a_common_bit, NEED_MEMOPS),
    CASE(wait32_nor_passes_on_a_bit_clear_in_both, NEED_MEMOPS | NEED_NOR),
    CASE(wait64_eq_compares_all_bits, NEED_MEMOPS | NEED_MEMOP64),
    CASE(wait64_geq_is_cyclic, NEED_MEMOPS | NEED_MEMOP64),
    CASE(wait64_and_passes_on_a_common_bit, NEED_MEMOPS | NEED_MEMOP64),
    CASE(wait64_nor_passes_on_a_bit_clear_in_both,
         NEED_MEMOPS | NEED_MEMOP64 | NEED_NOR),
    CASE(wait_looks_again_until_it_holds, NEED_MEMOPS),
    CASE(wait_on_a_device_word_sees_another_streams_write,
         NEED_MEMOPS | NEED_MEMOP64),
    CASE(write32_changes_four_bytes_only, NEED_MEMOPS | NEED_MEMOP64),
    CASE(written_word_is_seen_by_a_polling_host, NEED_MEMOPS | NEED_MEMOP64),
    CASE(write_comes_after_the_copy_before_it, NEED_MEMOPS),
    CASE(write_without_barrier_is_refused, NEED_MEMOPS),
    CASE(memory_operations_work_on_the_legacy_stream, NEED_MEMOPS),
    CASE(memory_operations_reach_registered_memory, NEED_MEMOPS),
    CASE(misaligned_words_are_refused, NEED_MEMOPS | NEED_MEMOP64),
    CASE(unknown_memop_flags_are_refused, NEED_MEMOPS | NEED_MEMOP64),
    CASE(words_the_device_cannot_reach_are_refused, NEED_MEMOPS),
    CASE(flush_flag_needs_the_attribute, NEED_MEMOPS),
    CASE_END,
};
