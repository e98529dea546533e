/* What the matcher is made of, each against a plain array: queues by key, and a
 * heap. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "shim/base/container.h"
#include "shim/gds/match/fifos.h"
#include "shim/gds/match/heap.h"
#include "tests/lib/sanitized.h"

enum { RECORDS = 200, KEYS = 40, EVENTS = 20000 };

struct queued {
    struct mgds_fifo_node node; /* first */
    uint64_t turn;              /* when it was appended; 0: it is not in */
};

static uint64_t key_of(int key)
{
    return (uint64_t)(uint32_t)(key % 5 - 2) << 32 | (uint32_t)(key / 5 - 1);
}

/* Of the key's, the one that is next after that turn. */
static struct queued *next_after(struct queued *all, uint64_t key,
                                 uint64_t turn)
{
    struct queued *best = NULL;

    for (int i = 0; i < RECORDS; i++)
        if (all[i].turn > turn && all[i].node.key == key &&
            (!best || all[i].turn < best->turn))
            best = &all[i];
    return best;
}

static void expect_queue(struct mgds_fifos *fifos, struct queued *all,
                         uint64_t key)
{
    struct mgds_fifo_node *node = mgds_fifos_first(fifos, key);
    const struct mgds_fifo_node *last = NULL;
    struct queued *want = next_after(all, key, 0);

    while (want) {
        assert_ptr_equal(node, &want->node);
        last = node;
        node = node->next;
        want = next_after(all, key, want->turn);
    }
    assert_null(node);
    assert_ptr_equal(mgds_fifos_last(fifos, key), last);
}

static void queues_keep_their_order(void **state)
{
    static struct queued all[RECORDS];
    struct mgds_fifos fifos;
    unsigned seed = 1;

    (void)state;
    assert_int_equal(mgds_fifos_init(&fifos), 0);
    for (unsigned turn = 1; turn <= mgds_test_laps(EVENTS); turn++) {
        struct queued *one = &all[rand_r(&seed) % RECORDS];
        uint64_t key =
            one->turn ? one->node.key : key_of((int)(rand_r(&seed) % KEYS));

        if (one->turn)
            mgds_fifos_remove(&fifos, &one->node);
        else
            mgds_fifos_append(&fifos, key, &one->node);
        one->turn = one->turn ? 0 : turn;
        assert_int_equal(mgds_fifo_is_in(&one->node), one->turn > 0);
        expect_queue(&fifos, all, key);
    }
    for (int key = 0; key < KEYS; key++)
        expect_queue(&fifos, all, key_of(key));
    mgds_fifos_fini(&fifos);
}

struct ranked {
    struct mgds_heap_node node; /* first */
    bool in;
};

static const struct ranked *lowest_of(const struct ranked *all)
{
    const struct ranked *best = NULL;

    for (int i = 0; i < RECORDS; i++)
        if (all[i].in && (!best || all[i].node.rank < best->node.rank))
            best = &all[i];
    return best;
}

static void take_lowest(struct mgds_heap_node *heap, struct ranked *all,
                        uint64_t limit)
{
    const struct ranked *want = lowest_of(all);
    uint64_t looks = 0;
    struct mgds_heap_node *got = mgds_heap_take(heap, limit, &looks);

    assert_int_equal(got != NULL, want && want->node.rank < limit);
    if (!got)
        return;
    if (limit < UINT64_MAX)
        assert_int_equal(got->rank, want->node.rank);
    assert_true(MGDS_CONTAINER_OF(got, struct ranked, node)->in);
    MGDS_CONTAINER_OF(got, struct ranked, node)->in = false;
}

static void put_or_remove(struct mgds_heap_node *heap, struct ranked *one,
                          uint64_t rank)
{
    uint64_t looks = 0;

    if (one->in)
        mgds_heap_remove(&one->node, &looks);
    else
        mgds_heap_add(heap, rank, &one->node);
    one->in = !one->in;
    assert_int_equal(mgds_heap_is_in(&one->node), one->in);
}

static void a_heap_gives_the_lowest_first(void **state)
{
    static struct ranked all[RECORDS];
    struct mgds_heap_node heaps[2] = {{.child = NULL}, {.child = NULL}};
    unsigned seed = 2, at = 0;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(EVENTS); i++) {
        uint64_t rank = (uint64_t)rand_r(&seed) % 1000;
        int what = rand_r(&seed) % 8;

        if (what < 4)
            put_or_remove(&heaps[at], &all[rand_r(&seed) % RECORDS], rank);
        else if (what < 7)
            take_lowest(&heaps[at], all, rank);
        else if (rank < 100)
            take_lowest(&heaps[at], all, UINT64_MAX);
        else {
            mgds_heap_move(&heaps[1 - at], &heaps[at]);
            at = 1 - at;
        }
    }
    while (lowest_of(all))
        take_lowest(&heaps[at], all, 1000);
    assert_null(heaps[at].child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_keep_their_order),
        cmocka_unit_test(a_heap_gives_the_lowest_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
