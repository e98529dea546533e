/* What other processes say is not trusted: envelopes that are short or long,
 * of nobody, twice, or too late. What is refused is counted, and changes
 * nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/capture.h"
#include "tests/unit/envelope_place.h"

/* Lengths. */

/* Of a message that its receiver does not copy. */
enum { SHORT_RTS = offsetof(struct mgds_rts, address) };

/* Of the head; 0: TAKEN, which has several. */
static size_t length_of(unsigned kind)
{
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        return sizeof(struct mgds_rts);
    case MGDS_ENVELOPE_PULL:
        return sizeof(struct mgds_pull);
    case MGDS_ENVELOPE_DATA:
        return sizeof(struct mgds_data);
    case MGDS_ENVELOPE_EXPORT:
        return sizeof(struct mgds_exported);
    case MGDS_ENVELOPE_IMPORTED:
        return sizeof(struct mgds_imported);
    case MGDS_ENVELOPE_REVOKE:
        return sizeof(struct mgds_revoke);
    case MGDS_ENVELOPE_ENDED:
        return sizeof(struct mgds_ended);
    case MGDS_ENVELOPE_GRANT:
        return sizeof(struct mgds_grant);
    case MGDS_ENVELOPE_RING_ASKED:
        return sizeof(struct mgds_ring_asked);
    case MGDS_ENVELOPE_RING_TOLD:
        return sizeof(struct mgds_ring_told);
    case MGDS_ENVELOPE_RING_MAPPED:
    case MGDS_ENVELOPE_RING_SHORT:
    case MGDS_ENVELOPE_RING_CLOSED:
        return sizeof(struct mgds_ring_said);
    case MGDS_ENVELOPE_TAKEN:
        return 0;
    default:
        return sizeof(struct mgds_tell);
    }
}

static void heads_of_another_length_are_refused(void **state)
{
    unsigned char zeros[MGDS_WIRE_HEAD_BYTES] = {0};
    struct env_place place;

    (void)state;
    env_open(&place);
    for (unsigned kind = MGDS_ENVELOPE_RTS; kind < MGDS_ENVELOPES; kind++)
        for (size_t bytes = 0; bytes <= sizeof(zeros); bytes++) {
            if (bytes == length_of(kind) && bytes > 0)
                continue;
            if (kind == MGDS_ENVELOPE_RTS && bytes == SHORT_RTS)
                continue;
            assert_int_equal(wire_come(kind, zeros, bytes, NULL, 0), -EPROTO);
            assert_int_equal(env_refused(&place), 1);
        }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    env_close(&place);
}

static void what_a_short_rts_leaves_out_is_0(void **state)
{
    struct mgds_rts rts = {.comm = 1, .address = 2, .export = 3};
    union mgds_envelope_head head;

    (void)state;
    memset(&head, 0xff, sizeof(head));
    assert_int_equal(mgds_rts_bytes(&rts), sizeof(rts));
    assert_int_equal(
        mgds_envelope_open(&head, MGDS_ENVELOPE_RTS, &rts, SHORT_RTS, 0), 0);
    assert_int_equal(head.rts.comm, 1);
    assert_int_equal(head.rts.address, 0);
    assert_int_equal(head.rts.export, 0);
    assert_int_equal(mgds_rts_bytes(&head.rts), SHORT_RTS);
}

static void counts_of_taken_fit_its_length(void **state)
{
    struct mgds_taken taken = {.rank = OTHER};
    struct env_place place;

    (void)state;
    env_open(&place);
    for (uint32_t count = 0; count < 2 * MGDS_TAKEN_MOST; count++)
        for (size_t room = 0; room <= MGDS_TAKEN_MOST; room++) {
            size_t bytes = offsetof(struct mgds_taken, request_id) +
                           room * sizeof(taken.request_id[0]);
            bool fits = count == room && count > 0;

            taken.count = count;
            assert_int_equal(
                wire_come(MGDS_ENVELOPE_TAKEN, &taken, bytes, NULL, 0),
                fits ? HEARD : -EPROTO);
            assert_int_equal(env_refused(&place), fits ? count : 1);
        }
    taken.count = UINT32_MAX;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_TAKEN, &taken, sizeof(taken), NULL, 0),
        -EPROTO);
    assert_int_equal(env_refused(&place), 1);
    env_close(&place);
}

static void only_data_has_a_body(void **state)
{
    unsigned char zeros[MGDS_WIRE_HEAD_BYTES] = {0};
    struct env_place place;

    (void)state;
    env_open(&place);
    for (unsigned kind = MGDS_ENVELOPE_RTS; kind < MGDS_ENVELOPES; kind++) {
        if (kind == MGDS_ENVELOPE_DATA || kind == MGDS_ENVELOPE_TAKEN)
            continue;
        assert_int_equal(
            wire_come(kind, zeros, length_of(kind), zeros, sizeof(zeros)),
            -EPROTO);
        assert_int_equal(env_refused(&place), 1);
    }
    env_close(&place);
}
/* Messages, and what names ranks. */

struct ends {
    uint32_t rank, index, to_index;
};

static const struct ends nobody[] = {
    {RANKS, 0, 0},
    {UINT32_MAX, 0, 0},
    {OTHER, OTHER_STREAMS, 0},
    {OTHER, UINT32_MAX, 0}, /* wraps around to an earlier source */
    {OTHER, UINT32_MAX - 1, 0},
    {THIRD, UINT32_MAX, 0},
    {THIRD, 1, 0},
    {OTHER, 0, 1},
    {OTHER, 0, UINT32_MAX}};

static void come_from(unsigned kind, const struct ends *from)
{
    const struct mgds_rts rts = {.comm = ID,
                                 .bytes = BYTES,
                                 .tag = TAG,
                                 .rank = from->rank,
                                 .index = (uint16_t)from->index,
                                 .to_index = (uint16_t)from->to_index};
    const struct mgds_tell tell = {.comm = ID,
                                   .rank = from->rank,
                                   .index = from->index,
                                   .to_index = from->to_index};
    const struct mgds_exported exported = {.comm = ID,
                                           .rank = from->rank,
                                           .index = from->index,
                                           .to_index = from->to_index,
                                           .handle = {.id = 3, .size = 8}};
    const struct mgds_imported imported = {.comm = ID,
                                           .export = 3,
                                           .rank = from->rank,
                                           .index = from->index,
                                           .to_index = from->to_index};
    const void *head = kind == MGDS_ENVELOPE_RTS      ? (const void *)&rts
                       : kind == MGDS_ENVELOPE_EXPORT ? (const void *)&exported
                       : kind == MGDS_ENVELOPE_IMPORTED
                           ? (const void *)&imported
                           : (const void *)&tell;

    assert_int_equal(wire_come(kind, head, length_of(kind), NULL, 0), HEARD);
}

static void envelopes_of_nobody_are_refused(void **state)
{
    static const enum mgds_envelope kinds[] = {
        MGDS_ENVELOPE_RTS, MGDS_ENVELOPE_REACHED, MGDS_ENVELOPE_SUBSCRIBE,
        MGDS_ENVELOPE_EXPORT, MGDS_ENVELOPE_IMPORTED};
    const struct mgds_probe any = {.peer = MGDS_ANY_SOURCE,
                                   .tag = MGDS_ANY_TAG};
    struct mgds_op_status status;
    struct env_place place;

    (void)state;
    env_open(&place);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (unsigned i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
            come_from(kinds[k], &nobody[i]);
            assert_int_equal(env_refused(&place), 1);
        }
    assert_int_equal(mgds_comm_probe(place.comm, &any, &status), 0);
    env_close(&place);
}

/* Who has sent it is not for the envelope to say. */
static void ranks_are_those_of_their_processes(void **state)
{
    static const enum mgds_envelope kinds[] = {
        MGDS_ENVELOPE_RTS, MGDS_ENVELOPE_REACHED, MGDS_ENVELOPE_SUBSCRIBE,
        MGDS_ENVELOPE_EXPORT, MGDS_ENVELOPE_IMPORTED};
    static const struct ends other = {OTHER, 0, 0};
    const struct mgds_probe any = {.peer = MGDS_ANY_SOURCE,
                                   .tag = MGDS_ANY_TAG};
    struct mgds_op_status status;
    struct env_place place;

    (void)state;
    env_open(&place);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (wire_author = SELF + 1; wire_author <= WIRE_PEERS; wire_author++) {
            if (wire_author == OTHER + 1)
                continue;
            come_from(kinds[k], &other);
            assert_int_equal(env_refused(&place), 1);
        }
    wire_author = 0;
    assert_int_equal(mgds_comm_probe(place.comm, &any, &status), 0);
    env_close(&place);
}

/* Nor when it was kept until its communicator was made. */
static void what_came_early_keeps_its_process(void **state)
{
    const struct mgds_probe any = {.peer = MGDS_ANY_SOURCE,
                                   .tag = MGDS_ANY_TAG};
    struct mgds_rts rts = env_rts_of(0, BYTES);
    struct mgds_op_status status;
    struct env_place place;

    (void)state;
    for (unsigned genuine = 0; genuine < 2; genuine++) {
        env_open_early(&place);
        rts.comm = ID + 1 + genuine;
        wire_author = genuine ? 0 : THIRD + 1;
        wire_come_rts(&rts);
        wire_author = 0;
        env_make(&place, rts.comm);
        assert_int_equal(env_refused(&place), !genuine);
        assert_int_equal(mgds_comm_probe(place.comm, &any, &status), genuine);
        env_close(&place);
    }
}

static void messages_come_once_and_have_a_tag(void **state)
{
    struct mgds_rts rts = env_rts_of(0, BYTES);
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    rts.tag = -1;
    assert_int_equal(wire_come(MGDS_ENVELOPE_RTS, &rts, sizeof(rts), NULL, 0),
                     -EPROTO);
    assert_int_equal(env_refused(&place), 1);
    rts.tag = TAG;
    wire_come_rts(&rts);
    assert_int_equal(env_refused(&place), 0);
    wire_come_rts(&rts);
    assert_int_equal(env_refused(&place), 1);
    op = env_recv_from_other(&place, BYTES);
    wire_come_rts(&rts); /* also when the first one was matched */
    assert_int_equal(env_refused(&place), 1);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 1);
    env_assert_brings_all(op);
    env_close(&place);
}

/* There is no ring here. */
static void a_message_in_no_ring_is_asked_for(void **state)
{
    struct mgds_rts rts = env_rts_of(0, BYTES);
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    rts.protocol = MGDS_PROTOCOL_EAGER;
    rts.serial = 12345;
    rts.units = UINT32_MAX;
    wire_come_rts(&rts);
    assert_int_equal(env_refused(&place), 1);
    op = env_recv_from_other(&place, BYTES);
    env_assert_brings_all(op);
    env_assert_landed(&place, BYTES);
    env_close(&place);
}

static void a_message_of_no_protocol_is_refused(void **state)
{
    const struct mgds_rts rts = env_rts_of(0, BYTES);
    const struct mgds_probe any = {.peer = MGDS_ANY_SOURCE,
                                   .tag = MGDS_ANY_TAG};
    struct mgds_rts wrong[] = {rts, rts, rts};
    struct mgds_op_status status;
    struct env_place place;

    (void)state;
    env_open(&place);
    wrong[0].protocol = MGDS_PROTOCOLS;
    wrong[1].protocol = MGDS_PROTOCOL_RGET; /* without an address */
    wrong[2].address = 4096;                /* with one, by fragments */
    for (unsigned i = 0; i < 3; i++) {
        wire_come_rts(&wrong[i]);
        assert_int_equal(env_refused(&place), 1);
    }
    assert_int_equal(mgds_comm_probe(place.comm, &any, &status), 0);
    env_close(&place);
}

/* Nothing is read there: its bytes are asked for. */
static void a_message_in_unknown_memory_is_asked_for(void **state)
{
    struct mgds_rts rts = env_rts_of(0, BYTES);
    struct mgds_pull pull;
    struct mgds_op *op;
    struct env_place place;

    (void)state;
    env_open(&place);
    rts.protocol = MGDS_PROTOCOL_RGET;
    rts.address = 0xdeadbeef;
    rts.export = 3;
    op = env_recv_from_other(&place, BYTES);
    wire_come_rts(&rts);
    pull = wire_posted(MGDS_ENVELOPE_PULL)->head.pull;
    assert_int_equal(pull.refused, -EFAULT);
    assert_int_equal(wire_come_data(pull.answer, BYTES, OTHER), 0);
    assert_int_equal(env_ends(op), 0);
    env_assert_landed(&place, BYTES);
    env_close(&place);
}

static void memory_is_answered_only_if_told(void **state)
{
    struct mgds_exported exported = {
        .comm = ID, .rank = OTHER, .handle = {.size = 8}};
    struct mgds_imported imported = {.comm = ID, .export = 3, .rank = OTHER};
    struct env_place place;

    (void)state;
    env_open(&place);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        -EPROTO); /* no id */
    exported.handle.id = 3;
    exported.handle.base = UINT64_MAX - 6;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        -EPROTO); /* beyond all addresses */
    assert_int_equal(env_refused(&place), 2);
    exported.handle.base = 4096;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        HEARD); /* nothing can be mapped here, and it is told so */
    assert_int_equal(wire_posted(MGDS_ENVELOPE_IMPORTED)->head.imported.error,
                     -EXDEV);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_IMPORTED, &imported, sizeof(imported), NULL, 0),
        HEARD);
    imported.error = 5;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_IMPORTED, &imported, sizeof(imported), NULL, 0),
        -EPROTO);
    assert_int_equal(env_refused(&place), 2);
    env_close(&place);
}

/* At the end the worker may map memory yet when the wire is closed: its answer
 * is for nobody, and no wire to come has it. */
static void what_is_said_behind_the_end_is_no_news(void **state)
{
    const struct mgds_exported exported = {
        .comm = ID, .rank = OTHER, .handle = {.id = 3, .size = 8}};
    struct env_place place;
    const void *address;
    size_t bytes;
    char *said;

    (void)state;
    env_open(&place);
    mgds_wire_close();
    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        HEARD);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), 0);
    free(said);
    env_close(&place);
    assert_int_equal(mgds_comms_open(true, &address, &bytes), 0);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_IMPORTED), 0);
    mgds_comms_fini();
}

/* Peers that have ended. */

static void what_a_lost_peer_still_says_is_no_refusal(void **state)
{
    struct mgds_op *send, *recv;
    struct env_place place;
    uint64_t request_id, answer;
    char *said;

    (void)state;
    env_open(&place);
    answer = env_asked(&place, &recv, BYTES, BYTES);
    send = env_send_to_other(&place, LONG_BYTES);
    request_id = env_request_id_of_send();
    mgds_capture_start(MGDS_LOG_WARN); /* each is named */
    wire_lose(OTHER);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), 2);
    free(said);
    wire_come_pull(request_id, LONG_BYTES, OTHER);
    wire_come_taken(request_id, OTHER);
    assert_int_equal(wire_come_data(answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(env_refused(&place), 0);
    assert_int_equal(env_ends(send), -ENOTCONN);
    assert_int_equal(env_ends(recv), -ENOTCONN);
    wire_come_pull(request_id, LONG_BYTES, OTHER); /* nor when they are gone */
    assert_int_equal(wire_come_data(answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(env_refused(&place), 0);
    env_assert_landed(&place, 0);
    env_close(&place);
}

/* Lines. */

/* First of all tests: so many are said in a process. */
static void a_line_names_rank_and_kind_and_reason(void **state)
{
    enum { SAID = 16, SENT = 40 };
    struct env_place place;
    char *said;

    (void)state;
    env_open(&place);
    mgds_capture_start(MGDS_LOG_ERROR);
    wire_come_pull(5, BYTES, OTHER);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), 1);
    assert_non_null(strstr(said, "PULL of rank 1 is refused: it names no send "
                                 "to that rank that is under way\n"));
    free(said);
    mgds_capture_start(MGDS_LOG_ERROR);
    assert_int_equal(wire_come(MGDS_ENVELOPE_DATA, "", 1, NULL, 0), -EPROTO);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), 1);
    assert_non_null(strstr(said, "DATA of an unknown rank is refused: 1 bytes "
                                 "are no length of its head"));
    free(said);
    mgds_capture_start(MGDS_LOG_ERROR);
    for (int i = 0; i < SENT; i++)
        wire_come_taken(5, THIRD);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), SAID - 2 + 1);
    assert_non_null(strstr(said, "they are only counted"));
    free(said);
    assert_int_equal(env_refused(&place), 2 + SENT);
    env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_names_rank_and_kind_and_reason),
        cmocka_unit_test(heads_of_another_length_are_refused),
        cmocka_unit_test(what_a_short_rts_leaves_out_is_0),
        cmocka_unit_test(counts_of_taken_fit_its_length),
        cmocka_unit_test(only_data_has_a_body),
        cmocka_unit_test(envelopes_of_nobody_are_refused),
        cmocka_unit_test(ranks_are_those_of_their_processes),
        cmocka_unit_test(what_came_early_keeps_its_process),
        cmocka_unit_test(messages_come_once_and_have_a_tag),
        cmocka_unit_test(a_message_in_no_ring_is_asked_for),
        cmocka_unit_test(a_message_of_no_protocol_is_refused),
        cmocka_unit_test(a_message_in_unknown_memory_is_asked_for),
        cmocka_unit_test(memory_is_answered_only_if_told),
        cmocka_unit_test(what_is_said_behind_the_end_is_no_news),
        cmocka_unit_test(what_a_lost_peer_still_says_is_no_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
