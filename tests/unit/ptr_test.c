/* Tests of shim/gds/cuda/ptr.c: what a buffer is, what finding out costs, and
 * that no answer is older than the question. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/gds/cuda/ptr.h"
#include "tests/unit/fake_cuda.h"

#define PAGE ((size_t)4096)
#define MIB ((size_t)1 << 20)

static struct fake_cuda *fake;
static int in_data_segment;

/* Addresses that nothing maps; each test has its own, for the cache stays. */
static uintptr_t fresh_base(void)
{
    static uintptr_t last = (uintptr_t)1 << 40;

    return last += 64 * MIB;
}

static CUcontext ctx = (CUcontext)(uintptr_t)0xc0de;

static int load(void **state)
{
    (void)state;
    fake = fake_cuda_load();
    return 0;
}

static int reset(void **state)
{
    (void)state;
    fake_cuda_reset(fake);
    fake->contexts[0] = (struct fake_context){ctx, 7, 0};
    return 0;
}

static unsigned questions(void)
{
    return fake->asked_one + fake->asked_all;
}

static struct fake_block device_block(uintptr_t base, uint64_t id)
{
    return (struct fake_block){.base = base,
                               .size = MIB,
                               .type = CU_MEMORYTYPE_DEVICE,
                               .ctx = ctx,
                               .id = id,
                               .legacy_ipc = true};
}

static int look(struct mgds_ptr *out, uintptr_t addr, size_t bytes)
{
    memset(out, 0xee, sizeof(*out));
    return mgds_ptr_find(out, (const void *)addr, bytes);
}

static void assert_kind(uintptr_t addr, size_t bytes, enum mgds_ptr_kind kind)
{
    struct mgds_ptr ptr;

    assert_int_equal(look(&ptr, addr, bytes), 0);
    assert_int_equal(ptr.kind, kind);
}

static void own_heap_stack_and_data_ask_no_driver(void **state)
{
    void *heap = sbrk(64);

    (void)state;
    assert_kind((uintptr_t)heap, 8, MGDS_PTR_HOST);
    assert_kind((uintptr_t)__builtin_frame_address(0), 8, MGDS_PTR_HOST);
    assert_kind((uintptr_t)&in_data_segment, 4, MGDS_PTR_HOST);
    assert_int_equal(questions(), 0);
}

static void empty_message_asks_no_driver_whatever_its_address(void **state)
{
    uintptr_t base = fresh_base();

    (void)state;
    fake->blocks[0] = device_block(base, 1);
    assert_kind(0, 0, MGDS_PTR_HOST);
    assert_kind(base, 0, MGDS_PTR_HOST);
    assert_int_equal(questions(), 0);
}

static void null_is_host(void **state)
{
    (void)state;
    assert_kind(0, 8, MGDS_PTR_HOST);
}

static void other_host_memory_costs_one_question(void **state)
{
    void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mgds_ptr ptr;

    (void)state;
    assert_true(map != MAP_FAILED);
    assert_int_equal(look(&ptr, (uintptr_t)map, PAGE), 0);
    assert_int_equal(ptr.kind, MGDS_PTR_HOST);
    assert_int_equal(ptr.device, -1);
    assert_int_equal(questions(), 1);
    munmap(map, PAGE);
}

static void driver_that_was_not_started_has_no_gpu_memory(void **state)
{
    uintptr_t base = fresh_base();

    (void)state;
    fake->blocks[0] = device_block(base, 1);
    fake->query_result = CUDA_ERROR_NOT_INITIALIZED;
    assert_kind(base, 8, MGDS_PTR_HOST);
}

static bool is_plain(uintptr_t addr)
{
    return mgds_ptr_is_plain((const void *)addr);
}

static void plain_memory_costs_one_question_or_none(void **state)
{
    void *heap = sbrk(64);
    uintptr_t base = fresh_base(); /* nobody has ever seen it */

    (void)state;
    assert_true(is_plain((uintptr_t)heap));
    assert_true(is_plain((uintptr_t)__builtin_frame_address(0)));
    assert_true(is_plain((uintptr_t)&in_data_segment));
    assert_int_equal(questions(), 0);
    assert_true(is_plain(base));
    assert_int_equal(questions(), 1);
    fake->query_result = CUDA_ERROR_NOT_INITIALIZED;
    assert_true(is_plain(base));
    assert_int_equal(questions(), 2);
}

static void plain_memory_that_becomes_the_gpus_is_plain_no_more(void **state)
{
    uintptr_t base = fresh_base();

    (void)state;
    assert_true(is_plain(base));
    fake->blocks[0] = device_block(base, 1);
    assert_false(is_plain(base));
    fake->blocks[0].size = 0;
    assert_true(is_plain(base)); /* nobody looked at it as a whole */
    fake->blocks[0].size = MIB;
    assert_kind(base, 8, MGDS_PTR_DEVICE);
    fake->blocks[0].size = 0;
    fake->asked_one = fake->asked_all = 0;
    assert_false(is_plain(base));
    assert_int_equal(questions(), 0);
}

struct kind_row {
    struct fake_block block;
    enum mgds_ptr_kind kind;
    bool gpu;
};

static void each_kind_is_told_by_one_question(void **state)
{
    const struct kind_row rows[] = {
        {{.type = CU_MEMORYTYPE_HOST, .ctx = ctx}, MGDS_PTR_PINNED, false},
        {{.type = CU_MEMORYTYPE_DEVICE, .ctx = ctx, .managed = true},
         MGDS_PTR_MANAGED,
         false},
        {{.type = CU_MEMORYTYPE_HOST, .ctx = ctx, .managed = true},
         MGDS_PTR_MANAGED,
         false},
        {{.type = CU_MEMORYTYPE_DEVICE, .ctx = ctx, .legacy_ipc = true},
         MGDS_PTR_DEVICE,
         true},
        {{.type = CU_MEMORYTYPE_DEVICE, .pool = true}, MGDS_PTR_POOL, true},
        {{.type = CU_MEMORYTYPE_DEVICE, .handle_types = 9}, MGDS_PTR_VMM, true},
        {{.type = CU_MEMORYTYPE_DEVICE, .ctx = ctx}, MGDS_PTR_IMPORTED, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fake_block *block = &fake->blocks[0];
        struct mgds_ptr ptr;

        *block = rows[i].block;
        block->base = fresh_base();
        block->size = MIB;
        block->device = 3;
        block->id = 100 + i;
        assert_int_equal(is_plain(block->base),
                         rows[i].kind == MGDS_PTR_PINNED);
        fake->asked_one = fake->asked_all = 0;
        assert_int_equal(look(&ptr, block->base + 100, 8), 0);
        assert_int_equal(questions(), 1);
        assert_int_equal(ptr.kind, rows[i].kind);
        assert_int_equal(mgds_ptr_is_gpu(&ptr), rows[i].gpu);
        assert_int_equal(ptr.device, 3);
        assert_int_equal(ptr.id, block->id);
        assert_int_equal(ptr.base, block->base);
        assert_int_equal(ptr.size, MIB);
        assert_ptr_equal(ptr.ctx, block->ctx);
        assert_int_equal(ptr.ctx_id, block->ctx ? 7 : 0);
        assert_int_equal(ptr.handle_types, block->handle_types);
    }
}

static void gpu_memory_seen_before_costs_its_id_only(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr first, again;

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    assert_int_equal(look(&first, base + 8, 8), 0);
    fake->asked_one = fake->asked_all = 0;
    assert_int_equal(look(&again, base + 16, 8), 0);
    assert_int_equal(again.kind, first.kind);
    assert_int_equal(again.device, first.device);
    assert_int_equal(again.id, first.id);
    assert_int_equal(again.base, first.base);
    assert_int_equal(again.size, first.size);
    assert_ptr_equal(again.ctx, first.ctx);
    assert_int_equal(again.ctx_id, first.ctx_id);
    assert_int_equal(fake->asked_one, 1);
    assert_int_equal(fake->asked_all, 0);
}

static void memory_allocated_again_at_the_address_is_told_apart(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    assert_kind(base, 8, MGDS_PTR_DEVICE);
    fake->blocks[0] = (struct fake_block){.base = base,
                                          .size = PAGE,
                                          .type = CU_MEMORYTYPE_DEVICE,
                                          .id = 6,
                                          .pool = true};
    assert_int_equal(look(&ptr, base, 8), 0);
    assert_int_equal(ptr.kind, MGDS_PTR_POOL);
    assert_int_equal(ptr.id, 6);
    assert_int_equal(ptr.size, PAGE);
    assert_null(ptr.ctx);
}

static void allocation_is_known_to_live_while_its_id_is_there(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr known;

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    assert_int_equal(look(&known, base, 8), 0);
    fake->asked_one = fake->asked_all = 0;
    assert_true(mgds_ptr_lives(&known, (void *)(base + MIB - 1)));
    assert_int_equal(fake->asked_one, 1);
    assert_int_equal(fake->asked_all, 0);
    fake->blocks[0].id = 6; /* the address, allocated again */
    assert_false(mgds_ptr_lives(&known, (void *)base));
    fake->blocks[0].size = 0;
    assert_false(mgds_ptr_lives(&known, (void *)base));
}

static void mapping_is_never_known_to_live(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr known;

    (void)state;
    fake->blocks[0] = (struct fake_block){
        .base = base, .size = MIB, .type = CU_MEMORYTYPE_DEVICE, .id = 5};
    assert_int_equal(look(&known, base, 8), 0);
    assert_int_equal(known.kind, MGDS_PTR_VMM);
    assert_false(mgds_ptr_lives(&known, (void *)base));
}

static void id_of_a_mapping_is_not_trusted(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    fake->blocks[0] = (struct fake_block){
        .base = base, .size = MIB, .type = CU_MEMORYTYPE_DEVICE, .id = 5};
    assert_kind(base, MIB, MGDS_PTR_VMM);
    fake->blocks[0].size = PAGE;
    assert_int_equal(look(&ptr, base, 8), 0);
    assert_int_equal(ptr.size, PAGE);
}

static void freed_memory_is_a_fault_until_it_is_host_memory(void **state)
{
    void *map = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t base = (uintptr_t)map;
    struct mgds_ptr ptr;

    (void)state;
    assert_true(map != MAP_FAILED);
    fake->blocks[0] = device_block(base, 5);
    assert_kind(base, 8, MGDS_PTR_DEVICE);
    fake->blocks[0] = (struct fake_block){.size = 0};
    assert_int_equal(look(&ptr, base, 8), -EFAULT);
    assert_int_equal(mprotect(map, PAGE, PROT_READ), 0);
    assert_kind(base, 8, MGDS_PTR_HOST);
    /* Forgotten: it costs what other host memory does. */
    fake->asked_one = fake->asked_all = 0;
    assert_kind(base, 8, MGDS_PTR_HOST);
    assert_int_equal(questions(), 1);
    munmap(map, PAGE);
}

static void driver_in_error_is_told_for_gpu_memory_only(void **state)
{
    void *gpu = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t base = (uintptr_t)gpu;
    struct mgds_ptr ptr;

    (void)state;
    assert_true(gpu != MAP_FAILED && map != MAP_FAILED);
    fake->blocks[0] = device_block(base, 5);
    fake->blocks[0].size = PAGE;
    assert_kind(base, 8, MGDS_PTR_DEVICE);
    fake->query_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_int_equal(look(&ptr, base, 8), -EIO);
    assert_kind((uintptr_t)map, 8, MGDS_PTR_HOST);
    munmap(gpu, PAGE);
    munmap(map, PAGE);
}

static void buffer_that_leaves_its_allocation_is_a_fault(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    fake->blocks[1] = device_block(base + MIB, 6);
    assert_kind(base + 8, MIB - 8, MGDS_PTR_DEVICE);
    assert_int_equal(look(&ptr, base + 8, MIB - 7), -EFAULT);
    assert_int_equal(look(&ptr, base, SIZE_MAX), -EFAULT);
    assert_int_equal(ptr.size, 0xeeeeeeeeeeeeeeee);
}

static struct fake_block mapping(uintptr_t base, int device)
{
    return (struct fake_block){.base = base,
                               .size = MIB,
                               .type = CU_MEMORYTYPE_DEVICE,
                               .device = device,
                               .id = 5};
}

static void mappings_in_a_row_are_one_buffer(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        fake->blocks[i] = mapping(base + i * MIB, 0);
    assert_kind(base + 8, 3 * MIB - 8, MGDS_PTR_VMM);
    assert_int_equal(look(&ptr, base + 8, 3 * MIB), -EFAULT);
    fake->blocks[1].device = 1;
    assert_int_equal(look(&ptr, base + 8, 3 * MIB - 8), -EFAULT);
    fake->blocks[1] = (struct fake_block){.size = 0};
    assert_int_equal(look(&ptr, base + 8, 3 * MIB - 8), -EFAULT);
}

/* Host memory again: no more questions than for any other. */
static void gpu_memory_that_became_pinned_is_forgotten(void **state)
{
    uintptr_t base = fresh_base();

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    assert_kind(base, 8, MGDS_PTR_DEVICE);
    fake->blocks[0] = (struct fake_block){
        .base = base, .size = PAGE, .type = CU_MEMORYTYPE_HOST, .ctx = ctx};
    assert_kind(base, 8, MGDS_PTR_PINNED);
    fake->asked_one = fake->asked_all = 0;
    assert_kind(base, 8, MGDS_PTR_PINNED);
    assert_int_equal(questions(), 1);
}

static void memory_registered_in_part_is_plain(void **state)
{
    uintptr_t base = fresh_base();

    (void)state;
    fake->blocks[0] = (struct fake_block){
        .base = base, .size = PAGE, .type = CU_MEMORYTYPE_HOST, .ctx = ctx};
    assert_kind(base, PAGE, MGDS_PTR_PINNED);
    assert_kind(base, PAGE + 1, MGDS_PTR_HOST);
}

static void memory_whose_context_is_going_is_refused(void **state)
{
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    fake->blocks[0] = device_block(base, 5);
    fake->contexts[0].handle = NULL;
    assert_int_equal(look(&ptr, base, 8), -ESHUTDOWN);
}

/* More buffers than the cache has room for, twice: each answer is right. */
static void more_buffers_than_are_remembered_are_still_right(void **state)
{
    enum { BUFFERS = 5000 };
    uintptr_t base = fresh_base();
    struct mgds_ptr ptr;

    (void)state;
    for (unsigned i = 0; i < 2 * BUFFERS; i++) {
        uintptr_t at = base + i % BUFFERS * PAGE;

        fake->blocks[0] = device_block(at, 1000 + i % BUFFERS);
        fake->blocks[0].size = PAGE;
        assert_int_equal(look(&ptr, at + 8, 8), 0);
        assert_int_equal(ptr.id, 1000 + i % BUFFERS);
        assert_int_equal(ptr.base, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(own_heap_stack_and_data_ask_no_driver, reset),
        cmocka_unit_test_setup(
            empty_message_asks_no_driver_whatever_its_address, reset),
        cmocka_unit_test_setup(null_is_host, reset),
        cmocka_unit_test_setup(other_host_memory_costs_one_question, reset),
        cmocka_unit_test_setup(driver_that_was_not_started_has_no_gpu_memory,
                               reset),
        cmocka_unit_test_setup(plain_memory_costs_one_question_or_none, reset),
        cmocka_unit_test_setup(
            plain_memory_that_becomes_the_gpus_is_plain_no_more, reset),
        cmocka_unit_test_setup(each_kind_is_told_by_one_question, reset),
        cmocka_unit_test_setup(gpu_memory_seen_before_costs_its_id_only, reset),
        cmocka_unit_test_setup(
            memory_allocated_again_at_the_address_is_told_apart, reset),
        cmocka_unit_test_setup(id_of_a_mapping_is_not_trusted, reset),
        cmocka_unit_test_setup(
            allocation_is_known_to_live_while_its_id_is_there, reset),
        cmocka_unit_test_setup(mapping_is_never_known_to_live, reset),
        cmocka_unit_test_setup(freed_memory_is_a_fault_until_it_is_host_memory,
                               reset),
        cmocka_unit_test_setup(driver_in_error_is_told_for_gpu_memory_only,
                               reset),
        cmocka_unit_test_setup(buffer_that_leaves_its_allocation_is_a_fault,
                               reset),
        cmocka_unit_test_setup(mappings_in_a_row_are_one_buffer, reset),
        cmocka_unit_test_setup(gpu_memory_that_became_pinned_is_forgotten,
                               reset),
        cmocka_unit_test_setup(memory_registered_in_part_is_plain, reset),
        cmocka_unit_test_setup(memory_whose_context_is_going_is_refused, reset),
        cmocka_unit_test_setup(more_buffers_than_are_remembered_are_still_right,
                               reset),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
