/* Doorbells: how far they reach, what they must match, and how CQs are
 * armed. */
#include <stdlib.h>
#include <string.h>

#include "tests/hca/place.h"

/* Posts a WRITE that nobody rang for. */
static void post_write(struct place *place, size_t offset)
{
    struct wqe wqe = wqe_write(&place->a, offset, 8);

    post(&place->a, &wqe);
}

/* A doorbell that is made up: next free index, QPN, no DS. */
static void ring_made_up_at(struct end *end, size_t offset, uint16_t next,
                            uint32_t qpn)
{
    uint8_t word[8] = {0,
                       (uint8_t)(next >> 8),
                       (uint8_t)next,
                       0,
                       (uint8_t)(qpn >> 16),
                       (uint8_t)(qpn >> 8),
                       (uint8_t)qpn,
                       0};

    ring_register(end, offset, word);
    place_run(end->place);
}

static void ring_made_up(struct end *end, uint16_t next, uint32_t qpn)
{
    ring_made_up_at(end, 0x800, next, qpn);
}

static void nothing_runs_behind_the_last_doorbell(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    ring(&place.a);
    post_write(&place, 8);
    post_write(&place, 16);
    set_record(&place.a, 1, 3); /* the record alone is no doorbell */
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    expect_none(&place.a.sends);
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 1);
    expect_cqe(&place.a.sends, 0, 2);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

static void a_doorbell_may_be_made_up(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    post_write(&place, 8);
    post_write(&place, 16);
    set_record(&place.a, 1, 3);
    ring_made_up(&place.a, 2, PLACE_QPN_A);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    expect_none(&place.a.sends);
    ring_made_up(&place.a, 3, PLACE_QPN_A);
    ring_made_up(&place.a, 3, PLACE_QPN_A); /* once more does no harm */
    expect_cqe(&place.a.sends, 0, 2);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

/* The index wraps to 0 exactly: the first word of the doorbell is 0. */
static void a_made_up_doorbell_may_be_of_index_0(void **state)
{
    struct options options = {.blocks = 16};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    while (place.a.pi != 0xffff) {
        wqe = wqe_ctrl(&place.a, 0x00, 0);
        run_one(&place.a, &wqe);
    }
    post_write(&place, 0);
    set_record(&place.a, 1, 0);
    ring_made_up(&place.a, 0, PLACE_QPN_A);
    expect_cqe(&place.a.sends, 0, 0xffff);
    place_close(&place);
}

static void every_half_of_the_register_counts(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    for (unsigned n = 0; n < 8; n++) {
        post_write(&place, 0);
        set_record(&place.a, 1, place.a.pi);
        ring_register(&place.a, n % 2 ? 0x900 : 0x800, place.a.last);
        place_run(&place);
        expect_cqe(&place.a.sends, 0, (uint16_t)n);
    }
    place_close(&place);
}

/* The program was twice around while the engine was away. */
static void halves_are_taken_in_the_order_of_ringing(void **state)
{
    struct place place;
    uint8_t second[8];

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    memcpy(second, place.a.last, sizeof(second));
    post_write(&place, 8);
    set_record(&place.a, 1, 2);
    ring_register(&place.a, 0x900, second);
    ring_register(&place.a, 0x800, place.a.last);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

static void blueflame_writes_the_whole_wqe(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    for (unsigned n = 0; n < 4; n++) {
        wqe = wqe_write(&place.a, 0, 8);
        post(&place.a, &wqe);
        set_record(&place.a, 1, place.a.pi);
        for (size_t at = 64; at > 0; at -= 8)
            ring_register(&place.a, 0x800 + at - 8, wqe.at + at - 8);
        place_run(&place);
        expect_cqe(&place.a.sends, 0, (uint16_t)n);
    }
    place_close(&place);
}

static void a_doorbell_in_two_halves_is_one(void **state)
{
    struct place place;
    uint8_t word[8] = {0};

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    set_record(&place.a, 1, 1);
    memcpy(word, place.a.last, 4);
    ring_register(&place.a, 0x800, word);
    place_run(&place);
    expect_none(&place.a.sends);
    ring_register(&place.a, 0x800, place.a.last);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

static void expect_misuse(struct place *place, enum mgds_hca_misuse what)
{
    expect_none(&place->a.sends);
    assert_int_equal(place->misuses, 1);
    assert_int_equal(place->misuse, what);
    place->misuses = 0;
}

static void a_doorbell_of_another_qp_is_misuse(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    set_record(&place.a, 1, 1);
    ring_made_up(&place.a, 1, PLACE_QPN_A + 1);
    expect_misuse(&place, MGDS_MISUSE_DOORBELL_QPN);
    place_close(&place);
}

static void a_doorbell_backwards_or_too_far_is_misuse(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    post_write(&place, 0);
    set_record(&place.a, 1, 2);
    ring_made_up(&place.a, 17, PLACE_QPN_A);
    expect_misuse(&place, MGDS_MISUSE_DOORBELL_INDEX);
    ring_made_up(&place.a, 2, PLACE_QPN_A);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    ring_made_up(&place.a, 1, PLACE_QPN_A);
    expect_misuse(&place, MGDS_MISUSE_DOORBELL_INDEX);
    place_close(&place);
}

static void a_record_that_stays_behind_is_misuse(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    ring_made_up(&place.a, 1, PLACE_QPN_A);
    expect_cqe(&place.a.sends, 0, 0); /* the doorbell counts, for now */
    assert_int_equal(place.misuses, 0);
    place.clock += PLACE_LATE;
    place_run(&place);
    expect_misuse(&place, MGDS_MISUSE_RECORD_BEHIND);
    place.clock += PLACE_LATE;
    place_run(&place); /* told once */
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

/* Doorbell, record, doorbell: as GPU programs ring twice. */
static void a_record_between_two_doorbells_is_in_time(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    post_write(&place, 0);
    ring_made_up(&place.a, 1, PLACE_QPN_A);
    set_record(&place.a, 1, 1);
    ring_made_up(&place.a, 1, PLACE_QPN_A);
    place.clock += PLACE_LATE;
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

static void a_doorbell_before_rts_is_remembered(void **state)
{
    struct options options = {.unconnected = true};
    struct mgds_hca_change change = {.state = MGDS_STATE_INIT};
    struct place place;

    (void)state;
    place_open(&place, &options);
    place_connect(&place.b, place.b.qp, PLACE_QPN_A);
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &change), 0);
    post_write(&place, 0);
    post_write(&place, 0);
    ring(&place.a);
    place_run(&place);
    expect_none(&place.a.sends);
    ring_made_up(&place.a, 1, PLACE_QPN_A); /* backwards */
    expect_misuse(&place, MGDS_MISUSE_DOORBELL_INDEX);
    place_connect(&place.a, place.a.qp, PLACE_QPN_B);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    place_close(&place);
}

static void a_doorbell_in_reset_is_not(void **state)
{
    struct options options = {.unconnected = true};
    struct place place;

    (void)state;
    place_open(&place, &options);
    place_connect(&place.b, place.b.qp, PLACE_QPN_A);
    post_write(&place, 0);
    ring(&place.a);
    place_run(&place);
    place_connect(&place.a, place.a.qp, PLACE_QPN_B);
    place_run(&place);
    expect_none(&place.a.sends);
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

/* Another QP on the register of end a, connected to nothing. */
static struct mgds_hca_qp *attach_second(struct place *place, uint8_t *ring,
                                         struct mgds_be32 *record)
{
    struct mgds_hca_qp_attr attr = place->a.qp->attr;
    struct mgds_hca_qp *qp;

    attr.send_buffer = ring;
    attr.record = record;
    attr.receives = 0;
    assert_int_equal(mgds_hca_qp_attach(place->a.hca, &attr, &qp), 0);
    place_connect(&place->a, qp, 0x777);
    return qp;
}

static void any_doorbell_of_a_shared_register_scans_its_records(void **state)
{
    struct mgds_be32 *record = calloc(1, 64);
    uint8_t *ring_bytes = aligned_alloc(64, 1024);
    struct mgds_hca_qp *second;
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    second = attach_second(&place, ring_bytes, record);
    wqe = wqe_ctrl(&place.a, 0x00, SIGNALLED);
    wqe.at[6]++;
    wqe.at[7] = 1;
    memcpy(ring_bytes, wqe.at, 16);
    record[1] = mgds_to_be32(1);
    post_write(&place, 0);
    set_record(&place.a, 1, 1);
    ring_made_up(&place.a, 0x4711, 0x4711); /* nobody's */
    assert_true(take_cqe(&place.a.sends, &cqe));
    assert_true(take_cqe(&place.a.sends, &cqe));
    assert_int_equal(cqe.opcode, 0);
    assert_int_equal(place.misuses, 0);
    mgds_hca_qp_detach(second);
    free(ring_bytes);
    free(record);
    place_close(&place);
}

/* A QP that may ring either register of its page. */
static void leave_register(struct mgds_hca_qp *qp)
{
    mgds_hca_uar_drop_qp(qp->attr.uar, qp);
    qp->attr.uar_register = MGDS_UAR_EITHER;
    mgds_hca_uar_add_qp(qp->attr.uar, qp);
}

/* At both registers; until it has rung there, nothing is to be rung there. */
static void a_qp_with_a_page_of_its_own_is_strict(void **state)
{
    struct place place;
    uint16_t at;

    (void)state;
    place_open(&place, NULL);
    leave_register(place.a.qp);
    post_write(&place, 0);
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    ring_made_up_at(&place.a, 0xa00, 1, 0x4711);
    for (unsigned i = 0; i < 4; i++) {
        at = place.a.pi;
        post_write(&place, 0);
        post_write(&place, 8);
        set_record(&place.a, 1, place.a.pi);
        ring_made_up_at(&place.a, i % 2 ? 0x800 : 0xb00, (uint16_t)(at + 1),
                        PLACE_QPN_A);
        expect_cqe(&place.a.sends, 0, at);
        expect_none(&place.a.sends);
        ring(&place.a);
        place_run(&place);
        expect_cqe(&place.a.sends, 0, (uint16_t)(at + 1));
    }
    assert_int_equal(place.misuses, 1);
    ring_made_up(&place.a, place.a.pi, 0x4711);
    assert_int_equal(place.misuses, 2);
    assert_int_equal(place.misuse, MGDS_MISUSE_DOORBELL_QPN);
    place_close(&place);
}

/* A NOP in the second QP's ring, number i of it, without a doorbell. */
static void post_nop(const struct place *place, uint8_t *ring_bytes,
                     struct mgds_be32 *record, uint8_t i)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x00, SIGNALLED);

    wqe.at[2] = i;
    wqe.at[6]++;
    wqe.at[7] = 1;
    memcpy(ring_bytes + (size_t)i * 64, wqe.at, 16);
    record[1] = mgds_to_be32(i + 1u);
}

/* Until it was seen where each of them rings, any doorbell may have been
 * written over another one's; then each has its register. */
static void qps_of_a_page_have_the_registers_that_they_ring(void **state)
{
    struct mgds_be32 *record = calloc(1, 64);
    uint8_t *ring_bytes = aligned_alloc(64, 1024);
    struct mgds_hca_qp *second;
    struct place place;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    second = attach_second(&place, ring_bytes, record);
    leave_register(place.a.qp);
    leave_register(second);
    post_nop(&place, ring_bytes, record, 0);
    post_write(&place, 0);
    set_record(&place.a, 1, 1);
    ring_made_up_at(&place.a, 0xa00, 1, PLACE_QPN_A + 1);
    assert_true(take_cqe(&place.a.sends, &cqe));
    assert_true(take_cqe(&place.a.sends, &cqe));
    ring(&place.a);
    place_run(&place);
    post_nop(&place, ring_bytes, record, 1);
    post_write(&place, 0);
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 1);
    expect_none(&place.a.sends);
    assert_int_equal(place.misuses, 0);
    ring_made_up(&place.a, 2, 0x4711); /* nobody's, at the first one's */
    assert_int_equal(place.misuse, MGDS_MISUSE_DOORBELL_QPN);
    mgds_hca_qp_detach(second);
    free(ring_bytes);
    free(record);
    place_close(&place);
}

/* Arms a CQ: record and doorbell. */
static void arm_queue(struct end *end, struct queue *queue, uint32_t sequence,
                      uint32_t command)
{
    uint32_t word = sequence << 28 | command << 24 | queue->consumed;
    uint8_t bell[8] = {0};

    queue->record[1] = mgds_to_be32(word);
    memcpy(bell, &queue->record[1], 4);
    bell[7] = (uint8_t)queue->cq->number;
    ring_register(end, 0x20, bell);
    place_run(end->place);
}

/* That of receives of end b. */
static void arm(struct place *place, uint32_t sequence, uint32_t command)
{
    arm_queue(&place->b, &place->b.receives, sequence, command);
}

static void message(struct place *place, bool solicited)
{
    struct wqe wqe = wqe_send(&place->a, 0, 8);

    wqe.at[11] = solicited ? 0x02 : 0;
    post_receive(&place->b, 0, 64);
    run_one(&place->a, &wqe);
}

static void an_armed_queue_tells_once(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    message(&place, true); /* not armed */
    expect_cqe(&place.b.receives, 2, 0);
    arm(&place, 0, 0);
    assert_int_equal(place.completions, 0);
    message(&place, false);
    message(&place, false);
    assert_int_equal(place.completions, 1);
    place_close(&place);
}

static void a_queue_armed_late_tells_at_once(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    message(&place, false);
    arm(&place, 0, 0);
    assert_int_equal(place.completions, 1);
    arm(&place, 1, 0); /* still not taken */
    assert_int_equal(place.completions, 2);
    place_close(&place);
}

static void a_queue_armed_for_solicited_ones_waits_for_them(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    arm(&place, 0, 1);
    message(&place, false);
    assert_int_equal(place.completions, 0);
    message(&place, true);
    assert_int_equal(place.completions, 1);
    place_close(&place);
}

static void a_send_may_ask_for_an_event_of_its_own(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    arm_queue(&place.a, &place.a.sends, 0, 1);
    wqe = wqe_write(&place.a, 0, 8);
    run_one(&place.a, &wqe);
    assert_int_equal(place.completions, 0);
    wqe = wqe_write(&place.a, 0, 8);
    wqe.at[11] = 3 << 2;
    run_one(&place.a, &wqe);
    assert_int_equal(place.completions, 1);
    expect_cqe(&place.a.sends, 0, 0);
    assert_false(expect_cqe(&place.a.sends, 0, 1).solicited);
    place_close(&place);
}

static void an_error_counts_as_solicited(void **state)
{
    struct mgds_hca_change change = {.state = MGDS_STATE_ERR};
    struct place place;

    (void)state;
    place_open(&place, NULL);
    arm(&place, 0, 1);
    post_receive(&place.b, 0, 64);
    assert_int_equal(mgds_hca_qp_modify(place.b.qp, &change), 0);
    place_run(&place);
    assert_int_equal(place.completions, 1);
    expect_error(&place.b.receives, 0x05, 0);
    place_close(&place);
}

/* The doorbell of one CQ was overwritten by that of another. */
static void a_lost_cq_doorbell_is_in_the_record(void **state)
{
    struct place place;
    uint8_t bell[8] = {0};

    (void)state;
    place_open(&place, NULL);
    message(&place, false);
    for (uint32_t sequence = 0; sequence < 2; sequence++) {
        place.b.receives.record[1] = mgds_to_be32(sequence << 28);
        bell[7] = (uint8_t)place.b.sends.cq->number;
        ring_register(&place.b, 0x20, bell);
        place_run(&place);
        assert_int_equal(place.completions, sequence + 1);
    }
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_runs_behind_the_last_doorbell),
        cmocka_unit_test(a_doorbell_may_be_made_up),
        cmocka_unit_test(a_made_up_doorbell_may_be_of_index_0),
        cmocka_unit_test(every_half_of_the_register_counts),
        cmocka_unit_test(halves_are_taken_in_the_order_of_ringing),
        cmocka_unit_test(blueflame_writes_the_whole_wqe),
        cmocka_unit_test(a_doorbell_in_two_halves_is_one),
        cmocka_unit_test(a_doorbell_of_another_qp_is_misuse),
        cmocka_unit_test(a_doorbell_backwards_or_too_far_is_misuse),
        cmocka_unit_test(a_record_that_stays_behind_is_misuse),
        cmocka_unit_test(a_record_between_two_doorbells_is_in_time),
        cmocka_unit_test(a_doorbell_before_rts_is_remembered),
        cmocka_unit_test(a_doorbell_in_reset_is_not),
        cmocka_unit_test(any_doorbell_of_a_shared_register_scans_its_records),
        cmocka_unit_test(a_qp_with_a_page_of_its_own_is_strict),
        cmocka_unit_test(qps_of_a_page_have_the_registers_that_they_ring),
        cmocka_unit_test(an_armed_queue_tells_once),
        cmocka_unit_test(a_queue_armed_late_tells_at_once),
        cmocka_unit_test(a_queue_armed_for_solicited_ones_waits_for_them),
        cmocka_unit_test(a_send_may_ask_for_an_event_of_its_own),
        cmocka_unit_test(an_error_counts_as_solicited),
        cmocka_unit_test(a_lost_cq_doorbell_is_in_the_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
