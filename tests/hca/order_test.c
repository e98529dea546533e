/* The order of things: fences, completions, retries, flushes. Answers come
 * when the test lets them. */
#include <string.h>

#include "tests/hca/slow.h"

enum { FENCE = 2 << 5, FENCE_BOTH = 4 << 5, FENCE_STRONG = 3 << 5 };

static struct slow slow;

static void open_slow(struct place *place, struct options options)
{
    struct mgds_hca_wire wire = slow_wire(&slow, place);

    options.wire = &wire;
    place_open(place, &options);
}

static void begin(struct place *place, struct wqe wqe, uint8_t flags)
{
    wqe.at[11] |= flags;
    run_one(&place->a, &wqe);
}

/* READ to some place, then a WRITE from there. */
static void read_then_write(struct place *place, uint8_t fence)
{
    struct wqe wqe = wqe_read(&place->a, 0, 64);

    begin(place, wqe, 0);
    wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);
    wqe_raddr(&wqe, place_address(&place->b, 4096), place->b.key);
    wqe_data(&wqe, 64, place->a.key, place_address(&place->a, 0));
    begin(place, wqe, fence);
}

static void a_write_does_not_wait_for_a_read(void **state)
{
    struct place place;
    uint8_t before[64];

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    memcpy(before, place.a.memory, sizeof(before));
    read_then_write(&place, 0);
    assert_memory_equal(place.b.memory + 4096, before, 64);
    expect_none(&place.a.sends);
    slow_release(&slow, 2);
    assert_memory_equal(place.a.memory, place.b.memory, 64);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    place_close(&place);
}

static void a_fenced_write_waits_for_a_read(void **state)
{
    static const uint8_t fences[] = {FENCE, FENCE_BOTH, FENCE_STRONG};
    struct place place;

    (void)state;
    for (size_t i = 0; i < sizeof(fences); i++) {
        open_slow(&place, (struct options){.reads = 4});
        read_then_write(&place, fences[i]);
        assert_int_equal(slow.requests, 1);
        slow_release(&slow, 1);
        assert_int_equal(slow.requests, 2);
        assert_memory_equal(place.b.memory + 4096, place.b.memory, 64);
        slow_release(&slow, 1);
        expect_cqe(&place.a.sends, 0, 0);
        expect_cqe(&place.a.sends, 0, 1);
        place_close(&place);
    }
}

static void only_strong_ordering_waits_for_a_write(void **state)
{
    struct place place;

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    begin(&place, wqe_write(&place.a, 8, 8), FENCE);
    assert_int_equal(slow.requests, 2);
    begin(&place, wqe_write(&place.a, 16, 8), FENCE_STRONG);
    assert_int_equal(slow.requests, 2);
    slow_release(&slow, 2);
    assert_int_equal(slow.requests, 3);
    slow_release(&slow, 1);
    place_close(&place);
}

static void reads_under_way_are_limited(void **state)
{
    struct place place;

    (void)state;
    open_slow(&place, (struct options){.reads = 2});
    for (size_t i = 0; i < 5; i++)
        begin(&place, wqe_read(&place.a, 128 * i, 64), 0);
    assert_int_equal(slow.requests, 2);
    slow_release(&slow, 1);
    assert_int_equal(slow.requests, 3);
    slow_release(&slow, 4);
    for (size_t i = 0; i < 5; i++) {
        expect_cqe(&place.a.sends, 0, (uint16_t)i);
        assert_memory_equal(place.a.memory + 128 * i, place.b.memory + 128 * i,
                            64);
    }
    place_close(&place);
}

static void local_operations_complete_behind_others(void **state)
{
    struct place place;

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    begin(&place, wqe_ctrl(&place.a, 0x00, SIGNALLED), 0);
    expect_none(&place.a.sends);
    slow_release(&slow, 1);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    place_close(&place);
}

static void an_error_waits_for_what_is_ahead(void **state)
{
    struct place place;
    struct wqe bad;

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    bad = wqe_write(&place.a, 0, 8);
    bad.at[3] = 0x0e;
    begin(&place, bad, 0);
    begin(&place, wqe_write(&place.a, 16, 8), 0);
    expect_none(&place.a.sends);
    assert_int_equal(place.a.qp->state, MGDS_STATE_RTS);
    slow_release(&slow, 1);
    expect_cqe(&place.a.sends, 0, 0);
    expect_error(&place.a.sends, 0x02, 1);
    expect_error(&place.a.sends, 0x05, 2);
    assert_int_equal(slow.requests, 1);
    place_close(&place);
}

/* What is under way, then what was only posted, then the receives; what is
 * posted later is flushed later; none twice. */
static void a_failed_qp_flushes_in_order(void **state)
{
    struct place place;
    struct wqe bad;

    (void)state;
    open_slow(&place, (struct options){.reads = 1});
    post_receive(&place.a, 0, 8);
    post_receive(&place.a, 0, 8);
    bad = wqe_write(&place.a, 0, 8);
    bad.at[16 + 9]++; /* no such rkey */
    begin(&place, bad, 0);
    bad = wqe_read(&place.a, 0, 8);
    bad.at[11] = 0; /* unsignalled: flushed visibly all the same */
    begin(&place, bad, 0);
    begin(&place, wqe_read(&place.a, 0, 8), 0);
    bad = wqe_write(&place.a, 0, 8);
    bad.at[11] = 1 << 2; /* only its own error would show */
    begin(&place, bad, 0);
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    slow_release(&slow, 1);
    expect_error(&place.a.sends, 0x13, 0);
    expect_error(&place.a.sends, 0x05, 1);
    expect_error(&place.a.sends, 0x05, 2);
    expect_error(&place.a.sends, 0x05, 4);
    expect_none(&place.a.sends);
    expect_error(&place.a.receives, 0x05, 0);
    expect_error(&place.a.receives, 0x05, 1);
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    post_receive(&place.a, 0, 8);
    place_run(&place);
    expect_error(&place.a.sends, 0x05, 5);
    expect_error(&place.a.receives, 0x05, 2);
    expect_none(&place.a.receives);
    slow_release(&slow, slow.next - slow.first); /* too late for anybody */
    expect_none(&place.a.sends);
    place_close(&place);
}

static void a_send_comes_again_until_there_is_a_receive(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_send(&place.a, 0, 32);
    run_one(&place.a, &wqe);
    wqe = wqe_write(&place.a, 64, 8);
    memset(place.b.memory + 64, 0, 8);
    run_one(&place.a, &wqe);
    for (unsigned i = 0; i < 20; i++) {
        place.clock += PLACE_DELAY;
        place_run(&place);
    }
    expect_none(&place.a.sends);
    assert_int_equal(place.b.memory[64], 0); /* behind the send */
    post_receive(&place.b, 0, 64);
    place_run(&place); /* too early */
    expect_none(&place.a.sends);
    place.clock += PLACE_DELAY;
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    expect_cqe(&place.b.receives, 2, 0);
    assert_memory_equal(place.b.memory + 64, place.a.memory + 64, 8);
    place_close(&place);
}

static void a_write_without_receive_writes_nothing(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    memset(place.b.memory, 0, 8);
    wqe = wqe_write(&place.a, 0, 8);
    wqe.at[3] = 0x09;
    run_one(&place.a, &wqe);
    assert_memory_equal(place.b.memory, ((uint8_t[8]){0}), 8);
    post_receive(&place.b, 0, 8);
    place.clock += PLACE_DELAY;
    place_run(&place);
    assert_memory_equal(place.b.memory, place.a.memory, 8);
    expect_cqe(&place.b.receives, 1, 0);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

/* The requester hears of it when more is under way: all of that comes again. */
static void requests_behind_one_without_receive_are_passed_over(void **state)
{
    struct place place;

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    begin(&place, wqe_send(&place.a, 0, 32), 0);
    begin(&place, wqe_read(&place.a, 256, 8), 0);
    begin(&place, wqe_ctrl(&place.a, 0x00, SIGNALLED), 0);
    begin(&place, wqe_write(&place.a, 64, 8), 0);
    assert_int_equal(slow.requests, 3);
    assert_int_equal(slow.next, 1);
    post_receive(&place.b, 0, 64);
    slow_release(&slow, 1);
    place.clock += PLACE_DELAY;
    place_run(&place);
    assert_int_equal(slow.requests, 6);
    slow_release(&slow, 3);
    for (unsigned i = 0; i < 4; i++)
        expect_cqe(&place.a.sends, 0, (uint16_t)i);
    expect_cqe(&place.b.receives, 2, 0);
    assert_memory_equal(place.a.memory + 256, place.b.memory + 256, 8);
    place_close(&place);
}

static void a_count_of_receives_that_cannot_be_is_none(void **state)
{
    struct options options = {.rnr_retry = 1};
    struct place place;

    (void)state;
    place_open(&place, &options);
    set_record(&place.b, 0, PLACE_RECEIVES + 1);
    begin(&place, wqe_send(&place.a, 0, 8), 0);
    place.clock += PLACE_DELAY;
    place_run(&place);
    expect_error(&place.a.sends, 0x16, 0);
    place_close(&place);
}

/* A success gives all retries back. */
static void retries_are_counted_for_each_message(void **state)
{
    struct options options = {.rnr_retry = 2};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (unsigned n = 0; n < 4; n++) {
        wqe = wqe_send(&place.a, 0, 8);
        run_one(&place.a, &wqe);
        place.clock += PLACE_DELAY;
        place_run(&place);
        post_receive(&place.b, 0, 8);
        place.clock += PLACE_DELAY;
        place_run(&place);
        expect_cqe(&place.a.sends, 0, (uint16_t)n);
    }
    wqe = wqe_send(&place.a, 0, 8);
    run_one(&place.a, &wqe);
    for (unsigned i = 0; i < 2; i++) {
        expect_none(&place.a.sends);
        place.clock += PLACE_DELAY;
        place_run(&place);
    }
    expect_error(&place.a.sends, 0x16, 4);
    assert_int_equal(place.b.qp->state, MGDS_STATE_RTS);
    place_close(&place);
}

static void a_drained_queue_tells_when_all_has_ended(void **state)
{
    struct mgds_hca_change change = {.state = MGDS_STATE_SQD};
    struct place place;

    (void)state;
    open_slow(&place, (struct options){.reads = 4});
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), 0);
    begin(&place, wqe_write(&place.a, 8, 8), 0);
    assert_int_equal(slow.requests, 1);
    assert_int_equal(place.events, 0);
    slow_release(&slow, 1);
    assert_int_equal(place.events, 1);
    assert_int_equal(place.event[0], MGDS_EVENT_SQ_DRAINED);
    change.state = MGDS_STATE_RTS;
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), 0);
    place_run(&place);
    assert_int_equal(slow.requests, 2);
    slow_release(&slow, 1);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    change.state = MGDS_STATE_SQD;
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), 0);
    place_run(&place);
    assert_int_equal(place.events, 2); /* nothing to wait for */
    place_close(&place);
}

static void states_follow_each_other(void **state)
{
    static const enum mgds_hca_state wrong[][2] = {
        {MGDS_STATE_RESET, MGDS_STATE_RTR}, {MGDS_STATE_RESET, MGDS_STATE_RTS},
        {MGDS_STATE_INIT, MGDS_STATE_RTS},  {MGDS_STATE_RTR, MGDS_STATE_INIT},
        {MGDS_STATE_RTS, MGDS_STATE_RTR},   {MGDS_STATE_ERR, MGDS_STATE_RTS},
        {MGDS_STATE_SQD, MGDS_STATE_RTR},
    };
    struct place place;
    struct mgds_hca_change change = {.reads = 1};

    (void)state;
    place_open(&place, NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        place.a.qp->state = wrong[i][0];
        change.state = wrong[i][1];
        assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), -22);
        assert_int_equal(place.a.qp->state, wrong[i][0]);
    }
    place.a.qp->state = MGDS_STATE_RTR;
    change = (struct mgds_hca_change){.state = MGDS_STATE_RTS, .reads = 17};
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), -22);
    place_close(&place);
}

static void a_qp_lives_again_after_reset(void **state)
{
    struct mgds_hca_change reset = {.state = MGDS_STATE_RESET};
    struct place place;
    struct wqe bad;

    (void)state;
    place_open(&place, NULL);
    bad = wqe_write(&place.a, 0, 8);
    bad.at[0] = 1;
    begin(&place, bad, 0);
    expect_error(&place.a.sends, 0x02, 0);
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &reset), 0);
    assert_int_equal(mgds_hca_qp_modify(place.b.qp, &reset), 0);
    place.a.pi = 0;
    set_record(&place.a, 1, 0);
    place_connect(&place.a, place.a.qp, PLACE_QPN_B);
    place_connect(&place.b, place.b.qp, PLACE_QPN_A);
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

/* What was set at RTR does not fit the peer: nobody hears the message. */
static void a_message_of_another_path_is_not_heard(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    place.b.qp->set.peer = PLACE_QPN_A + 1;
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    expect_error(&place.a.sends, 0x15, 0);
    place_close(&place);
    place_open(&place, NULL);
    place.b.qp->receive.psn++;
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    expect_error(&place.a.sends, 0x15, 0);
    place_close(&place);
    place_open(&place, NULL);
    place.a.qp->set.peer = 0xfffff0; /* of no device */
    begin(&place, wqe_write(&place.a, 0, 8), 0);
    expect_error(&place.a.sends, 0x15, 0);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_does_not_wait_for_a_read),
        cmocka_unit_test(a_fenced_write_waits_for_a_read),
        cmocka_unit_test(only_strong_ordering_waits_for_a_write),
        cmocka_unit_test(reads_under_way_are_limited),
        cmocka_unit_test(local_operations_complete_behind_others),
        cmocka_unit_test(an_error_waits_for_what_is_ahead),
        cmocka_unit_test(a_failed_qp_flushes_in_order),
        cmocka_unit_test(a_send_comes_again_until_there_is_a_receive),
        cmocka_unit_test(a_write_without_receive_writes_nothing),
        cmocka_unit_test(requests_behind_one_without_receive_are_passed_over),
        cmocka_unit_test(a_count_of_receives_that_cannot_be_is_none),
        cmocka_unit_test(retries_are_counted_for_each_message),
        cmocka_unit_test(a_drained_queue_tells_when_all_has_ended),
        cmocka_unit_test(states_follow_each_other),
        cmocka_unit_test(a_qp_lives_again_after_reset),
        cmocka_unit_test(a_message_of_another_path_is_not_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
