/* Dynamic connections by hand: one queue of a DCI writes to two targets, in
 * slots of two blocks. */
#include <string.h>

#include "shim/gds/hca/dct.h"
#include "tests/hca/front/rail_side.h"
#include "tests/lib/sanitized.h"

enum { TARGETS = 2, DATA = 1000, WORD = 8, FLAG = 8192, MESSAGES = 20000 };

static const uint64_t key = UINT64_C(0x1ee7a330c0ffee00);

/* A target, and the memory that it is for. */
struct target {
    struct rail_side side;
    struct side_memory memory;
    struct mgds_dct *dct;
    struct mgds_wqe_av av; /* for the DCI */
};

struct place {
    struct rail_side from; /* its memory and rail */
    struct mgds_qp *dci;
    struct target to[TARGETS];
};

static void open_target(struct target *target, const struct mgds_rail *from,
                        uint64_t of_key)
{
    uint8_t unused[MGDS_END_BYTES];
    struct mgds_end_rail there;
    struct mgds_refusal refusal;

    side_open(&target->side, unused, &target->memory);
    assert_int_equal(
        mgds_dct_create(&target->dct, target->side.rail, key, &refusal), 0);
    mgds_dct_describe(target->dct, &there);
    assert_int_equal(
        mgds_dct_address(&target->av, from, &there, of_key, &refusal), 0);
}

/* The DCI takes the place of the side's own queue pair. */
static void open_place(struct place *place, uint64_t of_key)
{
    uint8_t unused[MGDS_END_BYTES];
    struct side_memory memory;
    struct mgds_refusal refusal;

    side_open(&place->from, unused, &memory);
    assert_int_equal(mgds_qp_create_dynamic(&place->dci, place->from.rail,
                                            SIDE_BLOCKS, &refusal),
                     0);
    place->from.sendq = mgds_qp_sendq(place->dci);
    assert_int_equal(place->from.sendq->slot, 2);
    for (unsigned i = 0; i < TARGETS; i++)
        open_target(&place->to[i], place->from.rail, of_key);
}

static void close_place(struct place *place)
{
    mgds_qp_destroy(place->dci);
    side_close(&place->from);
    for (unsigned i = 0; i < TARGETS; i++) {
        mgds_dct_destroy(place->to[i].dct);
        side_close(&place->to[i].side);
    }
}

static struct mgds_wqe_path path_to(const struct place *place, unsigned target)
{
    return (struct mgds_wqe_path){.qpn = place->from.sendq->qpn,
                                  .av = &place->to[target].av};
}

static uint64_t *word_at(const struct rail_side *side, size_t offset)
{
    return (uint64_t *)(void *)(side->memory + offset);
}

/* Data, and the number behind it, inline; targets take turns. Indices wrap. */
static void messages_go_to_whom_they_name(void **state)
{
    uint64_t messages = MGDS_SANITIZED ? MESSAGES / 20 : MESSAGES;
    struct place place;

    (void)state;
    open_place(&place, key);
    for (uint64_t n = 1; n <= messages; n++) {
        unsigned t = n % 8 == 0; /* a call is not made for each */
        struct target *to = &place.to[t];
        uint32_t index;

        memset(place.from.memory, (int)(n & 0xff), DATA);
        side_put(&place.from, mgds_wqe_write(path_to(&place, t), 0,
                                             side_remote(to->memory, 0),
                                             side_local(&place.from, 0, DATA)));
        index = side_put(
            &place.from,
            mgds_wqe_write_inline(path_to(&place, t), MGDS_WQE_CE_ALWAYS,
                                  side_remote(to->memory, DATA), &n, WORD));
        mgds_sendq_ring(place.from.sendq);
        side_await(word_at(&to->side, DATA), n);
        for (unsigned i = 0; i < DATA; i++)
            assert_int_equal(to->side.memory[i], n & 0xff);
        side_expect(&place.from, index);
        assert_int_equal(index, n * 4 - 2);
    }
    close_place(&place);
}

static void a_fenced_atomic_tells_both_ends_of_a_read(void **state)
{
    struct place place;
    uint32_t index;

    (void)state;
    open_place(&place, key);
    memset(place.to[0].side.memory, 0x3c, DATA);
    *word_at(&place.to[0].side, FLAG) = 41;
    side_put(&place.from, mgds_wqe_read(path_to(&place, 0), 0,
                                        side_remote(place.to[0].memory, 0),
                                        side_local(&place.from, 0, DATA)));
    index =
        side_put(&place.from,
                 mgds_wqe_fetch_add(path_to(&place, 0),
                                    MGDS_WQE_FENCE | MGDS_WQE_CE_ALWAYS,
                                    side_remote(place.to[0].memory, FLAG), 1,
                                    side_local(&place.from, FLAG, WORD)));
    mgds_sendq_ring(place.from.sendq);
    side_await(word_at(&place.from, FLAG), 41);
    assert_memory_equal(place.from.memory, place.to[0].side.memory, DATA);
    side_expect(&place.from, index);
    close_place(&place);
}

static struct mgds_wqe nop(const struct place *place)
{
    return mgds_wqe_nop(place->from.sendq->qpn, MGDS_WQE_CE_ALWAYS);
}

/* A WQE of one block has a NOP behind it, which is not heard. */
static void short_wqes_are_filled_up(void **state)
{
    struct place place;

    (void)state;
    open_place(&place, key);
    for (uint32_t n = 0; n < 3 * SIDE_BLOCKS; n++) {
        assert_int_equal(side_put(&place.from, nop(&place)), 2 * n);
        mgds_sendq_ring(place.from.sendq);
        side_expect(&place.from, 2 * n);
    }
    close_place(&place);
}

/* Of a broken queue each WQE is flushed, and heard once. */
static void a_wrong_key_is_an_error(void **state)
{
    struct mgds_completion completion;
    struct place place;

    (void)state;
    open_place(&place, key + 1);
    side_put(&place.from, mgds_wqe_write(path_to(&place, 0), 0,
                                         side_remote(place.to[0].memory, 0),
                                         side_local(&place.from, 0, DATA)));
    side_put(&place.from, nop(&place));
    side_put(&place.from, nop(&place));
    mgds_sendq_ring(place.from.sendq);
    completion = side_wait(&place.from);
    assert_int_equal(completion.state, MGDS_CQE_FAILED);
    assert_int_equal(completion.syndrome, MGDS_SYNDROME_REMOTE_ACCESS);
    for (uint32_t index = 2; index <= 4; index += 2) {
        completion = side_wait(&place.from);
        assert_int_equal(completion.syndrome, MGDS_SYNDROME_FLUSHED);
        assert_int_equal(completion.index, index);
    }
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_go_to_whom_they_name),
        cmocka_unit_test(a_fenced_atomic_tells_both_ends_of_a_read),
        cmocka_unit_test(short_wqes_are_filled_up),
        cmocka_unit_test(a_wrong_key_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
