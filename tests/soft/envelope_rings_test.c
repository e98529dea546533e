/* Envelopes between processes about rings of this one, on a wire that goes
 * nowhere: what is refused, and who may free what when. This process is SELF;
 * what OTHER says is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/dones.h"
#include "shim/gds/transport/own_rings.h"
#include "tests/soft/ring_talk.h"

/* Freed when it was closed, and not by anybody else. */
static void a_ring_goes_when_it_is_closed(void **state)
{
    struct mgds_ring_told ring;
    struct gpu_env place;
    uint64_t bytes;

    (void)state;
    gpu_env_open(&place);
    bytes = mgds_rings_bytes();
    talk_ask(&place, OTHER, 1000);
    ring = talk_told();
    assert_true(ring.error == 0 && ring.token == 9);
    assert_int_equal(ring.handle.units, 1000);
    assert_true(mgds_rings_bytes() > bytes);
    talk_say(&place, FAR, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    talk_say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number + 1);
    talk_say(&place, OTHER, MGDS_ENVELOPE_RING_MAPPED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 3);
    mgds_defer_drain();
    assert_true(talk_is_there(&place, ring.number));
    talk_say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_false(talk_is_there(&place, ring.number));
    mgds_defer_drain();
    assert_true(mgds_rings_bytes() > bytes); /* until a call that frees */
    mgds_comms_trim();
    mgds_defer_drain();
    assert_true(mgds_rings_bytes() > bytes); /* after a communicator was */
    mgds_comms_note_freed();
    mgds_comms_trim();
    assert_true(mgds_rings_bytes() > bytes); /* and a safe point */
    mgds_defer_drain();
    assert_true(mgds_rings_bytes() == bytes);
    talk_say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 1);
    gpu_env_close(&place);
}

/* Whatever OTHER's own setting lets it ask for. */
static void a_ring_is_as_long_as_its_owner_lets_it_be(void **state)
{
    enum { MOST = 1 << 16 }; /* as CMakeLists.txt says */
    struct mgds_ring_told ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_ask(&place, OTHER, 2 * MOST);
    ring = talk_told();
    assert_int_equal(ring.error, 0);
    assert_int_equal(ring.handle.units, MOST);
    gpu_env_close(&place);
}

/* Of whom no stream here has a channel. */
static void a_stranger_has_no_ring(void **state)
{
    struct mgds_ring_told ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_ask(&place, FAR, 256);
    ring = talk_told();
    assert_int_equal(ring.error, -ENOMEM);
    assert_int_equal(ring.token, 9);
    gpu_env_close(&place);
}

/* What no ring can have is cut; what is not there is refused, and all who have
 * rings are asked for what they do not use. */
static void all_rings_together_are_bounded(void **state)
{
    const uint64_t most = (uint64_t)4 << 20; /* as CMakeLists.txt says */
    struct mgds_ring_told ring = {.error = 0};
    struct gpu_env place;
    unsigned count = 0;

    (void)state;
    gpu_env_open(&place);
    for (; ring.error == 0; count++) {
        talk_ask(&place, OTHER, MGDS_RING_FIRST);
        ring = talk_told();
        assert_true(mgds_rings_bytes() <= most);
    }
    assert_true(count > 1);
    assert_int_equal(ring.error, -ENOMEM);
    gpu_env_await(MGDS_ENVELOPE_RING_SHORT);
    talk_ask(&place, OTHER, UINT32_MAX); /* more than any GPU has */
    assert_int_equal(talk_told().error, -ENOMEM);
    gpu_env_close(&place);
}

/* RING_CLOSED is under way while another communicator is made: what it closes
 * is not OTHER's any more, and what is given next is not freed by it. */
static void a_ring_is_offered_once(void **state)
{
    struct talk_company company[3];
    struct mgds_offer first, second, third;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company[0], &place);
    assert_true(mgds_channels_offer(company[0].channels));
    first = talk_offered(&company[0]);
    assert_true(first.ring != 0 && first.dones != 0);
    talk_open(&company[1], &place);
    assert_false(mgds_channels_offer(company[1].channels));
    second = talk_offered(&company[1]);
    assert_true(second.ring == 0 && second.dones == 0);
    talk_say_of(first.from, &place, MGDS_ENVELOPE_RING_CLOSED, first.ring, 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    talk_open(&company[2], &place);
    assert_true(mgds_channels_offer(company[2].channels));
    third = talk_offered(&company[2]);
    assert_true(third.ring != 0 && third.dones == 0);
    mgds_comms_note_freed();
    mgds_comms_trim();
    mgds_defer_drain();
    assert_true(talk_is_there(&place, third.ring));
    assert_false(talk_is_there(&place, first.ring));
    for (unsigned i = 0; i < 3; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

/* A member had no memory, so nobody was told of anything. */
static void what_nobody_was_told_of_is_offered_next(void **state)
{
    struct talk_company company[2];
    struct mgds_offer offered;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    for (unsigned i = 0; i < 2; i++) {
        talk_open(&company[i], &place);
        assert_true(mgds_channels_offer(company[i].channels));
    }
    offered = talk_offered(&company[1]);
    assert_true(offered.ring != 0 && offered.dones != 0);
    assert_true(talk_is_there(&place, offered.ring));
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

/* OTHER has no channel to here, so it mapped nothing. */
static void what_was_not_mapped_is_offered_next(void **state)
{
    struct talk_company company[2];
    struct mgds_offer first, second;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company[0], &place);
    assert_true(mgds_channels_offer(company[0].channels));
    first = talk_offered(&company[0]);
    talk_say_of(first.from, &place, MGDS_ENVELOPE_RING_CLOSED, first.ring,
                -ENOTCONN);
    talk_say_of(first.from, &place, MGDS_ENVELOPE_RING_MAPPED, first.dones,
                -ENOTCONN);
    assert_int_equal(gpu_env_refused(&place), 0);
    talk_open(&company[1], &place);
    assert_true(mgds_channels_offer(company[1].channels));
    second = talk_offered(&company[1]);
    assert_int_equal(second.ring, first.ring);
    assert_int_equal(second.dones, first.dones);
    assert_true(talk_is_there(&place, second.ring));
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

static struct mgds_ring_pair *pair_of(const struct gpu_env *place)
{
    return mgds_ring_pair_find(talk_here(place), OTHER + 1, talk_here(place));
}

static enum mgds_dones_state open_dones(const struct gpu_env *place)
{
    enum mgds_dones_state found;

    mgds_engine_enter();
    found = mgds_dones_open(pair_of(place));
    mgds_engine_leave();
    return found;
}

/* What it is, and that some seconds pass. */
static enum mgds_dones_state age_dones(const struct gpu_env *place)
{
    enum mgds_dones_state found;

    mgds_engine_enter();
    found = pair_of(place)->state;
    pair_of(place)->since -= UINT64_C(3) * MGDS_RING_AGAIN_NS;
    mgds_engine_leave();
    return found;
}

/* It was told of done words, and could not map them, or had freed the
 * communicator. */
static void offer_after(int error)
{
    struct talk_company company[2];
    struct mgds_ring_told words;
    struct gpu_env place;

    gpu_env_open(&place);
    talk_open(&company[0], &place);
    open_dones(&place);
    words = talk_told();
    assert_true(words.token == 0 && words.error == 0);
    talk_say_of(words.ends.to, &place, MGDS_ENVELOPE_RING_MAPPED, words.number,
                error);
    assert_int_equal(gpu_env_refused(&place), 0);
    talk_open(&company[1], &place);
    assert_true(mgds_channels_offer(company[1].channels));
    assert_int_equal(talk_offered(&company[1]).dones, words.number);
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

static void done_words_that_were_not_mapped_are_offered_next(void **state)
{
    (void)state;
    offer_after(-ENOTCONN);
    offer_after(-ENOMEM);
}

/* OTHER says that of the done words that it was told of last; some seconds
 * later a message needs them. */
static enum mgds_dones_state say_and_need(struct gpu_env *place,
                                          const struct mgds_ring_told *words,
                                          int error)
{
    talk_say_of(words->ends.to, place, MGDS_ENVELOPE_RING_MAPPED, words->number,
                error);
    assert_int_equal(age_dones(place),
                     error ? MGDS_DONES_REFUSED : MGDS_DONES_READY);
    return open_dones(place);
}

static void done_words_are_told_again_if_that_may_help(void **state)
{
    static const int passing[] = {-ENOMEM, -EBUSY};
    struct talk_company company;
    struct mgds_ring_told words, again;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    open_dones(&place);
    words = talk_told();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(say_and_need(&place, &words, passing[i]),
                         MGDS_DONES_TOLD);
        again = talk_told();
        assert_int_equal(again.number, words.number);
        assert_true(again.token == 0 && again.error == 0);
    }
    assert_int_equal(say_and_need(&place, &words, 0), MGDS_DONES_READY);
    assert_int_equal(say_and_need(&place, &words, -EXDEV), MGDS_DONES_REFUSED);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_TOLD), 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    mgds_channels_put(company.channels);
    gpu_env_close(&place);
}

/* There was no memory to post that: its memory goes back. */
static void what_could_not_be_told_is_not_kept(void **state)
{
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct gpu_env place;
    uint64_t bytes;

    (void)state;
    gpu_env_open(&place);
    bytes = mgds_rings_bytes();
    wire_refuse(-ENOMEM);
    talk_ask(&place, OTHER, MGDS_RING_FIRST);
    while (wire_refused() == 0) {
        assert_true(gpu_env_seconds() < end);
        mgds_op_progress();
    }
    wire_refuse(0);
    mgds_engine_enter(); /* whoever has made it is through */
    mgds_engine_leave();
    mgds_defer_drain();
    assert_true(mgds_rings_bytes() == bytes);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_goes_when_it_is_closed),
        cmocka_unit_test(a_ring_is_as_long_as_its_owner_lets_it_be),
        cmocka_unit_test(a_stranger_has_no_ring),
        cmocka_unit_test(all_rings_together_are_bounded),
        cmocka_unit_test(a_ring_is_offered_once),
        cmocka_unit_test(what_nobody_was_told_of_is_offered_next),
        cmocka_unit_test(what_was_not_mapped_is_offered_next),
        cmocka_unit_test(done_words_that_were_not_mapped_are_offered_next),
        cmocka_unit_test(done_words_are_told_again_if_that_may_help),
        cmocka_unit_test(what_could_not_be_told_is_not_kept),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
