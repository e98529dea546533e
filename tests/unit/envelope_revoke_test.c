/* Messages that their senders take back, since a wait for them took too long,
 * and what their receivers answer (D9, comm/expire.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/envelope_place.h"

enum { COOKIE = 0x5eed, NEW = ID + 1 };

static void come_revoke_of(uint64_t comm, uint64_t number)
{
    const struct mgds_revoke revoke = {
        .message = {.comm = comm, .number = number, .rank = OTHER},
        .request_id = COOKIE,
        .receiver = SELF};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REVOKE, &revoke, sizeof(revoke), NULL, 0),
        HEARD);
}

static void come_revoke(uint64_t number)
{
    come_revoke_of(ID, number);
}

/* One answer, to that send. */
static void assert_answered(int error)
{
    struct mgds_ended ended;

    assert_int_equal(wire_posts(MGDS_ENVELOPE_ENDED), 1);
    ended = wire_posted(MGDS_ENVELOPE_ENDED)->head.ended;
    assert_int_equal(ended.request_id, COOKIE);
    assert_int_equal(ended.error, error);
    assert_int_equal(ended.rank, SELF);
}

static void come_number(uint64_t number)
{
    const struct mgds_rts rts = env_rts_of(number, BYTES);

    wire_come_rts(&rts);
}

/* The next receive gets the next message. */
static void what_waits_is_withdrawn(void **state)
{
    struct env_place place;
    struct mgds_op *op;

    (void)state;
    env_open(&place);
    come_number(0);
    come_revoke(0);
    assert_answered(-ETIMEDOUT);
    op = env_recv_from_other(&place, BYTES);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 0);
    come_number(1);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 1);
    wire_lose(OTHER);
    assert_int_equal(env_ends(op), -ENOTCONN);
    env_close(&place);
}

static void what_has_not_come_is_withdrawn_when_it_does(void **state)
{
    struct env_place place;

    (void)state;
    env_open(&place);
    come_revoke(0);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_ENDED), 0);
    come_number(0);
    assert_answered(-ETIMEDOUT);
    env_close(&place);
}

/* Both are early, and the first is for the second: no other envelope follows.
 */
static void what_is_early_for_what_is_early_is_heard(void **state)
{
    struct mgds_rts rts = env_rts_of(0, BYTES);
    struct env_place place;

    (void)state;
    rts.comm = NEW;
    env_open_early(&place);
    come_revoke_of(NEW, 0);
    wire_come_rts(&rts);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_ENDED), 0);
    env_make(&place, NEW);
    assert_answered(-ETIMEDOUT);
    env_close(&place);
}

static void what_was_matched_stays(void **state)
{
    struct env_place place;
    struct mgds_op *op;

    (void)state;
    env_open(&place);
    op = env_recv_from_other(&place, BYTES);
    come_number(0);
    come_revoke(0);
    assert_answered(0);
    env_assert_brings_all(op);
    env_close(&place);
}

/* Or its sender would take us for dead. */
static void what_is_for_a_freed_communicator_is_answered(void **state)
{
    struct env_place place;

    (void)state;
    env_open(&place);
    come_number(0);
    mgds_comm_put(place.comm);
    come_revoke(0);
    assert_answered(-ETIMEDOUT);
    come_revoke(1);
    assert_answered(-ETIMEDOUT);
    env_make(&place, ID + 1);
    env_close(&place);
}

/* What the receiver says in addition, or has said before, changes nothing. */
static void a_send_that_is_ended_fails_once(void **state)
{
    struct env_place place;
    struct mgds_op *op;
    uint64_t request_id;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    wire_come_ended(request_id, 0, OTHER);
    assert_int_equal(mgds_op_test(op), 0);
    wire_come_ended(request_id, -ETIMEDOUT, OTHER);
    wire_come_ended(request_id, 0, OTHER);
    wire_come_pull(request_id, LONG_BYTES, OTHER);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    assert_int_equal(env_ends(op), -ETIMEDOUT);
    wire_come_ended(request_id, -ETIMEDOUT, OTHER);
    assert_int_equal(env_refused(&place), 0);
    env_close(&place);
}

/* Others do not end it. */
static void a_send_is_ended_by_its_receiver_alone(void **state)
{
    const struct mgds_ended ended = {.error = -ETIMEDOUT, .rank = OTHER};
    struct env_place place;
    struct mgds_ended forged = ended;
    struct mgds_op *op;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    forged.request_id = env_request_id_of_send();
    wire_author = THIRD + 1;
    wire_come(MGDS_ENVELOPE_ENDED, &forged, sizeof(forged), NULL, 0);
    wire_author = 0;
    assert_int_equal(mgds_op_test(op), 0);
    wire_lose(OTHER);
    assert_int_equal(env_ends(op), -ENOTCONN);
    env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_is_withdrawn),
        cmocka_unit_test(what_has_not_come_is_withdrawn_when_it_does),
        cmocka_unit_test(what_is_early_for_what_is_early_is_heard),
        cmocka_unit_test(what_was_matched_stays),
        cmocka_unit_test(what_is_for_a_freed_communicator_is_answered),
        cmocka_unit_test(a_send_that_is_ended_fails_once),
        cmocka_unit_test(a_send_is_ended_by_its_receiver_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
