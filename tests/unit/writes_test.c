/* WRITEs in front of a send queue in ordinary memory, whose HCA is the test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "shim/gds/transport/writes.h"
#include "tests/unit/hand_sendq.h"

enum { LKEY = 0x77, RKEY = 0x99 };
enum { FROM = 0x10000, TO = 0x500000, MANY = 1000 };

struct place {
    struct hand_sendq hand;
    uint32_t seen; /* WQEs that the HCA was told of */
    struct mgds_writes writes;
    char token[MANY]; /* an address for each WRITE */
};

static void open_place(struct place *place, uint32_t begin)
{
    const struct mgds_wqe_local from = {FROM, 0, LKEY};
    const struct mgds_wqe_remote to = {TO, RKEY};

    hand_sendq_open(&place->hand, begin);
    place->seen = begin;
    mgds_writes_init(&place->writes, &place->hand.queue, from, to);
}

static void close_place(struct place *place)
{
    mgds_writes_fini(&place->writes);
}

static void add_write(struct place *place, unsigned i)
{
    const struct mgds_write write = {
        .offset = (size_t)16 * i, .bytes = 16 + i, .arg = &place->token[i]};

    assert_int_equal(mgds_writes_add(&place->writes, &write), 0);
}

/* The HCA's: it has been rung for so many WQEs that it has not seen. */
static uint32_t count_rung(const struct place *place)
{
    return (be32toh(place->hand.record) - place->seen) & 0xffff;
}

/* The next WQE that it was rung for is the WRITE of that number. */
static void expect_write(struct place *place, unsigned i)
{
    const struct mgds_wqe_path path = {.qpn = HAND_QPN};
    const struct mgds_wqe_remote to = {TO + 16 * i, RKEY};
    const struct mgds_wqe_local from = {FROM + 16 * i, 16 + i, LKEY};
    struct mgds_wqe wqe = mgds_wqe_write(path, MGDS_WQE_CE_ALWAYS, to, from);

    mgds_wqe_stamp(&wqe.ctrl, (uint16_t)place->seen);
    assert_memory_equal(hand_sendq_block(&place->hand, place->seen), &wqe,
                        wqe.bytes);
    place->seen++;
}

static void expect_taken(struct place *place, unsigned i)
{
    struct mgds_write write;

    assert_true(mgds_writes_take(&place->writes, &write));
    assert_ptr_equal(write.arg, &place->token[i]);
}

static void expect_none(struct place *place)
{
    struct mgds_write write;

    assert_false(mgds_writes_take(&place->writes, &write));
}

static void a_write_is_over_when_it_has_completed(void **state)
{
    struct place place;
    uint8_t syndrome = 0;

    (void)state;
    open_place(&place, 0);
    assert_true(mgds_writes_are_over(&place.writes));
    add_write(&place, 0);
    add_write(&place, 1);
    assert_int_equal(count_rung(&place), 0);
    mgds_writes_post(&place.writes);
    assert_int_equal(count_rung(&place), 2);
    expect_write(&place, 0);
    expect_write(&place, 1);
    assert_int_equal(mgds_writes_poll(&place.writes, &syndrome), 0);
    expect_none(&place);
    hand_sendq_complete(&place.hand, MGDS_CQE_REQUEST, 0, 0);
    assert_int_equal(mgds_writes_poll(&place.writes, &syndrome), 0);
    expect_taken(&place, 0);
    expect_none(&place);
    assert_false(mgds_writes_are_over(&place.writes));
    hand_sendq_complete(&place.hand, MGDS_CQE_REQUEST, 1, 0);
    assert_int_equal(mgds_writes_poll(&place.writes, &syndrome), 0);
    expect_taken(&place, 1);
    assert_true(mgds_writes_are_over(&place.writes));
    close_place(&place);
}

/* All that the HCA was rung for it completes, and is rung for what waited. */
static void run_hca(struct place *place, unsigned *next)
{
    uint8_t syndrome = 0;

    for (uint32_t n = count_rung(place); n > 0; n--) {
        expect_write(place, (*next)++);
        hand_sendq_complete(&place->hand, MGDS_CQE_REQUEST, place->seen - 1, 0);
    }
    assert_int_equal(mgds_writes_poll(&place->writes, &syndrome), 0);
}

/* Also where numbers wrap, those of 16 bits in the ring and our own. */
static void more_than_the_queue_holds_wait_in_order(void **state)
{
    static const uint32_t begins[] = {0, 0xfff0, 0xfffffff0};
    struct place place;

    (void)state;
    for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        unsigned next = 0, taken = 0;

        open_place(&place, begins[i]);
        for (unsigned k = 0; k < MANY; k++)
            add_write(&place, k);
        mgds_writes_post(&place.writes);
        assert_int_equal(count_rung(&place), HAND_BLOCKS);
        while (!mgds_writes_are_over(&place.writes)) {
            unsigned before = next;

            run_hca(&place, &next);
            assert_true(next > before);
            while (taken < next)
                expect_taken(&place, taken++);
            mgds_writes_post(&place.writes);
        }
        assert_int_equal(taken, MANY);
        close_place(&place);
    }
}

/* What has completed ahead of the failure is well, and nothing behind it. */
static void a_failure_leaves_what_did_not_complete(void **state)
{
    struct place place;
    struct mgds_write write;
    uint8_t syndrome = 0;

    (void)state;
    open_place(&place, 0);
    for (unsigned k = 0; k < HAND_BLOCKS + 2; k++)
        add_write(&place, k);
    mgds_writes_post(&place.writes);
    hand_sendq_complete(&place.hand, MGDS_CQE_REQUEST, 0, 0);
    hand_sendq_complete(&place.hand, MGDS_CQE_REQUEST_ERROR, 1,
                        MGDS_SYNDROME_RETRY_EXCEEDED);
    hand_sendq_complete(&place.hand, MGDS_CQE_REQUEST_ERROR, 2,
                        MGDS_SYNDROME_FLUSHED);
    assert_int_equal(mgds_writes_poll(&place.writes, &syndrome), -EIO);
    assert_int_equal(syndrome, MGDS_SYNDROME_RETRY_EXCEEDED);
    expect_taken(&place, 0);
    expect_none(&place);
    for (unsigned k = 1; k < HAND_BLOCKS + 2; k++) {
        assert_true(mgds_writes_drop(&place.writes, &write));
        assert_ptr_equal(write.arg, &place.token[k]);
    }
    assert_false(mgds_writes_drop(&place.writes, &write));
    assert_true(mgds_writes_are_over(&place.writes));
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_is_over_when_it_has_completed),
        cmocka_unit_test(more_than_the_queue_holds_wait_in_order),
        cmocka_unit_test(a_failure_leaves_what_did_not_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
