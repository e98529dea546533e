/* At which members a communicator subscribes, and when (comm/wildcards.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/engine/virtual_time.h"
#include "tests/unit/envelope_place.h"

/* This is rank 0. */
enum { MEMBERS = 20, GREETED = 8 };

#define SECOND UINT64_C(1000000000)

static void open_wide(struct env_place *place)
{
    struct mgds_gstream *none = NULL;
    struct mgds_member members[MEMBERS];
    const struct mgds_comm_spec spec = {.id = ID,
                                        .rank = SELF,
                                        .size = MEMBERS,
                                        .members = members,
                                        .streams = &none};

    for (unsigned i = 0; i < MEMBERS; i++)
        members[i] = (struct mgds_member){
            .address = &wire_address[i], .address_bytes = 1, .process = i + 1};
    env_open_early(place);
    assert_int_equal(mgds_comm_create(&place->comm, &spec), 0);
}

static struct mgds_op *recv_from(const struct env_place *place, int peer)
{
    struct mgds_xfer xfer = env_xfer_of(place, BYTES);
    struct mgds_op *op = NULL;

    xfer.peer = peer;
    assert_int_equal(mgds_op_recv(&op, place->comm, &xfer), 0);
    return op;
}

static struct mgds_op *recv_any(const struct env_place *place)
{
    return recv_from(place, MGDS_ANY_SOURCE);
}

static void cancel(struct mgds_op *op)
{
    assert_int_equal(mgds_op_cancel(op), 1);
    mgds_op_put(op);
}

static int probe(const struct env_place *place, int peer, bool waits)
{
    const struct mgds_probe what = {
        .peer = peer, .tag = MGDS_ANY_TAG, .waits = waits};
    struct mgds_op_status status;

    return mgds_comm_probe(place->comm, &what, &status);
}

static void come(unsigned rank, uint64_t number, bool reached)
{
    struct mgds_rts rts = env_rts_of(number, BYTES);

    rts.rank = rank;
    rts.reached = reached;
    wire_come_rts(&rts);
}

static void come_reached(unsigned rank, uint64_t number)
{
    const struct mgds_tell tell = {.comm = ID, .number = number, .rank = rank};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_REACHED, &tell, sizeof(tell), NULL, 0), HEARD);
}

static void assert_nothing_posted(void)
{
    assert_null(wire_first());
}

/* At nobody else than the rank. */
static void assert_subscribed_at(unsigned rank)
{
    const struct wire_post *post = wire_posted(MGDS_ENVELOPE_SUBSCRIBE);

    assert_non_null(post);
    assert_int_equal(post->peer, rank);
    assert_int_equal(post->head.tell.comm, ID);
    assert_int_equal(post->head.tell.rank, SELF);
    assert_nothing_posted();
}

/* At these, one after the other. */
static void assert_subscribed_from(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(wire_posted(MGDS_ENVELOPE_SUBSCRIBE)->peer, first + i);
    assert_nothing_posted();
}

/* OTHER receives it. */
static void end_send(struct mgds_op *op, uint64_t request_id)
{
    wire_come_pull(request_id, BYTES, OTHER);
    assert_non_null(wire_posted(MGDS_ENVELOPE_DATA));
    assert_int_equal(env_ends(op), 0);
}

static void pass(uint64_t ns)
{
    time_pass(ns);
    wire_round();
}

static void a_probe_of_any_source_subscribes_at_nobody(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(probe(&place, MGDS_ANY_SOURCE, false), 0);
        pass(SECOND);
    }
    assert_nothing_posted();
    assert_int_equal(wire_held(), 0);
    env_close(&place);
}

/* Before the message may be taken: only then is it known to be reached. */
static void who_sends_is_subscribed_at(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, false), 0);
    come(5, 0, false);
    assert_subscribed_at(5);
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, false), 0);
    come_reached(5, 0);
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, false), 1);
    come(5, 1, false);
    come(SELF, 0, true);
    assert_subscribed_at(SELF);
    env_close(&place);
}

static void who_has_sent_is_subscribed_at(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    come(5, 0, true);
    come(5, 1, false);
    come(7, 0, false);
    assert_nothing_posted();
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, false), 1);
    assert_int_equal(wire_posted(MGDS_ENVELOPE_SUBSCRIBE)->peer, 5);
    assert_subscribed_at(7);
    env_close(&place);
}

static void who_has_a_connection_is_subscribed_at(void **state)
{
    struct mgds_op *send, *op;
    struct env_place place;
    uint64_t request_id;

    (void)state;
    open_wide(&place);
    send = env_send_to_other(&place, BYTES);
    request_id = env_request_id_of_send();
    op = recv_any(&place);
    assert_subscribed_at(OTHER);
    assert_int_equal(wire_held(), 0);
    pass(10 * SECOND);
    assert_nothing_posted();
    cancel(op);
    end_send(send, request_id);
    env_close(&place);
}

static void a_probe_of_a_rank_subscribes_there(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    for (int i = 0; i < 3; i++)
        assert_int_equal(probe(&place, 9, false), 0);
    assert_subscribed_at(9);
    come(9, 0, false);
    come(5, 0, false);
    assert_nothing_posted();
    env_close(&place);
}

static void a_send_of_the_host_is_told_by_its_rts(void **state)
{
    const struct mgds_tell tell = {.comm = ID, .rank = OTHER};
    struct mgds_op *before, *after;
    struct env_place place;
    uint64_t request_id;

    (void)state;
    open_wide(&place);
    before = env_send_to_other(&place, BYTES);
    request_id = env_request_id_of_send();
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_SUBSCRIBE, &tell, sizeof(tell), NULL, 0),
        HEARD);
    assert_nothing_posted();
    end_send(before, request_id);
    after = env_send_to_other(&place, BYTES);
    request_id = env_request_id_of_send();
    assert_nothing_posted();
    end_send(after, request_id);
    env_close(&place);
}

/* Greetings. */

static void a_receive_that_stands_greets_some(void **state)
{
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    open_wide(&place);
    op = recv_any(&place);
    assert_int_equal(wire_held(), 1);
    pass(2 * SECOND - 1);
    assert_nothing_posted();
    pass(1);
    assert_subscribed_from(1, GREETED);
    assert_int_equal(wire_held(), 0);
    pass(10 * SECOND);
    assert_nothing_posted();
    cancel(op);
    env_close(&place);
}

static void a_receive_that_is_over_greets_nobody(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    cancel(recv_any(&place));
    pass(2 * SECOND);
    assert_nothing_posted();
    assert_int_equal(wire_held(), 0);
    env_close(&place);
}

static void who_has_heard_of_somebody_greets_nobody(void **state)
{
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    open_wide(&place);
    op = recv_any(&place);
    come(5, 0, false);
    assert_subscribed_at(5);
    assert_int_equal(wire_held(), 0);
    pass(10 * SECOND);
    assert_nothing_posted();
    cancel(op);
    env_close(&place);
}

/* Itself does not count: it is always there. */
static void who_has_heard_of_itself_greets_others(void **state)
{
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    open_wide(&place);
    op = recv_any(&place);
    come(SELF, 0, false);
    assert_subscribed_at(SELF);
    pass(2 * SECOND);
    assert_subscribed_from(1, GREETED);
    cancel(op);
    env_close(&place);
}

static void those_with_a_connection_come_first(void **state)
{
    struct mgds_op *any, *other;
    struct env_place place;

    (void)state;
    open_wide(&place);
    any = recv_any(&place);
    other = recv_from(&place, 9);
    assert_int_equal(wire_posted(MGDS_ENVELOPE_HELLO)->peer, 9);
    pass(2 * SECOND);
    assert_subscribed_at(9);
    cancel(other);
    cancel(any);
    env_close(&place);
}

static void lose(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        wire_lose(first + i);
}

/* In turn, until the last one is gone: then the receive fails. */
static void the_next_are_greeted_when_those_are_lost(void **state)
{
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    open_wide(&place);
    op = recv_any(&place);
    pass(2 * SECOND);
    assert_subscribed_from(1, GREETED);
    lose(1, GREETED - 1);
    assert_nothing_posted();
    lose(GREETED, 1);
    assert_subscribed_from(1 + GREETED, GREETED);
    lose(1 + GREETED, GREETED);
    assert_subscribed_from(1 + 2 * GREETED, MEMBERS - 1 - 2 * GREETED);
    lose(1 + 2 * GREETED, MEMBERS - 2 - 2 * GREETED);
    assert_int_equal(mgds_op_test(op), 0);
    lose(MEMBERS - 1, 1);
    assert_int_equal(env_ends(op), -ENOTCONN);
    assert_nothing_posted();
    env_close(&place);
}

static void a_call_that_waits_in_a_probe_greets_some(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, true), 0);
    pass(2 * SECOND);
    assert_subscribed_from(1, GREETED);
    lose(1, GREETED);
    assert_nothing_posted();
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, true), 0);
    pass(2 * SECOND);
    assert_subscribed_from(1 + GREETED, GREETED);
    lose(1 + GREETED, MEMBERS - 1 - GREETED);
    assert_int_equal(probe(&place, MGDS_ANY_SOURCE, true), -ENOTCONN);
    env_close(&place);
}

static void a_communicator_goes_before_its_greeting(void **state)
{
    struct env_place place;

    (void)state;
    open_wide(&place);
    cancel(recv_any(&place));
    assert_int_equal(wire_held(), 1);
    mgds_comm_put(place.comm);
    place.comm = NULL;
    assert_int_equal(wire_held(), 0);
    pass(2 * SECOND);
    mgds_comms_fini();
    mgds_layout_put(place.layout);
    free(place.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_of_any_source_subscribes_at_nobody),
        cmocka_unit_test(who_sends_is_subscribed_at),
        cmocka_unit_test(who_has_sent_is_subscribed_at),
        cmocka_unit_test(who_has_a_connection_is_subscribed_at),
        cmocka_unit_test(a_probe_of_a_rank_subscribes_there),
        cmocka_unit_test(a_send_of_the_host_is_told_by_its_rts),
        cmocka_unit_test(a_receive_that_stands_greets_some),
        cmocka_unit_test(a_receive_that_is_over_greets_nobody),
        cmocka_unit_test(who_has_heard_of_somebody_greets_nobody),
        cmocka_unit_test(who_has_heard_of_itself_greets_others),
        cmocka_unit_test(those_with_a_connection_come_first),
        cmocka_unit_test(the_next_are_greeted_when_those_are_lost),
        cmocka_unit_test(a_call_that_waits_in_a_probe_greets_some),
        cmocka_unit_test(a_communicator_goes_before_its_greeting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
