/* The pinned pool: classes, the budget, what becomes of idle memory. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/mem/pool.h"
#include "tests/soft/soft_cuda.h"

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static struct mgds_context *ctx;
static struct mgds_pool *pool;

static int start(void **state)
{
    CUcontext primary;

    (void)state;
    OK(cu.cuInit(0));
    OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cu.cuCtxSetCurrent(primary));
    assert_int_equal(mgds_context_of_stream(&ctx, NULL), 0);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    mgds_context_put(ctx);
    return 0;
}

static void open_pool(size_t budget)
{
    assert_int_equal(mgds_pool_create(&pool, ctx, budget), 0);
}

static void close_pool(void)
{
    mgds_pool_destroy(pool);
    mgds_defer_drain();
}

static struct mgds_piece *take(size_t bytes)
{
    struct mgds_piece *piece = NULL;

    assert_int_equal(mgds_pool_take(&piece, pool, bytes, MGDS_POOL_ANY), 0);
    assert_true(piece->bytes >= bytes);
    assert_int_equal((uintptr_t)piece->addr % 256, 0);
    memset(piece->addr, 0x3c, piece->bytes);
    return piece;
}

static void give(struct mgds_piece *piece)
{
    mgds_pool_give(pool, piece);
}

static enum mgds_ptr_kind kind_of(const struct mgds_piece *piece)
{
    struct mgds_ptr ptr;

    assert_int_equal(mgds_ptr_find(&ptr, piece->addr, piece->bytes), 0);
    return ptr.kind;
}

static void pieces_waste_little_and_do_not_overlap(void **state)
{
    const size_t sizes[] = {0,       1,           4 * KIB, 4 * KIB + 1,
                            MIB,     MIB + 1,     3 * MIB, 5 * MIB + 1,
                            7 * MIB, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1};
    struct mgds_piece *piece[12];

    (void)state;
    open_pool(256 * MIB);
    for (unsigned i = 0; i < 12; i++) {
        piece[i] = take(sizes[i]);
        assert_int_equal(kind_of(piece[i]), MGDS_PTR_PINNED);
        assert_true(piece[i]->bytes <= (sizes[i] < MIB ? 2 * sizes[i] + 4 * KIB
                                                       : sizes[i] / 4 * 5));
        for (unsigned k = 0; k < i; k++)
            assert_true((char *)piece[k]->addr + piece[k]->bytes <=
                            (char *)piece[i]->addr ||
                        (char *)piece[i]->addr + piece[i]->bytes <=
                            (char *)piece[k]->addr);
    }
    for (unsigned i = 0; i < 12; i++)
        give(piece[i]);
    close_pool();
}

static void small_pieces_share_what_is_pinned(void **state)
{
    struct mgds_piece *piece[513];

    (void)state;
    open_pool(256 * MIB);
    for (int i = 0; i < 512; i++)
        piece[i] = take(100);
    assert_int_equal(mgds_pool_pinned(pool), 2 * MIB);
    piece[512] = take(100);
    assert_int_equal(mgds_pool_pinned(pool), 4 * MIB);
    for (int i = 0; i < 513; i++)
        give(piece[i]);
    close_pool();
}

/* Pieces of two slabs, in either order. */
static void the_piece_given_back_last_is_taken_first(void **state)
{
    struct mgds_piece *piece[16];

    (void)state;
    open_pool(256 * MIB);
    for (int i = 0; i < 16; i++)
        piece[i] = take(MIB / 4);
    for (int first = 3; first < 16; first += 9) {
        int last = 15 - first;

        give(piece[first]);
        give(piece[last]);
        assert_ptr_equal(take(MIB / 4), piece[last]);
        assert_ptr_equal(take(MIB / 4), piece[first]);
    }
    for (int i = 0; i < 16; i++)
        give(piece[i]);
    close_pool();
}

static void beyond_the_budget_memory_is_ordinary(void **state)
{
    struct mgds_piece *piece[4], *extra;

    (void)state;
    open_pool(4 * MIB);
    for (int i = 0; i < 4; i++)
        piece[i] = take(MIB);
    extra = take(MIB);
    assert_false(extra->pinned);
    assert_int_equal(kind_of(extra), MGDS_PTR_HOST);
    assert_int_equal(mgds_pool_pinned(pool), 4 * MIB);
    give(extra);
    give(piece[0]);
    extra = take(MIB);
    assert_true(extra->pinned);
    give(extra);
    give(piece[1]);
    give(piece[2]);
    give(piece[3]);
    close_pool();
}

static void a_larger_idle_piece_serves_beyond_the_budget(void **state)
{
    struct mgds_piece *small;

    (void)state;
    open_pool(8 * MIB);
    give(take(8 * MIB));
    small = take(10);
    assert_true(small->pinned);
    assert_int_equal(small->bytes, 8 * MIB);
    give(small);
    close_pool();
}

/* Nothing is pinned for it; nor is what somebody uses divided. */
static void idle_memory_serves_other_sizes(void **state)
{
    struct mgds_piece *small, *large = NULL, *other = NULL;

    (void)state;
    open_pool(2 * MIB);
    small = take(4 * KIB);
    assert_int_equal(mgds_pool_take(&large, pool, 300 * KIB, MGDS_POOL_HELD),
                     -ENOMEM);
    give(small);
    assert_int_equal(mgds_pool_take(&large, pool, 300 * KIB, MGDS_POOL_HELD),
                     0);
    memset(large->addr, 0x5a, 300 * KIB);
    assert_int_equal(kind_of(large), MGDS_PTR_PINNED);
    assert_int_equal(mgds_pool_pinned(pool), 2 * MIB);
    assert_int_equal(mgds_pool_take(&other, pool, 4 * KIB, MGDS_POOL_SPARE),
                     -ENOMEM);
    give(large);
    small = take(4 * KIB);
    assert_int_equal(kind_of(small), MGDS_PTR_PINNED);
    assert_int_equal(mgds_pool_pinned(pool), 2 * MIB);
    give(small);
    close_pool();
}

static void memory_that_no_message_needs_is_given_up(void **state)
{
    struct mgds_piece *large = NULL;

    (void)state;
    open_pool(64 * MIB);
    give(take(32 * MIB));
    mgds_pools_relieve();
    for (int i = 0; i < 20000; i++)
        give(take(8));
    assert_true(mgds_pools_short());
    /* until a safe point comes it serves others */
    assert_int_equal(mgds_pool_take(&large, pool, 31 * MIB, MGDS_POOL_HELD), 0);
    give(large);
    assert_int_equal(mgds_pool_pinned(pool), 34 * MIB);
    mgds_pools_relieve();
    mgds_pool_trim(pool);
    mgds_defer_drain();
    assert_int_equal(mgds_pool_pinned(pool), 0);
    close_pool();
}

static int try(struct mgds_piece **piece, size_t bytes, enum mgds_pool_use use)
{
    int rc = mgds_pool_take(piece, pool, bytes, use);

    if (rc == 0)
        assert_int_equal(kind_of(*piece), MGDS_PTR_PINNED);
    return rc;
}

/* However much of it is idle. */
static void spare_pieces_have_a_quarter_of_the_budget(void **state)
{
    struct mgds_piece *spare[2], *none = NULL;

    (void)state;
    mgds_pools_relieve();
    open_pool(64 * MIB);
    for (int i = 0; i < 2; i++)
        assert_int_equal(try(&spare[i], 8 * MIB, MGDS_POOL_SPARE), 0);
    give(take(8 * MIB));
    assert_int_equal(try(&none, 8 * MIB, MGDS_POOL_SPARE), -ENOMEM);
    assert_false(mgds_pools_short());
    give(spare[0]);
    assert_int_equal(try(&spare[0], 8 * MIB, MGDS_POOL_SPARE), 0);
    give(spare[0]);
    give(spare[1]);
    close_pool();
}

static void what_is_held_leaves_a_quarter_of_the_budget(void **state)
{
    struct mgds_piece *spare, *held[4], *fixed[2], *none = NULL;

    (void)state;
    open_pool(48 * MIB);
    assert_int_equal(try(&spare, 8 * MIB, MGDS_POOL_SPARE), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(try(&held[i], 7 * MIB, MGDS_POOL_HELD), 0);
    assert_int_equal(try(&none, MIB, MGDS_POOL_HELD), -ENOMEM);
    assert_int_equal(try(&none, MIB, MGDS_POOL_SPARE), -ENOMEM);
    assert_int_equal(try(&fixed[0], 7 * MIB, MGDS_POOL_FIXED), 0);
    give(held[3]);
    assert_int_equal(try(&fixed[1], 7 * MIB, MGDS_POOL_FIXED), 0);
    assert_int_equal(try(&held[3], 4 * MIB, MGDS_POOL_HELD), 0);
    assert_null(none);
    for (int i = 0; i < 4; i++)
        give(held[i]);
    give(fixed[0]);
    give(fixed[1]);
    give(spare);
    mgds_pool_trim(pool);
    mgds_defer_drain();
    assert_int_equal(try(&held[0], 48 * MIB, MGDS_POOL_HELD), 0);
    give(held[0]);
    close_pool();
}

/* Larger idle pieces serve; smaller ones are in the way until a safe point. */
static void what_must_be_pinned_is_never_ordinary(void **state)
{
    struct mgds_piece *piece[2], *none = NULL;

    (void)state;
    mgds_pools_relieve();
    open_pool(10 * MIB);
    for (int i = 0; i < 2; i++)
        assert_int_equal(try(&piece[i], 5 * MIB, MGDS_POOL_FIXED), 0);
    assert_int_equal(try(&none, 10, MGDS_POOL_FIXED), -ENOMEM);
    assert_false(mgds_pools_short());
    give(piece[0]);
    assert_int_equal(try(&piece[0], 10, MGDS_POOL_FIXED), 0);
    assert_int_equal(piece[0]->bytes, 5 * MIB);
    give(piece[0]);
    give(piece[1]);
    assert_int_equal(try(&none, 8 * MIB, MGDS_POOL_FIXED), -ENOMEM);
    assert_int_equal(try(&none, SIZE_MAX, MGDS_POOL_FIXED), -ENOMEM);
    assert_null(none);
    assert_true(mgds_pools_short());
    mgds_pool_trim(pool);
    mgds_pools_relieve();
    assert_false(mgds_pools_short());
    mgds_defer_drain();
    assert_int_equal(try(&piece[0], 8 * MIB, MGDS_POOL_FIXED), 0);
    give(piece[0]);
    close_pool();
}

static void without_budget_nothing_is_pinned(void **state)
{
    struct mgds_piece *piece;

    (void)state;
    open_pool(0);
    piece = take(10);
    assert_false(piece->pinned);
    give(piece);
    assert_int_equal(mgds_pool_pinned(pool), 0);
    close_pool();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_waste_little_and_do_not_overlap),
        cmocka_unit_test(small_pieces_share_what_is_pinned),
        cmocka_unit_test(the_piece_given_back_last_is_taken_first),
        cmocka_unit_test(beyond_the_budget_memory_is_ordinary),
        cmocka_unit_test(a_larger_idle_piece_serves_beyond_the_budget),
        cmocka_unit_test(idle_memory_serves_other_sizes),
        cmocka_unit_test(memory_that_no_message_needs_is_given_up),
        cmocka_unit_test(spare_pieces_have_a_quarter_of_the_budget),
        cmocka_unit_test(what_is_held_leaves_a_quarter_of_the_budget),
        cmocka_unit_test(what_must_be_pinned_is_never_ordinary),
        cmocka_unit_test(without_budget_nothing_is_pinned),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
