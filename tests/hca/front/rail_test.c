/* Queues that shim/gds/hca makes through the real libmlx5, and that are filled,
 * rung and polled by hand: the ways of messages that the transports will take.
 */
#include <errno.h>
#include <string.h>

#include "shim/gds/hca/news.h"
#include "shim/gds/hca/syndrome.h"
#include "tests/hca/front/rail_side.h"
#include "tests/lib/sanitized.h"

enum { DATA = 256, WORD = 8, BATCH = 16, MESSAGES = 70000 };

struct place {
    struct rail_side a; /* posts */
    struct rail_side b;
    struct side_memory at_a;
    struct side_memory at_b;
};

static void open_place(struct place *place)
{
    uint8_t frame_a[MGDS_END_BYTES], frame_b[MGDS_END_BYTES];

    side_open(&place->a, frame_a, &place->at_a);
    side_open(&place->b, frame_b, &place->at_b);
    side_connect(&place->a, frame_b);
    side_connect(&place->b, frame_a);
}

static void close_place(struct place *place)
{
    side_close(&place->a);
    side_close(&place->b);
}

static uint64_t *word_at(const struct rail_side *side, size_t offset)
{
    return (uint64_t *)(void *)(side->memory + offset);
}

/* Message n: data that n fills, and behind it the word n, inline. */
static uint32_t put_message(struct place *place, uint64_t n)
{
    size_t slot = n % BATCH * DATA;

    memset(place->a.memory + slot, (int)(n & 0xff), DATA - WORD);
    side_put(&place->a,
             mgds_wqe_write(side_path(&place->a), 0,
                            side_remote(place->at_b, slot),
                            side_local(&place->a, slot, DATA - WORD)));
    return side_put(
        &place->a, mgds_wqe_write_inline(
                       side_path(&place->a),
                       n % BATCH == BATCH - 1 ? MGDS_WQE_CE_ALWAYS : 0,
                       side_remote(place->at_b, slot + DATA - WORD), &n, WORD));
}

static void take_message(const struct place *place, uint64_t n)
{
    size_t slot = n % BATCH * DATA;

    side_await(word_at(&place->b, slot + DATA - WORD), n);
    for (unsigned i = 0; i < DATA - WORD; i++)
        assert_int_equal(place->b.memory[slot + i], n & 0xff);
}

/* More than the index has bits for, a ring that is short, and a completion for
 * each batch: laps of ring, CQ and index. */
static void data_is_there_before_the_word_behind_it(void **state)
{
    uint64_t messages = MGDS_SANITIZED ? MESSAGES / 10 : MESSAGES;
    struct place place;

    (void)state;
    open_place(&place);
    for (uint64_t n = BATCH; n < messages; n += BATCH) {
        uint32_t last = 0;

        for (unsigned i = 0; i < BATCH; i++)
            last = put_message(&place, n + i);
        mgds_sendq_ring(place.a.sendq);
        for (unsigned i = 0; i < BATCH; i++)
            take_message(&place, n + i);
        side_expect(&place.a, last);
    }
    close_place(&place);
}

/* Payload and word in one WQE, and in one packet. */
static void short_messages_are_inline(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    for (uint32_t bytes = 1; bytes <= 20; bytes++) {
        uint8_t message[20 + WORD];
        uint64_t word = bytes;
        size_t slot = (size_t)bytes * 64 - bytes; /* the word is aligned */

        memset(message, (int)(bytes + 100), bytes);
        memcpy(message + bytes, &word, WORD);
        side_put(&place.a, mgds_wqe_write_inline(side_path(&place.a), 0,
                                                 side_remote(place.at_b, slot),
                                                 message, bytes + WORD));
        mgds_sendq_ring(place.a.sendq);
        side_await(word_at(&place.b, (size_t)bytes * 64), word);
        assert_memory_equal(place.b.memory + slot, message, bytes);
    }
    close_place(&place);
}

/* Takes the completions that are there, so that the ring comes free. */
static void drain(struct rail_side *side)
{
    struct mgds_completion completion;

    while (mgds_sendq_poll(side->sendq, &completion) == 1)
        assert_int_equal(completion.state, MGDS_CQE_DONE);
}

/* A READ, and behind it, fenced, an atomic on the word of who has the data. Its
 * old value, 0xff.., lands here behind the data, and tells of both. */
static void a_fenced_atomic_tells_both_ends_of_a_read(void **state)
{
    enum { BYTES = 3000, FLAG = 32768, DONE = 40000 };
    struct place place;
    uint64_t *flag, *done;

    (void)state;
    open_place(&place);
    flag = word_at(&place.a, FLAG);
    done = word_at(&place.b, DONE);
    for (uint64_t n = 1; n < 100; n++) {
        memset(place.b.memory, (int)n, BYTES);
        *flag = 0;
        __atomic_store_n(done, n, __ATOMIC_RELEASE);
        side_put(&place.a, mgds_wqe_read(side_path(&place.a), 0,
                                         side_remote(place.at_b, 0),
                                         side_local(&place.a, 0, BYTES)));
        side_put(&place.a,
                 mgds_wqe_fetch_add(side_path(&place.a), MGDS_WQE_FENCE,
                                    side_remote(place.at_b, DONE), 1000,
                                    side_local(&place.a, FLAG, WORD)));
        mgds_sendq_ring(place.a.sendq);
        side_await(flag, n);
        assert_memory_equal(place.a.memory, place.b.memory, BYTES);
        assert_int_equal(*done, n + 1000);
        drain(&place.a);
    }
    close_place(&place);
}

static void a_word_is_swapped_if_it_is_as_expected(void **state)
{
    const struct mgds_wqe_swap swap = {.compare = 5, .swap = 6};
    struct place place;

    (void)state;
    open_place(&place);
    *word_at(&place.b, 0) = 5;
    for (uint64_t old = 5; old < 7; old++) {
        uint32_t index = side_put(
            &place.a,
            mgds_wqe_compare_swap(side_path(&place.a), MGDS_WQE_CE_ALWAYS,
                                  side_remote(place.at_b, 0), swap,
                                  side_local(&place.a, 64, WORD)));

        mgds_sendq_ring(place.a.sendq);
        side_expect(&place.a, index);
        assert_int_equal(*word_at(&place.a, 64), old);
        assert_int_equal(*word_at(&place.b, 0), 6);
    }
    close_place(&place);
}

static struct mgds_wqe nop(const struct place *place)
{
    return mgds_wqe_nop(place->a.sendq->qpn, 0);
}

/* Nobody asked for completions: the queue hears of half a ring by itself. */
static void a_full_ring_comes_free_again(void **state)
{
    struct place place;
    struct mgds_completion completion;
    struct mgds_wqe wqe;
    uint32_t index;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < SIDE_BLOCKS; i++)
        assert_int_equal(side_put(&place.a, nop(&place)), i);
    wqe = nop(&place);
    assert_int_equal(mgds_sendq_put(place.a.sendq, &wqe, &index), -EAGAIN);
    assert_int_equal(mgds_sendq_poll(place.a.sendq, &completion), 0);
    mgds_sendq_ring(place.a.sendq);
    side_expect(&place.a, SIDE_BLOCKS / 2 - 1);
    side_expect(&place.a, SIDE_BLOCKS - 1);
    assert_int_equal(side_put(&place.a, nop(&place)), SIDE_BLOCKS);
    close_place(&place);
}

static void a_wqe_of_two_blocks_does_not_go(void **state)
{
    static const uint8_t payload[MGDS_WQE_INLINE_RC + 1];
    struct place place;
    struct mgds_wqe wqe;
    uint32_t index;

    (void)state;
    open_place(&place);
    wqe = mgds_wqe_write_inline(side_path(&place.a), 0,
                                side_remote(place.at_b, 0), payload,
                                sizeof(payload));
    assert_int_equal(mgds_sendq_put(place.a.sendq, &wqe, &index), -EMSGSIZE);
    close_place(&place);
}

static void assert_failed(struct rail_side *side, uint32_t index,
                          uint8_t syndrome)
{
    struct mgds_completion completion = side_wait(side);

    assert_int_equal(completion.state, MGDS_CQE_FAILED);
    assert_int_equal(completion.syndrome, syndrome);
    assert_int_equal(completion.index, index);
}

/* The first error says what is wrong; whatever is behind it is flushed, and the
 * ring, which is full, comes free. */
static void a_broken_key_is_an_error_and_no_delay(void **state)
{
    struct place place;
    struct mgds_wqe_remote wrong;

    (void)state;
    open_place(&place);
    wrong = side_remote(place.at_b, 0);
    wrong.rkey ^= 0x5a00;
    side_put(&place.a, mgds_wqe_write(side_path(&place.a), 0, wrong,
                                      side_local(&place.a, 0, DATA)));
    for (unsigned i = 1; i < SIDE_BLOCKS; i++)
        side_put(&place.a, nop(&place));
    mgds_sendq_ring(place.a.sendq);
    assert_failed(&place.a, 0, MGDS_SYNDROME_REMOTE_ACCESS);
    assert_non_null(strstr(mgds_syndrome_text(MGDS_SYNDROME_REMOTE_ACCESS),
                           "remote access error"));
    for (uint32_t i = 1; i < SIDE_BLOCKS; i++)
        assert_failed(&place.a, i, MGDS_SYNDROME_FLUSHED);
    assert_int_equal(side_put(&place.a, nop(&place)), SIDE_BLOCKS);
    close_place(&place);
}

/* The end that refused hears of it, though it has posted nothing. */
static void the_other_end_hears_of_a_wrong_key(void **state)
{
    struct place place;
    struct mgds_wqe_remote wrong;
    struct mgds_news news;

    (void)state;
    open_place(&place);
    assert_int_equal(mgds_rail_hear(place.b.rail, &news), 0);
    wrong = side_remote(place.at_b, 0);
    wrong.rkey ^= 0x5a00;
    side_put(&place.a, mgds_wqe_write(side_path(&place.a), 0, wrong,
                                      side_local(&place.a, 0, DATA)));
    mgds_sendq_ring(place.a.sendq);
    assert_failed(&place.a, 0, MGDS_SYNDROME_REMOTE_ACCESS);
    side_await_news(&place.b, &news);
    assert_int_equal(news.kind, MGDS_NEWS_QUEUE);
    assert_int_equal(news.qpn, place.b.sendq->qpn);
    close_place(&place);
}

static void a_broken_qp_flushes(void **state)
{
    struct place place;
    uint32_t index;

    (void)state;
    open_place(&place);
    mgds_qp_break(place.a.qp);
    index = side_put(&place.a, nop(&place));
    mgds_sendq_ring(place.a.sendq);
    assert_failed(&place.a, index, MGDS_SYNDROME_FLUSHED);
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_there_before_the_word_behind_it),
        cmocka_unit_test(short_messages_are_inline),
        cmocka_unit_test(a_fenced_atomic_tells_both_ends_of_a_read),
        cmocka_unit_test(a_word_is_swapped_if_it_is_as_expected),
        cmocka_unit_test(a_full_ring_comes_free_again),
        cmocka_unit_test(a_wqe_of_two_blocks_does_not_go),
        cmocka_unit_test(a_broken_key_is_an_error_and_no_delay),
        cmocka_unit_test(the_other_end_hears_of_a_wrong_key),
        cmocka_unit_test(a_broken_qp_flushes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
