/* Tests of shim/gds/mem/stock.c: who gets a fragment next. The pool is a row of
 * pieces here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/base/container.h"
#include "shim/gds/mem/stock.h"

enum { FRAGMENTS = 8, BYTES = 4096 };

static struct mgds_piece row[FRAGMENTS];
static unsigned taken;

int mgds_pool_take(struct mgds_piece **out, struct mgds_pool *pool,
                   size_t bytes, enum mgds_pool_use use)
{
    (void)pool;
    assert_int_equal(bytes, BYTES);
    assert_int_equal(use, MGDS_POOL_FIXED);
    *out = &row[taken++];
    return 0;
}

void mgds_pool_give(struct mgds_pool *pool, struct mgds_piece *piece)
{
    (void)pool;
    (void)piece;
    taken--;
}

/* One that wants so many fragments, and keeps what it has. */
struct flow {
    struct mgds_stock_waiter waiter;
    unsigned wants, has;
    struct mgds_piece *fragment[FRAGMENTS];
};

static bool got_fragment(struct mgds_stock_waiter *waiter,
                         struct mgds_piece *fragment)
{
    struct flow *flow = MGDS_CONTAINER_OF(waiter, struct flow, waiter);

    flow->fragment[flow->has++] = fragment;
    return --flow->wants > 0;
}

static void begin_flow(struct mgds_stock *stock, struct flow *flow,
                       unsigned wants)
{
    *flow = (struct flow){.waiter.got = got_fragment, .wants = wants};
    mgds_stock_want(stock, &flow->waiter);
}

static void give_one(struct mgds_stock *stock, struct flow *flow)
{
    mgds_stock_give(stock, &flow->waiter, flow->fragment[--flow->has]);
}

static void give_all(struct mgds_stock *stock, struct flow *flow)
{
    mgds_stock_leave(stock, &flow->waiter);
    while (flow->has > 0)
        give_one(stock, flow);
}

static struct mgds_stock stock;

static int fill_stock(void **state)
{
    (void)state;
    stock = (struct mgds_stock){.bytes = 0};
    mgds_stock_fill(&stock, NULL, BYTES, FRAGMENTS);
    return 0;
}

static int empty_stock(void **state)
{
    (void)state;
    assert_int_equal(stock.idles, FRAGMENTS);
    mgds_stock_empty(&stock, NULL);
    assert_int_equal(taken, 0);
    return 0;
}

/* A quarter is left to those that hold none. */
enum { LEFT = FRAGMENTS / 4, MOST = FRAGMENTS - LEFT };

static void one_by_itself_has_most(void **state)
{
    struct flow lone;

    (void)state;
    begin_flow(&stock, &lone, 100);
    assert_int_equal(lone.has, MOST);
    give_one(&stock, &lone);
    assert_int_equal(lone.has, MOST); /* again */
    give_all(&stock, &lone);
}

static void take_all(struct flow lengthy[])
{
    for (unsigned i = 0; i <= LEFT; i++)
        begin_flow(&stock, &lengthy[i], 100);
    assert_int_equal(lengthy[0].has, MOST);
    assert_int_equal(stock.idles, 0);
}

static void end_all(struct flow lengthy[])
{
    for (unsigned i = 0; i <= LEFT; i++)
        give_all(&stock, &lengthy[i]);
}

/* The first that comes back goes to the short one, though others wait since
 * before. */
static void short_message_passes_long_ones(void **state)
{
    struct flow lengthy[1 + LEFT], brief;

    (void)state;
    take_all(lengthy);
    begin_flow(&stock, &brief, 1);
    assert_int_equal(brief.has, 0);
    give_one(&stock, &lengthy[0]);
    assert_int_equal(brief.has, 1);
    assert_int_equal(lengthy[0].has, MOST - 1);
    give_all(&stock, &brief);
    end_all(lengthy);
}

static void equals_come_in_turn(void **state)
{
    struct flow first, others[3];

    (void)state;
    begin_flow(&stock, &first, MOST);
    for (unsigned i = 0; i < 3; i++)
        begin_flow(&stock, &others[i], 2);
    while (first.has > 0) {
        give_one(&stock, &first);
        assert_true(others[0].has >= others[1].has);
        assert_true(others[1].has >= others[2].has);
        assert_true(others[0].has <= others[2].has + 1);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(others[i].has, 2);
        give_all(&stock, &others[i]);
    }
}

/* The others go on when one never gives anything back, whoever was first. */
static void stopped_one_does_not_keep_all(void **state)
{
    struct flow stopped, moving;

    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        begin_flow(&stock, late ? &moving : &stopped, 100000);
        begin_flow(&stock, late ? &stopped : &moving, 100000);
        for (unsigned i = 0; i < 1000; i++) {
            give_one(&stock, &moving);
            assert_true(moving.has > 0);
            assert_true(stopped.has <= (late ? MOST / 2 : MOST));
        }
        give_all(&stock, &stopped);
        give_all(&stock, &moving);
    }
}

static void who_left_gets_none(void **state)
{
    struct flow lengthy[1 + LEFT], gone;

    (void)state;
    take_all(lengthy);
    begin_flow(&stock, &gone, 1);
    mgds_stock_leave(&stock, &gone.waiter);
    mgds_stock_leave(&stock, &gone.waiter);
    end_all(lengthy);
    assert_int_equal(gone.has, 0);
}

int main(void)
{
#define STOCK_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, fill_stock, empty_stock)
    const struct CMUnitTest tests[] = {
        STOCK_TEST(one_by_itself_has_most),
        STOCK_TEST(short_message_passes_long_ones),
        STOCK_TEST(equals_come_in_turn),
        STOCK_TEST(stopped_one_does_not_keep_all),
        STOCK_TEST(who_left_gets_none),
    };
#undef STOCK_TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
