/* Tests of shim/base/perthread.c: who owns a block, and what is left of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/perthread.h"
#include "tests/lib/fault_sweep.h"

#define THREADS 6
#define IN_A_ROW 50

static struct mgds_perthread pool;
static pthread_barrier_t all_have_one;

static void leave(void *block)
{
    mgds_perthread_put(block);
}

static int start(void **state)
{
    (void)state;
    return mgds_perthread_init(&pool, 3 * sizeof(uint64_t), leave);
}

static int finish(void **state)
{
    (void)state;
    mgds_perthread_fini(&pool);
    return 0;
}

static unsigned count_blocks(void)
{
    unsigned count = 0;
    for (void *block = NULL; (block = mgds_perthread_next(&pool, block));)
        ++count;
    return count;
}

static void *add_one(void *arg)
{
    uint64_t *block = (uint64_t *)mgds_perthread_get(&pool);
    if (arg)
        pthread_barrier_wait((pthread_barrier_t *)arg);
    block[2] += 1;
    return block;
}

static void block_is_empty_and_stays_the_threads_own(void **state)
{
    (void)state;
    uint64_t *block = (uint64_t *)mgds_perthread_get(&pool);
    assert_non_null(block);
    assert_int_equal(block[0] | block[1] | block[2], 0);
    assert_ptr_equal(mgds_perthread_get(&pool), block);
    assert_int_equal(count_blocks(), 1);
}

static void block_of_an_ended_thread_is_taken_over_as_it_is(void **state)
{
    (void)state;
    void *first = NULL;
    for (unsigned i = 1; i <= 5; ++i) {
        pthread_t thread;
        void *block;
        assert_int_equal(pthread_create(&thread, NULL, add_one, NULL), 0);
        assert_int_equal(pthread_join(thread, &block), 0);
        first = first ? first : block;
        assert_ptr_equal(block, first);
        assert_int_equal(((uint64_t *)block)[2], i);
    }
    assert_int_equal(count_blocks(), 1);
}

static void threads_at_one_time_have_distinct_blocks(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    void *blocks[THREADS];
    pthread_barrier_init(&all_have_one, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; ++i)
        assert_int_equal(
            pthread_create(&threads[i], NULL, add_one, &all_have_one), 0);
    for (unsigned i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_join(threads[i], &blocks[i]), 0);
        for (unsigned j = 0; j < i; ++j) {
            size_t apart =
                blocks[i] > blocks[j]
                    ? (size_t)((char *)blocks[i] - (char *)blocks[j])
                    : (size_t)((char *)blocks[j] - (char *)blocks[i]);
            assert_true(apart >= pool.bytes + 64);
        }
        assert_int_equal(((uint64_t *)blocks[i])[2], 1);
    }
    assert_int_equal(count_blocks(), THREADS);
    pthread_barrier_destroy(&all_have_one);
}

static void *start_threads_in_a_row(void *arg)
{
    for (unsigned i = 0; i < IN_A_ROW; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, add_one, NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            return pool.blocks; /* not NULL: failed */
    }
    return arg;
}

/* Nothing but the pool orders the old and the new owner here: TSan looks. */
static void block_changes_hands_without_losing_what_was_written(void **state)
{
    (void)state;
    pthread_t starters[THREADS];
    for (unsigned i = 0; i < THREADS; ++i)
        assert_int_equal(
            pthread_create(&starters[i], NULL, start_threads_in_a_row, NULL),
            0);
    for (unsigned i = 0; i < THREADS; ++i) {
        void *failed;
        assert_int_equal(pthread_join(starters[i], &failed), 0);
        assert_null(failed);
    }
    uint64_t sum = 0;
    for (void *block = NULL; (block = mgds_perthread_next(&pool, block));)
        sum += ((uint64_t *)block)[2];
    assert_int_equal(sum, THREADS * IN_A_ROW);
    assert_in_range(count_blocks(), 1, THREADS);
}

static int use_a_pool(void *arg)
{
    (void)arg;
    struct mgds_perthread own;
    int rc = mgds_perthread_init(&own, 64, leave);
    if (rc < 0)
        return rc;
    if (!mgds_perthread_get(&own)) {
        assert_null(mgds_perthread_next(&own, NULL));
        rc = -ENOMEM;
    }
    mgds_perthread_fini(&own);
    return rc;
}

static void without_memory_there_is_no_block(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, use_a_pool, NULL), 1);
}

static void without_a_free_key_there_is_no_pool(void **state)
{
    (void)state;
    pthread_key_t keys[2048];
    unsigned taken = 0;
    while (taken < 2048 && pthread_key_create(&keys[taken], NULL) == 0)
        ++taken;
    struct mgds_perthread own;
    assert_true(taken < 2048);
    assert_int_equal(mgds_perthread_init(&own, 64, leave), -EAGAIN);
    while (taken > 0)
        pthread_key_delete(keys[--taken]);
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(block_is_empty_and_stays_the_threads_own),
        POOL_TEST(block_of_an_ended_thread_is_taken_over_as_it_is),
        POOL_TEST(block_changes_hands_without_losing_what_was_written),
        POOL_TEST(threads_at_one_time_have_distinct_blocks),
        cmocka_unit_test(without_memory_there_is_no_block),
        cmocka_unit_test(without_a_free_key_there_is_no_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
