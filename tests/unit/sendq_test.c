/* A send queue in ordinary memory, whose HCA is the test: what it finds there,
 * and what is made of what it writes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tests/unit/hand_sendq.h"

static uint32_t put(struct hand_sendq *place, unsigned flags)
{
    struct mgds_wqe wqe = mgds_wqe_nop(HAND_QPN, flags);
    uint32_t index;

    assert_int_equal(mgds_sendq_put(&place->queue, &wqe, &index), 0);
    return index;
}

static bool is_signalled(const struct hand_sendq *place, uint32_t index)
{
    return (hand_sendq_block(place, index)[11] & MGDS_WQE_CE_ALWAYS) != 0;
}

static void a_wqe_is_stamped_where_it_is(void **state)
{
    struct hand_sendq place;
    uint32_t index;

    (void)state;
    hand_sendq_open(&place, 0x1fffe);
    for (uint32_t i = 0x1fffe; i < 0x20002; i++) {
        index = put(&place, 0);
        assert_int_equal(index, i);
        assert_int_equal(hand_sendq_block(&place, i)[1], i >> 8 & 0xff);
        assert_int_equal(hand_sendq_block(&place, i)[2], i & 0xff);
    }
}

/* Nothing is told before it is rung; then record and register say the same. */
static void a_ring_tells_all_that_was_put(void **state)
{
    static const uint8_t record[] = {0, 0, 0, 1};
    static const uint8_t doorbell[] = {0, 0, 1, 0, 0xfe, 0xdc, 0xba, 0};
    struct hand_sendq place;

    (void)state;
    hand_sendq_open(&place, 0xffff);
    mgds_sendq_ring(&place.queue);
    assert_int_equal(place.doorbell, 0); /* there is nothing to ring for */
    put(&place, 0);
    put(&place, 0);
    assert_int_equal(place.record, 0);
    assert_int_equal(place.doorbell, 0);
    mgds_sendq_ring(&place.queue);
    assert_memory_equal(&place.record, record, sizeof(record));
    assert_memory_equal(&place.doorbell, doorbell, sizeof(doorbell));
    place.doorbell = 0;
    mgds_sendq_ring(&place.queue);
    assert_int_equal(place.doorbell, 0); /* nor once more */
}

/* Somebody else stores what the queue would have stored. */
static void a_lent_bell_is_the_queues_own(void **state)
{
    struct mgds_sendq_bell bell;
    struct hand_sendq lent, rung;

    (void)state;
    hand_sendq_open(&lent, 0xffff);
    hand_sendq_open(&rung, 0xffff);
    put(&lent, 0);
    put(&rung, 0);
    bell = mgds_sendq_lend(&lent.queue);
    mgds_sendq_ring(&rung.queue);
    assert_int_equal(bell.record, rung.record);
    assert_int_equal(bell.doorbell, rung.doorbell);
    mgds_sendq_ring(&lent.queue);
    assert_int_equal(lent.doorbell, 0); /* it counts as rung */
}

static void a_full_ring_takes_nothing(void **state)
{
    struct mgds_wqe wqe = mgds_wqe_nop(HAND_QPN, 0);
    struct mgds_completion completion;
    struct hand_sendq place;
    uint32_t index;

    (void)state;
    hand_sendq_open(&place, 0xfffffffa); /* 32 bits end on the way */
    for (unsigned i = 0; i < HAND_BLOCKS; i++)
        put(&place, 0);
    assert_int_equal(mgds_sendq_put(&place.queue, &wqe, &index), -EAGAIN);
    hand_sendq_complete(&place, MGDS_CQE_REQUEST, 0xfffffffc, 0);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
    assert_int_equal(completion.index, 0xfffffffc);
    for (unsigned i = 0; i < 3; i++)
        put(&place, 0);
    assert_int_equal(mgds_sendq_put(&place.queue, &wqe, &index), -EAGAIN);
}

/* Every fourth of silent ones, counted from the last that was to be heard. */
static void half_a_ring_is_not_silent(void **state)
{
    struct hand_sendq place;

    (void)state;
    hand_sendq_open(&place, 0);
    for (unsigned i = 0; i < HAND_BLOCKS; i++)
        put(&place, i == 1 ? MGDS_WQE_CE_ALWAYS : 0);
    for (uint32_t i = 0; i < HAND_BLOCKS; i++)
        assert_int_equal(is_signalled(&place, i), i == 1 || i == 5);
}

static void completions_come_in_their_laps(void **state)
{
    struct mgds_completion completion;
    struct hand_sendq place;

    (void)state;
    hand_sendq_open(&place, 0);
    for (unsigned lap = 0; lap < 5 * HAND_ENTRIES; lap++) {
        uint32_t index = put(&place, MGDS_WQE_CE_ALWAYS);

        assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 0);
        hand_sendq_complete(&place, MGDS_CQE_REQUEST, index, 0);
        assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
        assert_int_equal(completion.state, MGDS_CQE_DONE);
        assert_int_equal(completion.index, index);
        assert_int_equal(completion.syndrome, 0);
    }
}

/* An error of the lap is there as any other CQE; one of the lap before is not.
 */
static void errors_are_read_as_errors(void **state)
{
    struct mgds_completion completion;
    struct hand_sendq place;

    (void)state;
    hand_sendq_open(&place, 0);
    for (unsigned i = 0; i < 2 * HAND_ENTRIES; i++) {
        uint32_t index = put(&place, 0);

        hand_sendq_complete(&place, MGDS_CQE_REQUEST_ERROR, index,
                            MGDS_SYNDROME_REMOTE_ACCESS);
        assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
        assert_int_equal(completion.state, MGDS_CQE_FAILED);
        assert_int_equal(completion.index, index);
        assert_int_equal(completion.syndrome, MGDS_SYNDROME_REMOTE_ACCESS);
        assert_int_equal(completion.vendor_syndrome, 0x88);
        assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 0);
    }
}

static struct mgds_wqe of_two_blocks(void)
{
    struct mgds_wqe wqe = mgds_wqe_nop(HAND_QPN, 0);

    wqe.bytes = 96; /* units that say nothing */
    wqe.ctrl.qpn_ds = mgds_to_be32((uint32_t)HAND_QPN << 8 | 6);
    return wqe;
}

/* Slots of two blocks: a short WQE has a NOP behind it, which is not free
 * before something behind it is done. */
static void slots_of_two_are_filled_up(void **state)
{
    struct mgds_wqe wide = of_two_blocks(), nop = mgds_wqe_nop(HAND_QPN, 0);
    struct mgds_completion completion;
    struct hand_sendq place;
    uint32_t index;

    (void)state;
    hand_sendq_open(&place, 0);
    place.queue.slot = 2;
    assert_int_equal(mgds_sendq_put(&place.queue, &wide, &index), 0);
    assert_int_equal(put(&place, 0), 2);
    assert_int_equal(hand_sendq_block(&place, 3)[3], MGDS_WQE_NOP);
    assert_int_equal(hand_sendq_block(&place, 3)[2], 3);
    assert_int_equal(put(&place, 0), 4);
    assert_int_equal(put(&place, 0), 6);
    assert_int_equal(mgds_sendq_put(&place.queue, &nop, &index), -EAGAIN);
    hand_sendq_complete(&place, MGDS_CQE_REQUEST, 2, 0);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
    assert_int_equal(put(&place, 0), 8); /* where the first one was */
    assert_int_equal(mgds_sendq_put(&place.queue, &nop, &index), -EAGAIN);
    hand_sendq_complete(&place, MGDS_CQE_REQUEST, 4, 0);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
    assert_int_equal(put(&place, 0), 10);
}

static void what_fills_a_slot_is_not_heard(void **state)
{
    struct mgds_completion completion;
    struct hand_sendq place;

    (void)state;
    hand_sendq_open(&place, 0);
    place.queue.slot = 2;
    put(&place, 0);
    put(&place, 0);
    for (uint32_t block = 0; block < 4; block++)
        hand_sendq_complete(&place, MGDS_CQE_REQUEST_ERROR, block,
                            MGDS_SYNDROME_FLUSHED);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
    assert_int_equal(completion.index, 0);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 1);
    assert_int_equal(completion.index, 2);
    assert_int_equal(mgds_sendq_poll(&place.queue, &completion), 0);
    assert_int_equal(place.queue.done, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wqe_is_stamped_where_it_is),
        cmocka_unit_test(a_ring_tells_all_that_was_put),
        cmocka_unit_test(a_lent_bell_is_the_queues_own),
        cmocka_unit_test(a_full_ring_takes_nothing),
        cmocka_unit_test(half_a_ring_is_not_silent),
        cmocka_unit_test(completions_come_in_their_laps),
        cmocka_unit_test(errors_are_read_as_errors),
        cmocka_unit_test(slots_of_two_are_filled_up),
        cmocka_unit_test(what_fills_a_slot_is_not_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
