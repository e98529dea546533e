/* Messages that come, or go, in parts (docs/fragments.md): what the other end
 * says of them is held against what there is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/envelope_place.h"
#include "tests/unit/fake_wire.h"

enum { CUT = 60 };

static int come(uint64_t answer, uint64_t first, size_t bytes)
{
    const struct mgds_data data = {
        .answer = answer, .rank = OTHER, .first = first, .part = 1};
    unsigned char body[LONG_BYTES];

    memset(body, 0x11, sizeof(body));
    return wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, bytes);
}

static void parts_land_in_any_order(void **state)
{
    struct mgds_op *op;
    struct env_place place;
    uint64_t answer;

    (void)state;
    env_open(&place);
    answer = env_asked(&place, &op, BYTES, BYTES);
    assert_int_equal(come(answer, CUT, BYTES - CUT), 0);
    assert_int_equal(come(answer, 0, CUT), 0);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(op), 0);
    env_assert_landed(&place, BYTES);
    env_close(&place);
}

/* Behind a first part that is well. */
static void parts_that_cannot_be_fail_their_receive(void **state)
{
    static const struct {
        uint64_t first;
        size_t bytes;
    } parts[] = {{CUT, BYTES - CUT + 1}, {BYTES + 1, 1},
                 {UINT64_MAX, 8},        {0, BYTES},
                 {CUT, LONG_BYTES},      {CUT, 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct mgds_op *op;
        struct env_place place;
        uint64_t answer;

        env_open(&place);
        answer = env_asked(&place, &op, BYTES, BYTES);
        assert_int_equal(come(answer, 0, CUT), 0);
        assert_int_equal(come(answer, parts[i].first, parts[i].bytes),
                         -ECANCELED);
        assert_int_equal(env_refused(&place), 1);
        assert_int_equal(env_ends(op), -EIO);
        env_close(&place);
    }
}

static void a_sender_that_fails_ends_the_parts(void **state)
{
    struct mgds_data data = {.rank = OTHER, .error = -EFAULT};
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    data.answer = env_asked(&place, &op, BYTES, BYTES);
    assert_int_equal(come(data.answer, 0, CUT), 0);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
        -ECANCELED);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(op), -EFAULT);
    env_close(&place);
}

/* What the wire has of it lands first, wherever that is by then. */
static void a_part_that_is_landing_is_waited_for(void **state)
{
    struct mgds_data data = {.rank = OTHER, .part = 1};
    unsigned char body[CUT] = {0};
    struct wire_landing landing;
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    data.answer = env_asked(&place, &op, BYTES, BYTES);
    assert_int_equal(
        wire_head(MGDS_ENVELOPE_DATA, &data, sizeof(data), CUT, &landing), 0);
    data.error = -EFAULT;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
        -ECANCELED);
    assert_int_equal(mgds_op_test(op), 0);
    wire_land(&landing, body, sizeof(body));
    assert_int_equal(env_ends(op), -EFAULT);
    env_close(&place);
}

static void ask_in_parts(uint64_t request_id, uint32_t part)
{
    const struct mgds_pull pull = {.request_id = request_id,
                                   .answer = 99,
                                   .bytes = LONG_BYTES,
                                   .rank = OTHER,
                                   .part = part};

    wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0);
}

static void grant(uint64_t request_id, uint64_t bytes, uint32_t rank)
{
    const struct mgds_grant head = {request_id, bytes, rank, 0};

    wire_come(MGDS_ENVELOPE_GRANT, &head, sizeof(head), NULL, 0);
}

static void assert_sends(uint64_t first, size_t bytes)
{
    const struct wire_post *post = wire_posted(MGDS_ENVELOPE_DATA);

    assert_non_null(post);
    assert_int_equal(post->head.data.answer, 99);
    assert_int_equal(post->head.data.part, 1);
    assert_int_equal(post->head.data.first, first);
    assert_int_equal(post->body_bytes, bytes);
}

enum { PART = 30000, TWO = 2 * PART, THREE = 3 * PART };

/* As much as is granted, whatever the order in which that comes. */
static void a_send_gives_what_is_granted(void **state)
{
    struct mgds_op *op;
    struct env_place place;
    uint64_t request_id;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    ask_in_parts(request_id, PART);
    assert_sends(PART, 0);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    grant(request_id, TWO, OTHER);
    grant(request_id, PART, OTHER);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 2);
    assert_sends(0, PART);
    assert_sends(PART, PART);
    grant(request_id, LONG_BYTES, THIRD); /* not whom it is for */
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    grant(request_id, LONG_BYTES, OTHER);
    assert_sends(TWO, PART);
    assert_int_equal(mgds_op_test(op), 0);
    assert_sends(THREE, LONG_BYTES - THREE);
    grant(request_id, THREE, OTHER);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(op), 0);
    env_close(&place);
}

static void more_than_there_is_fails_the_send(void **state)
{
    struct mgds_op *op;
    struct env_place place;
    uint64_t request_id;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    grant(request_id, PART, OTHER); /* nobody has asked for it */
    ask_in_parts(request_id, PART);
    assert_sends(PART, 0);
    grant(request_id, LONG_BYTES + 1, OTHER);
    assert_int_equal(wire_posted(MGDS_ENVELOPE_DATA)->head.data.error, -EIO);
    assert_int_equal(env_ends(op), -EIO);
    env_close(&place);
}

/* Whether any of it is under way or not. */
static void a_receiver_that_fails_ends_the_send(void **state)
{
    (void)state;
    for (int posted = 0; posted < 2; posted++) {
        struct mgds_op *op;
        struct env_place place;
        uint64_t request_id;

        env_open(&place);
        op = env_send_to_other(&place, LONG_BYTES);
        request_id = env_request_id_of_send();
        ask_in_parts(request_id, PART);
        assert_sends(PART, 0);
        if (posted)
            grant(request_id, PART, OTHER);
        wire_come_ended(request_id, -ETIMEDOUT, OTHER);
        if (posted) {
            assert_int_equal(mgds_op_test(op), 0);
            assert_sends(0, PART);
        }
        assert_int_equal(env_ends(op), -ETIMEDOUT);
        env_close(&place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_land_in_any_order),
        cmocka_unit_test(parts_that_cannot_be_fail_their_receive),
        cmocka_unit_test(a_sender_that_fails_ends_the_parts),
        cmocka_unit_test(a_part_that_is_landing_is_waited_for),
        cmocka_unit_test(a_send_gives_what_is_granted),
        cmocka_unit_test(more_than_there_is_fails_the_send),
        cmocka_unit_test(a_receiver_that_fails_ends_the_send),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
