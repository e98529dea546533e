/* Receives whose end lets others go on, and messages that differ in the stream
 * they are for only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/unit/envelope_place.h"

static struct mgds_op *recv_of(const struct env_place *place, int peer, int tag)
{
    struct mgds_xfer xfer = env_xfer_of(place, BYTES);
    struct mgds_op *op = NULL;

    xfer.peer = peer;
    xfer.tag = tag;
    assert_int_equal(mgds_op_recv(&op, place->comm, &xfer), 0);
    return op;
}

static void come(uint64_t number, int tag, bool reached, uint64_t address)
{
    struct mgds_rts rts = env_rts_of(number, BYTES);

    rts.tag = tag;
    rts.reached = reached;
    rts.protocol = address ? MGDS_PROTOCOL_RGET : MGDS_PROTOCOL_FRAGMENTS;
    rts.address = address;
    wire_come_rts(&rts);
}

/* first waits for its message to be reached, so specific waits behind it, and
 * last behind that. The address is of memory that is not mapped here: what a
 * receive of such a message would do is to ask for it. */
struct held {
    struct mgds_op *first, *specific, *last;
};

static struct held hold(const struct env_place *place, uint64_t address)
{
    struct held held;

    held.first = recv_of(place, MGDS_ANY_SOURCE, TAG);
    held.specific = recv_of(place, OTHER, MGDS_ANY_TAG);
    held.last = recv_of(place, MGDS_ANY_SOURCE, TAG + 1);
    come(0, TAG, false, 0);
    come(1, TAG + 1, true, address);
    return held;
}

static void assert_lost(const struct held *held, int last)
{
    assert_int_equal(mgds_op_test(held->first), 0);
    assert_int_equal(mgds_op_cancel(held->first), 1);
    mgds_op_put(held->first);
    assert_int_equal(env_ends(held->specific), -ENOTCONN);
    assert_int_equal(env_ends(held->last), last);
}

/* What is asked of a dead rank does not come. */
static void a_receive_that_gets_a_message_of_the_lost_fails(void **state)
{
    struct env_place place;
    struct held held;

    (void)state;
    env_open(&place);
    held = hold(&place, 0);
    wire_lose(OTHER);
    assert_lost(&held, -ENOTCONN);
    env_close(&place);
}

static void a_receive_may_end_while_others_fail(void **state)
{
    struct mgds_op *more;
    struct env_place place;
    struct held held;

    (void)state;
    env_open(&place);
    held = hold(&place, 4096);
    more = recv_of(&place, OTHER, TAG + 2);
    wire_lose(OTHER);
    assert_lost(&held, -ENOTCONN);
    assert_int_equal(env_ends(more), -ENOTCONN);
    env_close(&place);
}

/* Later, too: by the end of the one that held it up. */
static void so_does_one_that_gets_it_afterwards(void **state)
{
    struct mgds_op *first, *last;
    struct env_place place;

    (void)state;
    env_open(&place);
    first = recv_of(&place, MGDS_ANY_SOURCE, MGDS_ANY_TAG);
    last = recv_of(&place, MGDS_ANY_SOURCE, TAG + 1);
    come(0, TAG, false, 0);
    come(1, TAG + 1, true, 0);
    wire_lose(OTHER);
    assert_int_equal(mgds_op_test(last), 0);
    assert_int_equal(mgds_op_cancel(first), 1);
    mgds_op_put(first);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 0);
    assert_int_equal(env_ends(last), -ENOTCONN);
    env_close(&place);
}

static void come_to(unsigned to_index)
{
    struct mgds_rts rts = env_rts_of(0, BYTES);

    rts.to_index = (uint16_t)to_index;
    rts.protocol = MGDS_PROTOCOL_RGET;
    rts.address = 4096;
    rts.reached = false;
    wire_come_rts(&rts);
}

static int probe(const struct env_place *place, unsigned to_index)
{
    const struct mgds_probe probe = {
        .peer = OTHER, .tag = TAG, .to_index = to_index};
    struct mgds_op_status status;

    return mgds_comm_probe(place->comm, &probe, &status);
}

static void come_reached(unsigned to_index)
{
    const struct mgds_tell reached = {
        .comm = ID, .rank = OTHER, .to_index = to_index};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REACHED, &reached, sizeof(reached), NULL, 0),
        HEARD);
}

/* Numbers are counted for each of them. */
static void reached_is_the_message_of_one_stream(void **state)
{
    struct env_place place;

    (void)state;
    env_open_with(&place, OWN_STREAMS);
    for (unsigned i = 0; i < OWN_STREAMS; i++)
        come_to(i);
    for (unsigned i = 0; i < OWN_STREAMS; i++) {
        assert_int_equal(probe(&place, i), 0);
        come_reached(i);
        assert_int_equal(probe(&place, i), 1);
    }
    env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reached_is_the_message_of_one_stream),
        cmocka_unit_test(a_receive_that_gets_a_message_of_the_lost_fails),
        cmocka_unit_test(so_does_one_that_gets_it_afterwards),
        cmocka_unit_test(a_receive_may_end_while_others_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
