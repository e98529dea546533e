/* What other processes say is not trusted: envelopes of every kind that are
 * short, long, made up, too late or not true, against a domain of host memory
 * on a wire that goes nowhere. What is refused is counted, changes nothing, and
 * those that are true still do what they should. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"
#include "shim/gds/domain/domain.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"
#include "tests/unit/fake_wire.h"

/* This is rank 0; OTHER has two streams, THIRD none. */
enum { SELF, OTHER, THIRD, RANKS, OTHER_STREAMS = 2 };
enum { ID = 77, TAG = 5, BYTES = 100, LONG_BYTES = 100000 };

/* What wire_come returns for what is well-formed and has no body. */
enum { HEARD = -ENOSYS };

struct place {
    struct mgds_domain *domain;
    struct mgds_layout *layout; /* a byte */
    unsigned char *memory;      /* LONG_BYTES and a margin */
    uint64_t refused;           /* before */
};

static void open_place(struct place *place)
{
    const struct mgds_member members[RANKS] = {
        {.address = &wire_address[SELF], .address_bytes = 1, .process = 1},
        {.address = &wire_address[OTHER],
         .address_bytes = 1,
         .process = 2,
         .streams = OTHER_STREAMS},
        {.address = &wire_address[THIRD], .address_bytes = 1, .process = 3}};
    const struct mgds_domain_spec spec = {
        .id = ID, .rank = SELF, .size = RANKS, .members = members};

    *place = (struct place){.domain = NULL};
    assert_int_equal(mgds_layout_bytes(&place->layout, 1, 1), 0);
    assert_int_equal(mgds_domain_create(&place->domain, &spec), 0);
    place->memory = (unsigned char *)malloc(2 * LONG_BYTES);
    assert_non_null(place->memory);
    memset(place->memory, 0xee, 2 * LONG_BYTES);
    place->refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
}

static void close_place(struct place *place)
{
    mgds_domain_put(place->domain);
    mgds_domains_fini();
    mgds_layout_put(place->layout);
    free(place->memory);
}

/* Refusals since the last question. */
static unsigned refused(struct place *place)
{
    uint64_t now = mgds_stats_value(MGDS_STAT_envelopes_refused);
    unsigned since = (unsigned)(now - place->refused);

    place->refused = now;
    return since;
}

static struct mgds_xfer xfer_of(const struct place *place, size_t bytes)
{
    return (struct mgds_xfer){
        .buffer = {.addr = place->memory,
                   .count = bytes,
                   .layout = place->layout},
        .peer = OTHER,
        .tag = TAG,
    };
}

/* Long ones stay on this side until they were asked for. */
static struct mgds_op *send_to_other(struct place *place, size_t bytes)
{
    const struct mgds_xfer xfer = xfer_of(place, bytes);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_send(&op, place->domain, &xfer), 0);
    return op;
}

static struct mgds_op *recv_from_other(struct place *place, size_t bytes)
{
    const struct mgds_xfer xfer = xfer_of(place, bytes);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_recv(&op, place->domain, &xfer), 0);
    return op;
}

static struct mgds_rts rts_of(uint64_t number, size_t bytes)
{
    return (struct mgds_rts){.domain = ID,
                             .number = number,
                             .cookie = 4711,
                             .bytes = bytes,
                             .tag = TAG,
                             .rank = OTHER,
                             .reached = 1};
}

static void come_rts(const struct mgds_rts *rts)
{
    assert_int_equal(wire_come(MGDS_ENVELOPE_RTS, rts, sizeof(*rts), NULL, 0),
                     HEARD);
}

static void come_pull(uint64_t cookie, uint64_t bytes, uint32_t rank)
{
    const struct mgds_pull pull = {
        .cookie = cookie, .answer = 99, .bytes = bytes, .rank = rank};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0), HEARD);
}

static void come_taken(uint64_t cookie, uint32_t rank)
{
    const struct mgds_taken taken = {
        .count = 1, .rank = rank, .cookie = {cookie}};

    assert_int_equal(wire_come(MGDS_ENVELOPE_TAKEN, &taken,
                               offsetof(struct mgds_taken, cookie[1]), NULL, 0),
                     HEARD);
}

static int come_data(uint64_t answer, size_t bytes, uint32_t rank)
{
    const struct mgds_data data = {.answer = answer, .rank = rank};
    unsigned char *body = (unsigned char *)malloc(bytes ? bytes : 1);
    int rc;

    assert_non_null(body);
    memset(body, 0x11, bytes);
    rc = wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, bytes);
    free(body);
    return rc;
}

/* A receive of which the bytes were asked for; its cookie. */
static uint64_t asked(struct place *place, struct mgds_op **op, size_t bytes,
                      size_t sent)
{
    const struct mgds_rts rts = rts_of(0, sent);
    const struct wire_post *post;

    *op = recv_from_other(place, bytes);
    come_rts(&rts);
    post = wire_posted(MGDS_ENVELOPE_PULL);
    assert_non_null(post);
    assert_int_equal(post->head.pull.cookie, 4711);
    assert_int_equal(post->head.pull.rank, SELF);
    assert_int_equal(post->head.pull.bytes, sent < bytes ? sent : bytes);
    return post->head.pull.answer;
}

static uint64_t cookie_of_send(void)
{
    const struct wire_post *post = wire_posted(MGDS_ENVELOPE_RTS);

    assert_non_null(post);
    return post->head.rts.cookie;
}

static int ends(struct mgds_op *op)
{
    struct mgds_op_status status;

    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_status(op, &status);
    mgds_op_put(op);
    return status.error;
}

/* The bytes behind what a receive may touch are as they were. */
static void assert_landed(const struct place *place, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(place->memory[i], 0x11);
    for (size_t i = bytes; i < bytes + 64; i++)
        assert_int_equal(place->memory[i], 0xee);
}

/* Lengths. */

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
    case MGDS_ENVELOPE_TAKEN:
        return 0;
    default:
        return sizeof(struct mgds_tell);
    }
}

static void heads_of_another_length_are_refused(void **state)
{
    unsigned char zeros[MGDS_WIRE_HEAD_BYTES] = {0};
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned kind = MGDS_ENVELOPE_RTS; kind < MGDS_ENVELOPES; kind++)
        for (size_t bytes = 0; bytes <= sizeof(zeros); bytes++) {
            if (bytes == length_of(kind) && bytes > 0)
                continue;
            assert_int_equal(wire_come(kind, zeros, bytes, NULL, 0), -EPROTO);
            assert_int_equal(refused(&place), 1);
        }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    close_place(&place);
}

static void counts_of_taken_fit_its_length(void **state)
{
    struct mgds_taken taken = {.rank = OTHER};
    struct place place;

    (void)state;
    open_place(&place);
    for (uint32_t count = 0; count < 2 * MGDS_TAKEN_MOST; count++)
        for (size_t room = 0; room <= MGDS_TAKEN_MOST; room++) {
            size_t bytes = offsetof(struct mgds_taken, cookie) +
                           room * sizeof(taken.cookie[0]);
            bool fits = count == room && count > 0;

            taken.count = count;
            assert_int_equal(
                wire_come(MGDS_ENVELOPE_TAKEN, &taken, bytes, NULL, 0),
                fits ? HEARD : -EPROTO);
            assert_int_equal(refused(&place), fits ? count : 1);
        }
    taken.count = UINT32_MAX;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_TAKEN, &taken, sizeof(taken), NULL, 0),
        -EPROTO);
    assert_int_equal(refused(&place), 1);
    close_place(&place);
}

static void only_data_has_a_body(void **state)
{
    unsigned char zeros[MGDS_WIRE_HEAD_BYTES] = {0};
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned kind = MGDS_ENVELOPE_RTS; kind < MGDS_ENVELOPES; kind++) {
        if (kind == MGDS_ENVELOPE_DATA || kind == MGDS_ENVELOPE_TAKEN)
            continue;
        assert_int_equal(
            wire_come(kind, zeros, length_of(kind), zeros, sizeof(zeros)),
            -EPROTO);
        assert_int_equal(refused(&place), 1);
    }
    close_place(&place);
}

/* Cookies. */

/* In a domain with operations of every state none of these is one of them. */
static const uint64_t made_up[] = {0,
                                   UINT32_MAX,
                                   UINT64_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(7) << 32) + 1,
                                   1000,
                                   UINT64_C(0xdeadbeefdeadbee0)};

static void cookies_that_were_made_up_name_nothing(void **state)
{
    struct mgds_op *send, *recv;
    struct place place;
    uint64_t address;

    (void)state;
    open_place(&place);
    send = send_to_other(&place, LONG_BYTES);
    recv = recv_from_other(&place, BYTES);
    address = (uintptr_t)send; /* what a cookie was before */
    for (unsigned i = 0; i <= sizeof(made_up) / sizeof(made_up[0]); i++) {
        bool last = i == sizeof(made_up) / sizeof(made_up[0]);
        uint64_t cookie = last ? address : made_up[i];

        come_pull(cookie, 1, OTHER);
        come_taken(cookie, OTHER);
        assert_int_equal(come_data(cookie, 8, OTHER), -ECANCELED);
        assert_int_equal(come_data(cookie, 0, OTHER), -ECANCELED);
        assert_int_equal(refused(&place), 4);
    }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    assert_int_equal(mgds_op_test(send), 0);
    come_pull(cookie_of_send(), LONG_BYTES, OTHER);
    assert_non_null(wire_posted(MGDS_ENVELOPE_DATA));
    assert_int_equal(ends(send), 0);
    assert_int_equal(mgds_op_cancel(recv), 1);
    mgds_op_put(recv);
    close_place(&place);
}

static void a_send_is_asked_for_once_by_its_receiver(void **state)
{
    const struct wire_post *post;
    struct mgds_op *op;
    struct place place;
    uint64_t cookie;

    (void)state;
    open_place(&place);
    op = send_to_other(&place, LONG_BYTES);
    cookie = cookie_of_send();
    come_pull(cookie, LONG_BYTES, THIRD); /* not whom it is for */
    come_pull(cookie, LONG_BYTES, SELF);
    come_pull(cookie, LONG_BYTES, UINT32_MAX);
    assert_int_equal(come_data(cookie, LONG_BYTES, OTHER), -ECANCELED);
    come_taken(cookie, OTHER); /* it is in no ring */
    assert_int_equal(refused(&place), 5);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 0);
    come_pull(cookie, LONG_BYTES, OTHER);
    assert_int_equal(refused(&place), 0);
    come_pull(cookie, LONG_BYTES, OTHER);
    come_taken(cookie, OTHER); /* its bytes are under way */
    assert_int_equal(refused(&place), 2);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_DATA), 1);
    post = wire_posted(MGDS_ENVELOPE_DATA);
    assert_int_equal(post->head.data.answer, 99);
    assert_int_equal(post->head.data.rank, SELF);
    assert_int_equal(post->body_bytes, LONG_BYTES);
    assert_int_equal(ends(op), 0);
    close_place(&place);
}

static void cookies_of_what_is_over_name_nothing(void **state)
{
    struct mgds_op *op;
    struct place place;
    uint64_t first = 0, cookie;

    (void)state;
    open_place(&place);
    for (int i = 0; i < 3; i++) { /* each in the place of the one before */
        op = send_to_other(&place, LONG_BYTES);
        cookie = cookie_of_send();
        assert_true(cookie != first);
        if (i == 0)
            first = cookie;
        else
            come_pull(first, LONG_BYTES, OTHER);
        assert_int_equal(refused(&place), i > 0);
        come_pull(cookie, 10, OTHER);
        assert_int_equal(wire_posted(MGDS_ENVELOPE_DATA)->body_bytes, 10);
        assert_int_equal(ends(op), 0);
        come_pull(cookie, LONG_BYTES, OTHER);
        come_taken(cookie, OTHER);
        assert_int_equal(come_data(cookie, 8, OTHER), -ECANCELED);
        assert_int_equal(refused(&place), 3);
    }
    close_place(&place);
}

static void a_send_gives_no_more_than_it_has(void **state)
{
    const struct wire_post *post;
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    op = send_to_other(&place, LONG_BYTES);
    come_pull(cookie_of_send(), LONG_BYTES + 1, OTHER);
    assert_int_equal(refused(&place), 1);
    post = wire_posted(MGDS_ENVELOPE_DATA); /* that it fails */
    assert_non_null(post);
    assert_int_equal(post->head.data.error, -EIO);
    assert_int_equal(post->body_bytes, 0);
    assert_int_equal(ends(op), -EIO);
    close_place(&place);
}

/* Receives. */

/* Small cookies are all that there are. */
static void data_that_nobody_asked_for_lands_nowhere(void **state)
{
    enum { COOKIES = 64 };
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    op = recv_from_other(&place, BYTES);
    for (uint64_t i = 0; i <= COOKIES; i++)
        assert_int_equal(come_data(i, BYTES, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), COOKIES + 1);
    assert_landed(&place, 0);
    assert_int_equal(mgds_op_test(op), 0);
    assert_int_equal(mgds_op_cancel(op), 1);
    mgds_op_put(op);
    close_place(&place);
}

static void data_lands_once_and_from_its_sender(void **state)
{
    struct mgds_data data = {.rank = OTHER};
    unsigned char body[BYTES];
    struct wire_landing landing;
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    memset(body, 0x11, sizeof(body));
    data.answer = asked(&place, &op, BYTES, BYTES);
    assert_int_equal(come_data(data.answer, BYTES, THIRD), -ECANCELED);
    come_pull(data.answer, BYTES, OTHER); /* a receive is no send */
    come_taken(data.answer, OTHER);
    assert_int_equal(refused(&place), 3);
    assert_int_equal(
        wire_head(MGDS_ENVELOPE_DATA, &data, sizeof(data), BYTES, &landing), 0);
    assert_int_equal(come_data(data.answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(come_data(0, 0, OTHER), -ECANCELED);
    assert_int_equal(come_data(data.answer, 0, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 3);
    wire_land(&landing, body, sizeof(body));
    assert_int_equal(come_data(data.answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 1);
    assert_int_equal(ends(op), 0);
    assert_landed(&place, BYTES);
    close_place(&place);
}

static void data_of_another_length_fails_its_receive(void **state)
{
    static const size_t lengths[] = {0, 1, BYTES - 1, BYTES + 1, LONG_BYTES};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct mgds_op *op;
        struct place place;
        uint64_t answer;

        open_place(&place);
        answer = asked(&place, &op, 2 * BYTES, BYTES);
        assert_int_equal(come_data(answer, lengths[i], OTHER), -ECANCELED);
        assert_int_equal(refused(&place), 1);
        assert_int_equal(ends(op), -EIO);
        assert_landed(&place, 0);
        close_place(&place);
    }
}

/* As what a message has that is longer than its receive. */
static void a_truncated_message_is_not_refused(void **state)
{
    struct mgds_op *op;
    struct place place;
    uint64_t answer;

    (void)state;
    open_place(&place);
    answer = asked(&place, &op, BYTES, LONG_BYTES);
    assert_int_equal(come_data(answer, BYTES, OTHER), 0);
    assert_int_equal(refused(&place), 0);
    assert_int_equal(ends(op), -EMSGSIZE);
    assert_landed(&place, BYTES);
    close_place(&place);
}

static void errors_of_data_are_errnos(void **state)
{
    static const int32_t none[] = {1, EIO, INT32_MAX, INT32_MIN, -4096};
    struct mgds_data data = {.rank = OTHER};
    unsigned char body[BYTES] = {0};
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    data.answer = asked(&place, &op, BYTES, BYTES);
    for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        data.error = none[i];
        assert_int_equal(
            wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
            -EPROTO);
    }
    assert_int_equal(refused(&place), sizeof(none) / sizeof(none[0]));
    data.error = -ENOMEM; /* with bytes: they do not go together */
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, BYTES),
        -ECANCELED);
    assert_int_equal(refused(&place), 1);
    assert_int_equal(ends(op), -EIO);
    close_place(&place);
}

static void a_send_that_failed_is_no_refusal(void **state)
{
    struct mgds_data data = {.rank = OTHER, .error = -EFAULT};
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    data.answer = asked(&place, &op, BYTES, BYTES);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), NULL, 0),
        -ECANCELED);
    assert_int_equal(refused(&place), 0);
    assert_int_equal(ends(op), -EFAULT);
    close_place(&place);
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
    const struct mgds_rts rts = {.domain = ID,
                                 .bytes = BYTES,
                                 .tag = TAG,
                                 .rank = from->rank,
                                 .index = from->index,
                                 .to_index = from->to_index};
    const struct mgds_tell tell = {.domain = ID,
                                   .rank = from->rank,
                                   .index = from->index,
                                   .to_index = from->to_index};
    const struct mgds_exported exported = {.domain = ID,
                                           .rank = from->rank,
                                           .index = from->index,
                                           .to_index = from->to_index,
                                           .handle = {.id = 3, .size = 8}};
    const struct mgds_imported imported = {.domain = ID,
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
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (unsigned i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
            come_from(kinds[k], &nobody[i]);
            assert_int_equal(refused(&place), 1);
        }
    assert_int_equal(mgds_domain_probe(place.domain, &any, &status), 0);
    close_place(&place);
}

static void messages_come_once_and_have_a_tag(void **state)
{
    struct mgds_rts rts = rts_of(0, BYTES);
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    rts.tag = -1;
    assert_int_equal(wire_come(MGDS_ENVELOPE_RTS, &rts, sizeof(rts), NULL, 0),
                     -EPROTO);
    assert_int_equal(refused(&place), 1);
    rts.tag = TAG;
    come_rts(&rts);
    assert_int_equal(refused(&place), 0);
    come_rts(&rts);
    assert_int_equal(refused(&place), 1);
    op = recv_from_other(&place, BYTES);
    come_rts(&rts); /* also when the first one was matched */
    assert_int_equal(refused(&place), 1);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 1);
    assert_int_equal(
        come_data(wire_posted(MGDS_ENVELOPE_PULL)->head.pull.answer, BYTES,
                  OTHER),
        0);
    assert_int_equal(ends(op), 0);
    close_place(&place);
}

/* There is no ring here. */
static void a_message_in_no_ring_is_asked_for(void **state)
{
    struct mgds_rts rts = rts_of(0, BYTES);
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    rts.serial = 12345;
    rts.units = UINT32_MAX;
    come_rts(&rts);
    assert_int_equal(refused(&place), 1);
    op = recv_from_other(&place, BYTES);
    assert_int_equal(
        come_data(wire_posted(MGDS_ENVELOPE_PULL)->head.pull.answer, BYTES,
                  OTHER),
        0);
    assert_int_equal(ends(op), 0);
    assert_landed(&place, BYTES);
    close_place(&place);
}

static void a_message_in_unknown_memory_fails_its_receive(void **state)
{
    struct mgds_rts rts = rts_of(0, BYTES);
    struct mgds_op *op;
    struct place place;

    (void)state;
    open_place(&place);
    rts.address = 0xdeadbeef;
    rts.export = 3;
    op = recv_from_other(&place, BYTES);
    come_rts(&rts);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_PULL), 0);
    assert_int_equal(ends(op), -EIO);
    close_place(&place);
}

static void memory_is_answered_only_if_told(void **state)
{
    struct mgds_exported exported = {
        .domain = ID, .rank = OTHER, .handle = {.size = 8}};
    struct mgds_imported imported = {.domain = ID, .export = 3, .rank = OTHER};
    struct place place;

    (void)state;
    open_place(&place);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        -EPROTO); /* no id */
    exported.handle.id = 3;
    exported.handle.base = UINT64_MAX - 6;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        -EPROTO); /* beyond all addresses */
    assert_int_equal(refused(&place), 2);
    exported.handle.base = 4096;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_EXPORT, &exported, sizeof(exported), NULL, 0),
        HEARD); /* nothing can be mapped here, and it is told so */
    assert_int_equal(wire_posted(MGDS_ENVELOPE_IMPORTED)->head.imported.error,
                     -EXDEV);
    assert_int_equal(refused(&place), 0);
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_IMPORTED, &imported, sizeof(imported), NULL, 0),
        HEARD);
    imported.error = 5;
    assert_int_equal(
        wire_come(MGDS_ENVELOPE_IMPORTED, &imported, sizeof(imported), NULL, 0),
        -EPROTO);
    assert_int_equal(refused(&place), 2);
    close_place(&place);
}

/* Peers that have ended. */

static void what_a_lost_peer_still_says_is_no_refusal(void **state)
{
    struct mgds_op *send, *recv;
    struct place place;
    uint64_t cookie, answer;
    char *said;

    (void)state;
    open_place(&place);
    answer = asked(&place, &recv, BYTES, BYTES);
    send = send_to_other(&place, LONG_BYTES);
    cookie = cookie_of_send();
    mgds_capture_start(MGDS_LOG_WARN); /* each is named */
    wire_lose(OTHER);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), 2);
    free(said);
    come_pull(cookie, LONG_BYTES, OTHER);
    come_taken(cookie, OTHER);
    assert_int_equal(come_data(answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 0);
    assert_int_equal(ends(send), -ENOTCONN);
    assert_int_equal(ends(recv), -ENOTCONN);
    come_pull(cookie, LONG_BYTES, OTHER); /* nor when they are gone */
    assert_int_equal(come_data(answer, BYTES, OTHER), -ECANCELED);
    assert_int_equal(refused(&place), 0);
    assert_landed(&place, 0);
    close_place(&place);
}

/* Lines. */

/* First of all tests: so many are said in a process. */
static void a_line_names_rank_and_kind_and_reason(void **state)
{
    enum { SAID = 16, SENT = 40 };
    struct place place;
    char *said;

    (void)state;
    open_place(&place);
    mgds_capture_start(MGDS_LOG_ERROR);
    come_pull(5, BYTES, OTHER);
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
        come_taken(5, THIRD);
    said = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(said), SAID - 2 + 1);
    assert_non_null(strstr(said, "they are only counted"));
    free(said);
    assert_int_equal(refused(&place), 2 + SENT);
    close_place(&place);
}

/* Memory. */

/* Enough of them for the table to grow. */
static int call_many(void *arg)
{
    enum { MANY = 70 };
    struct mgds_op *op[MANY];
    struct place *place = (struct place *)arg;
    const struct mgds_xfer xfer = xfer_of(place, BYTES);
    int n = 0, rc = 0;

    while (n < MANY && rc == 0) {
        rc = mgds_op_recv(&op[n], place->domain, &xfer);
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
    struct place place;
    int rc;

    (void)arg;
    open_place(&place);
    rc = call_many(&place);
    close_place(&place);
    return rc;
}

static void a_call_without_memory_leaves_nothing(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, call_many, &place) > 0);
    close_place(&place);
    assert_int_equal(open_call_close(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_names_rank_and_kind_and_reason),
        cmocka_unit_test(heads_of_another_length_are_refused),
        cmocka_unit_test(counts_of_taken_fit_its_length),
        cmocka_unit_test(only_data_has_a_body),
        cmocka_unit_test(cookies_that_were_made_up_name_nothing),
        cmocka_unit_test(a_send_is_asked_for_once_by_its_receiver),
        cmocka_unit_test(cookies_of_what_is_over_name_nothing),
        cmocka_unit_test(a_send_gives_no_more_than_it_has),
        cmocka_unit_test(data_that_nobody_asked_for_lands_nowhere),
        cmocka_unit_test(data_lands_once_and_from_its_sender),
        cmocka_unit_test(data_of_another_length_fails_its_receive),
        cmocka_unit_test(a_truncated_message_is_not_refused),
        cmocka_unit_test(errors_of_data_are_errnos),
        cmocka_unit_test(a_send_that_failed_is_no_refusal),
        cmocka_unit_test(envelopes_of_nobody_are_refused),
        cmocka_unit_test(messages_come_once_and_have_a_tag),
        cmocka_unit_test(a_message_in_no_ring_is_asked_for),
        cmocka_unit_test(a_message_in_unknown_memory_fails_its_receive),
        cmocka_unit_test(memory_is_answered_only_if_told),
        cmocka_unit_test(what_a_lost_peer_still_says_is_no_refusal),
        cmocka_unit_test(a_call_without_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
