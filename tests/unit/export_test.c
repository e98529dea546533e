/* Tests of shim/gds/mem/export.c: what is told of an allocation, when the
 * driver is asked, and when one is known to be gone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/mem/export.h"
#include "tests/lib/fault_sweep.h"
#include "tests/unit/fake_cuda.h"

#define MIB ((uint64_t)1 << 20)
#define FIRST ((uint64_t)1 << 40) /* an address */

enum { THREADS = 4, SLOTS = 32, ROUNDS = 20000, TURN = 1 << 20 };

static struct fake_cuda *fake;
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
    mgds_exports_fini();
    mgds_context_fini();
    fake_cuda_reset(fake);
    fake->contexts[0] = (struct fake_context){ctx, 7, 0};
    return 0;
}

static struct fake_block block(uint64_t id, uint64_t base, uint64_t size)
{
    return (struct fake_block){.base = base,
                               .size = size,
                               .type = CU_MEMORYTYPE_DEVICE,
                               .ctx = ctx,
                               .id = id,
                               .legacy_ipc = true};
}

static struct mgds_ptr ptr_of(const struct fake_block *of)
{
    return (struct mgds_ptr){.kind = MGDS_PTR_DEVICE,
                             .id = of->id,
                             .base = of->base,
                             .size = of->size,
                             .ctx = of->ctx,
                             .ctx_id = 7};
}

/* Asks, with memory that must stay as it is if there is no handle. */
static int ask(struct mgds_export_handle *out, const struct mgds_ptr *ptr)
{
    struct mgds_export_handle untouched;
    int rc;

    memset(&untouched, 0x5a, sizeof(untouched));
    *out = untouched;
    rc = mgds_export_of(out, ptr);
    if (rc < 0)
        assert_memory_equal(out, &untouched, sizeof(untouched));
    return rc;
}

static int ask_of(const struct fake_block *of)
{
    struct mgds_ptr ptr = ptr_of(of);
    struct mgds_export_handle handle;
    int rc = ask(&handle, &ptr);

    if (rc == 0) {
        assert_true(handle.id == of->id);
        assert_true(handle.base == of->base);
        assert_true(handle.size == of->size);
    }
    return rc;
}

static unsigned calls(void)
{
    return fake->asked_one + fake->asked_all + fake->told;
}

static void allocation_is_told_once(void **state)
{
    struct mgds_export_handle first, second, other;
    struct mgds_ptr ptr[2];
    unsigned before;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        fake->blocks[i] = block(3 + i, FIRST + i * MIB, MIB);
        ptr[i] = ptr_of(&fake->blocks[i]);
    }
    assert_int_equal(ask(&first, &ptr[0]), 0);
    assert_int_equal(ask(&other, &ptr[1]), 0);
    assert_int_equal(fake->told, 2);
    before = calls();
    fake->blocks[0].size = 0; /* and nobody looks */
    assert_int_equal(ask(&second, &ptr[0]), 0);
    assert_int_equal(calls(), before);
    assert_memory_equal(&first, &second, sizeof(first));
    assert_memory_not_equal(&first.name, &other.name, sizeof(first.name));
    assert_int_equal(fake_cuda_depth(), 0);
}

static void memory_allocated_again_makes_the_old_stale(void **state)
{
    uint64_t before = mgds_exports_stale();

    (void)state;
    fake->names_repeat = true;
    fake->blocks[0] = block(3, FIRST, MIB);
    assert_int_equal(ask_of(&fake->blocks[0]), 0);
    assert_false(mgds_export_is_stale(3));
    assert_true(mgds_exports_stale() == before);
    fake->blocks[0].id = 4;
    assert_int_equal(ask_of(&fake->blocks[0]), 0);
    assert_true(mgds_export_is_stale(3));
    assert_false(mgds_export_is_stale(4));
    assert_true(mgds_exports_stale() == before + 1);
    assert_int_equal(ask_of(&fake->blocks[0]), 0);
    assert_true(mgds_exports_stale() == before + 1);
}

static uint64_t asked; /* the address that further was asked about last */

/* Rows of MIBs, each an allocation that is there, with its number as id. */
static bool row(struct fake_block *out, uintptr_t addr)
{
    uint64_t base = addr & ~(MIB - 1);

    __atomic_store_n(&asked, addr, __ATOMIC_RELAXED);
    *out = block(base / MIB, base, MIB);
    return true;
}

/* The sweep is where it does not come to the end of so many soon. */
static void sweep_to(uint64_t addr)
{
    for (int i = 0; i <= MGDS_EXPORTS_MOST && asked != addr; i++)
        mgds_exports_sweep(1);
    assert_true(asked == addr);
}

/* Allocations first .. first + count - 1 of the row. */
static void ask_row(uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        struct fake_block of = block(i, i * MIB, MIB);

        assert_int_equal(ask_of(&of), 0);
    }
}

static void assert_stale(uint64_t first, uint64_t count, bool stale)
{
    for (uint64_t i = first; i < first + count; i++)
        assert_int_equal(mgds_export_is_stale(i), stale);
}

/* What overlaps in part, at either end or within, is gone; neighbours are not.
 * That is seen without asking about any of them. */
static void what_overlaps_the_new_is_stale(void **state)
{
    struct {
        uint64_t at, size, first, count;
    } cases[] = {
        {MIB / 2, MIB, 0, 2},       {MIB, MIB, 1, 1},
        {MIB - 1, 2, 0, 2},         {MIB + 1, 1, 1, 1},
        {MIB / 2, 3 * MIB, 0, 4},   {0, 16 * MIB, 0, 16},
        {15 * MIB, 2 * MIB, 15, 1}, {16 * MIB, MIB, 0, 0},
    };
    const uint64_t low = 100, high = 1000;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t before;

        reset(state);
        fake->further = row;
        ask_row(low, 16); /* for the sweep */
        ask_row(high, 16);
        sweep_to(low * MIB);
        before = mgds_exports_stale();
        fake->blocks[0] = block(7, high * MIB + cases[i].at, cases[i].size);
        assert_int_equal(ask_of(&fake->blocks[0]), 0);
        assert_true(mgds_exports_stale() == before + cases[i].count);
        assert_stale(high, cases[i].first, false);
        assert_stale(high + cases[i].first, cases[i].count, true);
        assert_stale(high + cases[i].first + cases[i].count,
                     16 - cases[i].first - cases[i].count, false);
        assert_stale(low, 16, false);
        assert_false(mgds_export_is_stale(7));
    }
}

static void memory_of_other_kinds_is_refused_unasked(void **state)
{
    const enum mgds_ptr_kind kinds[] = {MGDS_PTR_HOST,    MGDS_PTR_PINNED,
                                        MGDS_PTR_MANAGED, MGDS_PTR_POOL,
                                        MGDS_PTR_VMM,     MGDS_PTR_IMPORTED};
    struct mgds_export_handle handle;

    (void)state;
    fake->blocks[0] = block(3, FIRST, MIB);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct mgds_ptr ptr = ptr_of(&fake->blocks[0]);

        ptr.kind = kinds[i];
        assert_int_equal(ask(&handle, &ptr), -ENOTSUP);
    }
    assert_int_equal(calls(), 0);
}

static void refusal_is_remembered_until_the_memory_is_another(void **state)
{
    uint64_t before = mgds_exports_stale();
    unsigned told;

    (void)state;
    fake->tell_result = CUDA_ERROR_NOT_SUPPORTED;
    fake->blocks[0] = block(3, FIRST, MIB);
    assert_int_equal(ask_of(&fake->blocks[0]), -ENOTSUP);
    told = fake->told;
    fake->tell_result = CUDA_SUCCESS;
    assert_int_equal(ask_of(&fake->blocks[0]), -ENOTSUP);
    assert_int_equal(fake->told, told);
    fake->blocks[0].id = 4;
    assert_int_equal(ask_of(&fake->blocks[0]), 0);
    assert_true(mgds_exports_stale() == before); /* nobody has it mapped */
}

/* The handle would be of what is there now. */
static void allocation_that_is_gone_is_not_taken_for_the_next(void **state)
{
    struct fake_block gone = block(3, FIRST, MIB);

    (void)state;
    fake->blocks[0] = block(4, FIRST, MIB);
    assert_int_equal(ask_of(&gone), -EFAULT);
    fake->blocks[0] = gone;
    assert_int_equal(ask_of(&gone), 0); /* not remembered */
}

static unsigned depth;

/* Comes into the driver once more, as another thread might. */
static bool ask_within(struct fake_block *out, uintptr_t addr)
{
    *out = block(addr / MIB, addr, MIB);
    if (depth++ == 0)
        assert_int_equal(ask_of(out), 0);
    return true;
}

static void who_ask_at_once_are_told_of_one(void **state)
{
    uint64_t before = mgds_exports_stale();
    struct fake_block of = block(100, 100 * MIB, MIB);

    (void)state;
    depth = 0;
    fake->further = ask_within;
    assert_int_equal(ask_of(&of), 0);
    assert_int_equal(fake->told, 2);
    assert_true(mgds_exports_stale() == before);
    mgds_exports_fini();
    assert_true(mgds_exports_stale() == before + 1);
}

static void allocation_of_a_destroyed_context_is_refused(void **state)
{
    (void)state;
    fake->blocks[0] = block(3, FIRST, MIB);
    fake->contexts[0].handle = NULL;
    assert_int_equal(ask_of(&fake->blocks[0]), -ESHUTDOWN);
}

/* In few calls each, and those that are stay. */
static void sweep_finds_what_was_freed(void **state)
{
    uint64_t before;

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        fake->blocks[i] = block(10 + i, FIRST + i * MIB, MIB);
        assert_int_equal(ask_of(&fake->blocks[i]), 0);
    }
    before = mgds_exports_stale();
    mgds_exports_sweep(8);
    assert_true(mgds_exports_stale() == before);
    fake->blocks[2].size = 0;
    fake->blocks[5].id = 99;
    fake->asked_one = 0;
    mgds_exports_sweep(8);
    assert_int_equal(fake->asked_one, 8);
    assert_true(mgds_exports_stale() == before + 2);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(mgds_export_is_stale(10 + i), i == 2 || i == 5);
    mgds_exports_fini();
    mgds_exports_sweep(8);
    assert_int_equal(fake->asked_one, 8);
}

static void new_ones_find_what_was_freed(void **state)
{
    (void)state;
    fake->further = row;
    ask_row(100, 16);
    fake->blocks[0] = block(7, 105 * MIB, MIB); /* another, never asked about */
    for (uint64_t i = 0; i < 16 && !mgds_export_is_stale(105); i++)
        ask_row(200 + i, 1);
    assert_true(mgds_export_is_stale(105));
    assert_stale(100, 5, false);
    assert_stale(106, 10, false);
}

static void of_too_many_those_not_asked_about_for_longest_go(void **state)
{
    uint64_t before;
    unsigned told;

    (void)state;
    fake->further = row;
    ask_row(100, MGDS_EXPORTS_MOST);
    before = mgds_exports_stale();
    told = fake->told;
    assert_stale(100, MGDS_EXPORTS_MOST, false);
    ask_row(100, 2); /* in use */
    assert_int_equal(fake->told, told);
    ask_row(50, 1);
    ask_row(100 + MGDS_EXPORTS_MOST, 1);
    assert_true(mgds_exports_stale() == before + 2);
    assert_stale(100, 2, false);
    assert_stale(102, 2, true);
    assert_stale(104, MGDS_EXPORTS_MOST - 3, false);
    ask_row(102, 1); /* told once more */
    assert_int_equal(fake->told, told + 3);
    assert_stale(104, 1, true);
}

static void all_are_stale_after_the_end(void **state)
{
    uint64_t before = mgds_exports_stale();

    (void)state;
    fake->further = row;
    ask_row(100, 40);
    mgds_exports_fini();
    assert_true(mgds_exports_stale() == before + 40);
    assert_stale(100, 40, true);
    ask_row(100, 40);
    assert_int_equal(fake->told, 80);
}

static int ask_and_forget(void *arg)
{
    int rc = ask_of((const struct fake_block *)arg);

    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_int_equal(ask_of((const struct fake_block *)arg), 0);
    }
    mgds_exports_fini();
    mgds_context_fini();
    return rc;
}

static void want_of_memory_passes(void **state)
{
    (void)state;
    fake->blocks[0] = block(3, FIRST, MIB);
    assert_int_equal(
        mgds_fault_sweep(MGDS_FAULT_alloc, ask_and_forget, &fake->blocks[0]),
        2);
}

/* Slots whose memory threads free and allocate again. */
static uint64_t turns[SLOTS]; /* atomic */

static uint64_t id_now(uint64_t slot)
{
    return 1 + slot + TURN * __atomic_load_n(&turns[slot], __ATOMIC_ACQUIRE);
}

static bool slot_of(struct fake_block *out, uintptr_t addr)
{
    uint64_t slot = (addr - FIRST) / MIB;

    *out = block(id_now(slot), FIRST + slot * MIB, MIB);
    return slot < SLOTS;
}

/* Thread i is the only one to free what lies in slots i, i + THREADS, ...; all
 * ask about all. */
static void *ask_often(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    uint64_t mine = seed;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t slot = (seed = seed * 1664525u + 1013904223u) >> 16;
        struct fake_block of;
        int rc;

        slot %= SLOTS;
        slot_of(&of, FIRST + slot * MIB);
        rc = ask_of(&of);
        if (rc != 0) /* freed meanwhile, by its thread */
            assert_true(rc == -EFAULT && slot % THREADS != mine);
        else if (slot % THREADS == mine && i % 8 == 0)
            __atomic_fetch_add(&turns[slot], 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void threads_see_one_table(void **state)
{
    uint64_t before = mgds_exports_stale();
    pthread_t thread[THREADS];
    struct fake_block of;

    (void)state;
    fake->further = slot_of;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, (void *)i),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        slot_of(&of, FIRST + slot * MIB);
        assert_int_equal(ask_of(&of), 0);
        assert_false(mgds_export_is_stale(of.id));
        assert_true(of.id < TURN || mgds_export_is_stale(of.id - TURN));
    }
    assert_true(mgds_exports_stale() > before);
    fake->asked_one = 0;
    before = mgds_exports_stale();
    mgds_exports_sweep(SLOTS); /* there is nothing else in it */
    assert_true(mgds_exports_stale() == before);
    mgds_exports_fini();
    assert_true(mgds_exports_stale() == before + SLOTS);
}

#define EXPORT_TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXPORT_TEST(allocation_is_told_once),
        EXPORT_TEST(memory_allocated_again_makes_the_old_stale),
        EXPORT_TEST(what_overlaps_the_new_is_stale),
        EXPORT_TEST(memory_of_other_kinds_is_refused_unasked),
        EXPORT_TEST(refusal_is_remembered_until_the_memory_is_another),
        EXPORT_TEST(allocation_that_is_gone_is_not_taken_for_the_next),
        EXPORT_TEST(who_ask_at_once_are_told_of_one),
        EXPORT_TEST(allocation_of_a_destroyed_context_is_refused),
        EXPORT_TEST(sweep_finds_what_was_freed),
        EXPORT_TEST(new_ones_find_what_was_freed),
        EXPORT_TEST(of_too_many_those_not_asked_about_for_longest_go),
        EXPORT_TEST(all_are_stale_after_the_end),
        EXPORT_TEST(want_of_memory_passes),
        EXPORT_TEST(threads_see_one_table),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
