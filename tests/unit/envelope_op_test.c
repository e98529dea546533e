/* What other processes say of operations: request IDs that were made up or are
 * of what is over, ranks and lengths that do not fit. What is refused changes
 * nothing but an operation whose answer it was; those that are true still do
 * what they should. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault_sweep.h"
#include "tests/unit/envelope_place.h"

/* Request IDs. */

/* In a communicator with operations of every state none of these is one of
 * them. */
static const uint64_t made_up[] = {0,
                                   UINT32_MAX,
                                   UINT64_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(7) << 32) + 1,
                                   1000,
                                   UINT64_C(0xdeadbeefdeadbee0)};

static void request_ids_that_were_made_up_name_nothing(void **state)
{
    struct mgds_op *send, *recv;
    struct env_place place;
    uint64_t address;

    (void)state;
    env_open(&place);
    send = env_send_to_other(&place, LONG_BYTES);
    recv = env_recv_from_other(&place, BYTES);
    address = (uintptr_t)send; /* what a request ID was before */
    for (unsigned i = 0; i <= sizeof(made_up) / sizeof(made_up[0]); i++) {
        bool last = i == sizeof(made_up) / sizeof(made_up[0]);
        uint64_t request_id = last ? address : made_up[i];

        wire_come_pull(request_id, 1, OTHER);
        wire_come_taken(request_id, OTHER);
        assert_int_equal(wire_come_data(request_id, 8, OTHER), -ECANCELED);
        assert_int_equal(wire_come_data(request_id, 0, OTHER), -ECANCELED);
        assert_int_equal(env_refused(&place), 4);
    }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    assert_int_equal(mgds_op_test(send), 0);
    wire_come_pull(env_request_id_of_send(), LONG_BYTES, OTHER);
    assert_non_null(wire_posted(MGDS_ENVELOPE_DATA));
    assert_int_equal(env_ends(send), 0);
    assert_int_equal(mgds_op_cancel(recv), 1);
    mgds_op_put(recv);
    env_close(&place);
}

static void a_send_is_asked_for_once_by_its_receiver(void **state)
{
    const struct wire_post *post;
    struct mgds_op *op;
    struct env_place place;
    uint64_t request_id;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    wire_come_pull(request_id, LONG_BYTES, THIRD); /* not whom it is for */
    wire_come_pull(request_id, LONG_BYTES, SELF);
    wire_come_pull(request_id, LONG_BYTES, UINT32_MAX);
    assert_int_equal(wire_come_data(request_id, LONG_BYTES, OTHER), -ECANCELED);
    wire_come_taken(request_id, OTHER); /* it is in no ring */
    assert_int_equal(env_refused(&place), 5);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    wire_come_pull(request_id, LONG_BYTES, OTHER);
    assert_int_equal(env_refused(&place), 0);
    wire_come_pull(request_id, LONG_BYTES, OTHER);
    wire_come_taken(request_id, OTHER); /* its bytes are under way */
    assert_int_equal(env_refused(&place), 2);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 1);
    post = wire_posted(MGDS_ENVELOPE_DATA);
    assert_int_equal(post->head.data.answer, 99);
    assert_int_equal(post->head.data.rank, SELF);
    assert_int_equal(post->body_bytes, LONG_BYTES);
    assert_int_equal(env_ends(op), 0);
    env_close(&place);
}

static void request_ids_of_what_is_over_name_nothing(void **state)
{
    struct mgds_op *op;
    struct env_place place;
    uint64_t first = 0, request_id;

    (void)state;
    env_open(&place);
    for (int i = 0; i < 3; i++) { /* each in the place of the one before */
        op = env_send_to_other(&place, LONG_BYTES);
        request_id = env_request_id_of_send();
        assert_true(request_id != first);
        if (i == 0)
            first = request_id;
        else
            wire_come_pull(first, LONG_BYTES, OTHER);
        assert_int_equal(env_refused(&place), i > 0);
        wire_come_pull(request_id, 10, OTHER);
        assert_int_equal(wire_posted(MGDS_ENVELOPE_DATA)->body_bytes, 10);
        assert_int_equal(env_ends(op), 0);
        wire_come_pull(request_id, LONG_BYTES, OTHER);
        wire_come_taken(request_id, OTHER);
        assert_int_equal(wire_come_data(request_id, 8, OTHER), -ECANCELED);
        assert_int_equal(env_refused(&place), 3);
    }
    env_close(&place);
}

/* Who knows a request ID, and a rank that it fits, is not that rank. */
static void request_ids_are_for_the_process_of_their_rank(void **state)
{
    struct mgds_op *send, *recv;
    struct env_place place;
    uint64_t request_id, answer;

    (void)state;
    env_open(&place);
    answer = env_asked(&place, &recv, BYTES, BYTES);
    send = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    for (wire_author = SELF + 1; wire_author <= WIRE_PEERS; wire_author++) {
        if (wire_author == OTHER + 1)
            continue;
        wire_come_pull(request_id, LONG_BYTES, OTHER);
        wire_come_taken(request_id, OTHER);
        assert_int_equal(wire_come_data(answer, BYTES, OTHER), -ECANCELED);
        assert_int_equal(env_refused(&place), 3);
    }
    wire_author = 0;
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    env_assert_landed(&place, 0);
    assert_int_equal(wire_come_data(answer, BYTES, OTHER), 0);
    wire_come_pull(request_id, LONG_BYTES, OTHER);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(recv), 0);
    assert_non_null(wire_posted(MGDS_ENVELOPE_DATA));
    assert_int_equal(env_ends(send), 0);
    env_close(&place);
}

static void a_send_gives_no_more_than_it_has(void **state)
{
    const struct wire_post *post;
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    op = env_send_to_other(&place, LONG_BYTES);
    wire_come_pull(env_request_id_of_send(), LONG_BYTES + 1, OTHER);
    assert_int_equal(env_refused(&place), 1);
    post = wire_posted(MGDS_ENVELOPE_DATA); /* that it fails */
    assert_non_null(post);
    assert_int_equal(post->head.data.error, -EIO);
    assert_int_equal(post->body_bytes, 0);
    assert_int_equal(env_ends(op), -EIO);
    env_close(&place);
}

/* Receives. */

/* Small request IDs were all that there were. */
static void data_that_nobody_asked_for_lands_nowhere(void **state)
{
    enum { COOKIES = 64 };
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    op = env_recv_from_other(&place, BYTES);
    for (uint64_t i = 0; i <= COOKIES; i++)
        assert_int_equal(wire_come_data(i, BYTES, OTHER), -ECANCELED);
    assert_int_equal(env_refused(&place), COOKIES + 1);
    env_assert_landed(&place, 0);
    assert_int_equal(mgds_op_test(op), 0);
    assert_int_equal(mgds_op_cancel(op), 1);
    mgds_op_put(op);
    env_close(&place);
}

static void data_lands_once_and_from_its_sender(void **state)
{
    struct mgds_data data = {.rank = OTHER};
    unsigned char body[BYTES];
    struct wire_landing landing;
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    memset(body, 0x11, sizeof(body));
    data.answer = env_asked(&place, &op, BYTES, BYTES);
    assert_int_equal(wire_come_data(data.answer, BYTES, THIRD), -ECANCELED);
    wire_come_pull(data.answer, BYTES, OTHER); /* a receive is no send */
    wire_come_taken(data.answer, OTHER);
    assert_int_equal(env_refused(&place), 3);
    assert_int_equal(
        wire_head(MGDS_ENVELOPE_DATA, &data, sizeof(data), BYTES, &landing), 0);
    assert_int_equal(wire_come_data(data.answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(wire_come_data(0, 0, OTHER), -ECANCELED);
    assert_int_equal(wire_come_data(data.answer, 0, OTHER), -ECANCELED);
    assert_int_equal(env_refused(&place), 3);
    wire_land(&landing, body, sizeof(body));
    assert_int_equal(wire_come_data(data.answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(env_refused(&place), 1);
    assert_int_equal(env_ends(op), 0);
    env_assert_landed(&place, BYTES);
    env_close(&place);
}

static void data_of_another_length_fails_its_receive(void **state)
{
    static const size_t lengths[] = {0, 1, BYTES - 1, BYTES + 1, LONG_BYTES};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct mgds_op *op;
        struct env_place place;
        uint64_t answer;

        env_open(&place);
        answer = env_asked(&place, &op, (size_t)2 * BYTES, BYTES);
        assert_int_equal(wire_come_data(answer, lengths[i], OTHER), -ECANCELED);
        assert_int_equal(env_refused(&place), 1);
        assert_int_equal(env_ends(op), -EIO);
        env_assert_landed(&place, 0);
        env_close(&place);
    }
}

/* As what a message has that is longer than its receive. */
static void a_truncated_message_is_not_refused(void **state)
{
    struct mgds_op *op;
    struct env_place place;
    uint64_t answer;

    (void)state;
    env_open(&place);
    answer = env_asked(&place, &op, BYTES, LONG_BYTES);
    assert_int_equal(wire_come_data(answer, BYTES, OTHER), 0);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(op), -EMSGSIZE);
    env_assert_landed(&place, BYTES);
    env_close(&place);
}

static void errors_of_data_are_errnos(void **state)
{
    static const int32_t none[] = {1, EIO, INT32_MAX, INT32_MIN, -4096};
    struct mgds_data data = {.rank = OTHER};
    unsigned char body[BYTES] = {0};
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    data.answer = env_asked(&place, &op, BYTES, BYTES);
    for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        data.error = none[i];
        assert_int_equal(
            wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
            -EPROTO);
    }
    assert_int_equal(env_refused(&place), sizeof(none) / sizeof(none[0]));
    data.error = -ENOMEM; /* with bytes: they do not go together */
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, BYTES),
        -ECANCELED);
    assert_int_equal(env_refused(&place), 1);
    assert_int_equal(env_ends(op), -EIO);
    env_close(&place);
}

static void a_send_that_failed_is_no_refusal(void **state)
{
    struct mgds_data data = {.rank = OTHER, .error = -EFAULT};
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    data.answer = env_asked(&place, &op, BYTES, BYTES);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
        -ECANCELED);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(op), -EFAULT);
    env_close(&place);
}
/* Memory. */

/* Enough of them for the table to grow. */
static int call_many(void *arg)
{
    enum { MANY = 70 };
    struct mgds_op *op[MANY];
    struct env_place *place = (struct env_place *)arg;
    const struct mgds_xfer xfer = env_xfer_of(place, BYTES);
    int n = 0, rc = 0;

    while (n < MANY && rc == 0) {
        rc = mgds_op_recv(&op[n], place->comm, &xfer);
        n += rc == 0;
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(mgds_op_cancel(op[i]), 1);
        mgds_op_put(op[i]);
    }
    assert_true(rc == 0 || rc == -ENOMEM);
    return rc;
}

static int open_call_close(void *arg)
{
    struct env_place place;
    int rc;

    (void)arg;
    env_open(&place);
    rc = call_many(&place);
    env_close(&place);
    return rc;
}

static void a_call_without_memory_leaves_nothing(void **state)
{
    struct env_place place;

    (void)state;
    env_open(&place);
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, call_many, &place) > 0);
    env_close(&place);
    assert_int_equal(open_call_close(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_ids_that_were_made_up_name_nothing),
        cmocka_unit_test(a_send_is_asked_for_once_by_its_receiver),
        cmocka_unit_test(request_ids_of_what_is_over_name_nothing),
        cmocka_unit_test(request_ids_are_for_the_process_of_their_rank),
        cmocka_unit_test(a_send_gives_no_more_than_it_has),
        cmocka_unit_test(data_that_nobody_asked_for_lands_nowhere),
        cmocka_unit_test(data_lands_once_and_from_its_sender),
        cmocka_unit_test(data_of_another_length_fails_its_receive),
        cmocka_unit_test(a_truncated_message_is_not_refused),
        cmocka_unit_test(errors_of_data_are_errnos),
        cmocka_unit_test(a_send_that_failed_is_no_refusal),
        cmocka_unit_test(a_call_without_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
