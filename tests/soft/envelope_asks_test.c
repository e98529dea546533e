/* Envelopes between processes about rings that this one asks for, or is given,
 * on a wire that goes nowhere: what is refused, what goes back, and what sends
 * do meanwhile. This process is SELF; what OTHER says is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "device/impl/mem.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/base_ring.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/own_rings.h"
#include "tests/soft/ring_talk.h"

int __real_mgds_ring_view_create(struct mgds_ring_view **out,
                                 struct mgds_context *ctx,
                                 const struct mgds_ring_handle *handle,
                                 bool own);
int __wrap_mgds_ring_view_create(struct mgds_ring_view **out,
                                 struct mgds_context *ctx,
                                 const struct mgds_ring_handle *handle,
                                 bool own);

/* The linker leads it here: memory of this process stands for OTHER's, which
 * the driver maps nowhere in its own process. */
int __wrap_mgds_ring_view_create(struct mgds_ring_view **out,
                                 struct mgds_context *ctx,
                                 const struct mgds_ring_handle *handle,
                                 bool own)
{
    (void)own;
    return __real_mgds_ring_view_create(out, ctx, handle, true);
}

static struct mgds_ring_told offer(struct gpu_env *place)
{
    return (struct mgds_ring_told){.ends = {TALK_THERE, talk_here(place)},
                                   .token = UINT64_MAX,
                                   .number = 1,
                                   .handle = {.units = 256}};
}

static void hear(struct gpu_env *place, const struct mgds_ring_told *ring,
                 unsigned from)
{
    talk_come(from, MGDS_ENVELOPE_RING_TOLD, ring, sizeof(*ring));
    assert_int_equal(gpu_env_refused(place), 1);
}

static void what_nobody_asked_for_is_refused(void **state)
{
    struct mgds_ring_told ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    ring = offer(&place);
    hear(&place, &ring, OTHER);
    ring.token = 0; /* done words */
    hear(&place, &ring, FAR);
    ring.ends.from++;
    hear(&place, &ring, OTHER);
    ring = offer(&place);
    ring.token = 0;
    ring.handle.units = 255; /* too few of them */
    hear(&place, &ring, OTHER);
    ring.error = -ENOMEM;
    hear(&place, &ring, OTHER);
    gpu_env_close(&place);
}

/* Told that it cannot be mapped; what was asked for, that it is not used. */
static void what_cannot_be_mapped_is_told(void **state)
{
    struct mgds_ring_told ring;
    const struct mgds_ring_said *said;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    ring = offer(&place);
    ring.token = 0;
    talk_come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->error < 0 && said->number == 1);
    talk_come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring,
              sizeof(ring)); /* once more */
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->error < 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

/* The pair's ring is asked for, and the communicator is freed ahead of the
 * answer: the token. */
static uint64_t ask_and_free(struct gpu_env *place)
{
    struct mgds_ring_pair *pair;
    struct talk_company company;
    uint64_t token;

    talk_open(&company, place);
    mgds_engine_enter();
    pair = mgds_ring_pair_find(talk_here(place), OTHER + 1, talk_here(place));
    assert_non_null(pair);
    assert_true(mgds_base_ring_open(pair));
    mgds_engine_leave();
    token = gpu_env_await(MGDS_ENVELOPE_RING_ASKED)->head.ring_asked.token;
    mgds_channels_put(company.channels);
    return token;
}

static void what_comes_for_nobody_any_more_goes_back(void **state)
{
    const struct mgds_ring_said *said;
    struct mgds_ring_told ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    ring = offer(&place);
    ring.token = ask_and_free(&place);
    ring.ends.from = ring.ends.to;
    talk_come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
    said = &gpu_env_await(MGDS_ENVELOPE_RING_CLOSED)->head.ring_said;
    assert_true(said->number == 1 && said->ends.to == ring.ends.from);
    ring.token = 0; /* done words */
    talk_come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->number == 1 && said->error < 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    ring.token = UINT64_MAX; /* that was never asked for */
    hear(&place, &ring, OTHER);
    ring.token = 0;
    hear(&place, &ring, FAR); /* that never had anything to do with it */
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_CLOSED), 0);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_MAPPED), 0);
    gpu_env_close(&place);
}

/* With a communicator, for a stream that has no channel to there. */
static void an_offer_to_nobody_goes_back(void **state)
{
    const struct mgds_ring_said *said;
    struct talk_company company;
    struct mgds_offer offer;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    offer = (struct mgds_offer){
        .from = TALK_THERE + 1, .to = talk_here(&place), .ring = 3, .dones = 4};
    mgds_channels_take_offer(company.channels, OTHER, (const char *)&offer);
    said = &gpu_env_await(MGDS_ENVELOPE_RING_CLOSED)->head.ring_said;
    assert_true(said->number == 3 && said->error == -ENOTCONN);
    assert_true(said->ends.from == offer.to && said->ends.to == offer.from);
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->number == 4 && said->error == -ENOTCONN);
    mgds_channels_put(company.channels);
    gpu_env_close(&place);
}

static unsigned rounds;

static void count_round(void)
{
    rounds++;
}

/* OTHER has been asked for the pair's ring, and does not answer. */
static void a_send_waits_for_no_ring(void **state)
{
    struct talk_company company;
    struct mgds_comm *comm;
    struct mgds_op *op;
    struct mgds_xfer xfer;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    comm = talk_comm(&company, &place);
    xfer = gpu_env_xfer_of(&place, place.from, SHORT, OTHER);
    rounds = 0;
    wire_on_progress = count_round;
    assert_int_equal(mgds_op_send(&op, comm, &xfer), 0);
    assert_int_equal(rounds, 0);
    wire_on_progress = NULL;
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_ASKED), 1);
    rts = gpu_env_await(MGDS_ENVELOPE_RTS)->head.rts;
    assert_true(rts.serial == 0); /* it has no place */
    wire_author = OTHER + 1;
    wire_come_pull(rts.request_id, SHORT, OTHER);
    wire_author = 0;
    assert_int_equal(gpu_env_outcome(op), 0);
    mgds_comm_put(comm);
    gpu_env_close(&place);
}

/* OTHER has all but so many bytes of what rings that are larger than the first
 * may have. */
static void leave_bytes(struct gpu_env *place, uint64_t bytes)
{
    uint64_t left = mgds_own_rings_left();

    assert_true(left > bytes);
    talk_ask(place, OTHER,
             (uint32_t)((left - bytes) / sizeof(struct mgds_unit)));
    assert_int_equal(talk_told().error, 0);
    assert_true(mgds_own_rings_left() <= bytes);
    assert_true(mgds_own_rings_left() > 0);
}

static bool is_coming(struct mgds_channel *channel, size_t bytes)
{
    bool coming;

    mgds_op_progress();
    mgds_engine_enter();
    coming = mgds_channel_is_coming(channel, bytes, true);
    mgds_engine_leave();
    return coming;
}

static bool has_slot_of(struct mgds_channel *channel, size_t bytes)
{
    struct mgds_slot slot;
    bool has;

    mgds_engine_enter();
    has = mgds_channel_take_slot(channel, bytes, &slot);
    if (has)
        mgds_channel_give_slot(channel, &slot);
    mgds_engine_leave();
    return has;
}

/* More was wanted than is left: what comes has less room than the pair's ring.
 * It is not used, and not asked for again each second, until nothing is left.
 */
static void a_smaller_ring_does_not_take_the_place_of_one(void **state)
{
    enum { LEFT = 8192, FITS = 24000, WANTED = 40000 };
    const struct timespec again = {.tv_sec = 1, .tv_nsec = 100000000};
    time_t end = gpu_env_seconds() + PATIENCE_S;
    struct mgds_channel *channel;
    struct gpu_env place;
    uint64_t bytes;

    (void)state;
    gpu_env_open(&place);
    channel = mgds_channels_find(place.channels, 0, SELF);
    leave_bytes(&place, LEFT);
    bytes = mgds_rings_bytes();
    while (is_coming(channel, WANTED))
        assert_true(gpu_env_seconds() < end);
    assert_true(mgds_rings_bytes() > bytes);
    assert_true(has_slot_of(channel, FITS));
    bytes = mgds_rings_bytes();
    nanosleep(&again, NULL); /* that time passes is what is meant */
    assert_false(is_coming(channel, WANTED));
    mgds_op_progress();
    assert_true(mgds_rings_bytes() == bytes);
    gpu_env_close(&place);
}

enum { OFFERED = 5 }; /* a ring's number */

/* By OTHER, with the communicator: so many units. The ring, for the caller. */
static struct mgds_ring *offer_ring(const struct talk_company *company,
                                    const struct gpu_env *place, uint32_t units)
{
    struct mgds_offer offer = {
        .from = talk_here(place), .to = talk_here(place), .ring = OFFERED};
    struct mgds_ring *ring;

    assert_int_equal(
        mgds_ring_create(&ring, mgds_gstream_context(place->stream.gstream),
                         units),
        0);
    mgds_ring_tell(ring, &offer.of_ring);
    mgds_channels_take_offer(company->channels, OTHER, (const char *)&offer);
    return ring;
}

/* OTHER was short of memory: better than none. */
static void a_small_ring_that_was_offered_is_the_pairs(void **state)
{
    struct talk_company company;
    struct mgds_channel *channel;
    struct mgds_ring *ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    channel = mgds_channels_find(company.channels, 0, OTHER);
    ring = offer_ring(&company, &place, MGDS_RING_LEAST);
    assert_true(has_slot_of(channel, SHORT));
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_ASKED), 0);
    mgds_channels_put(company.channels);
    mgds_ring_destroy(ring);
    gpu_env_close(&place);
}

static void pass_safe_point(void)
{
    mgds_comms_trim();
    mgds_defer_drain();
}

/* The program has freed the communicator, and then a stream, while a message is
 * not taken yet: the ring goes with the next stream. */
static void a_ring_goes_behind_the_last_message_in_it(void **state)
{
    struct talk_company company;
    struct mgds_ring *ring;
    struct mgds_comm *comm;
    struct mgds_op *op;
    struct mgds_xfer xfer;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    ring = offer_ring(&company, &place, 2 * MGDS_RING_FIRST);
    comm = talk_comm(&company, &place);
    xfer = gpu_env_xfer_of(&place, place.from, SHORT, OTHER);
    assert_int_equal(mgds_op_send(&op, comm, &xfer), 0);
    rts = gpu_env_await(MGDS_ENVELOPE_RTS)->head.rts;
    assert_int_equal(rts.ring, OFFERED);
    gpu_env_finish(&place);
    mgds_comm_put(comm);
    mgds_comms_note_freed();
    pass_safe_point();
    wire_come_taken(rts.request_id, OTHER);
    assert_int_equal(gpu_env_outcome(op), 0);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_CLOSED), 0);
    pass_safe_point();
    assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_CLOSED), 1);
    mgds_ring_destroy(ring);
    gpu_env_close(&place);
}

/* OTHER answers what it was asked for last. */
static void refuse_ring(struct gpu_env *place, int error)
{
    struct mgds_ring_told answer = {
        .ends = {talk_here(place), talk_here(place)}, .error = error};

    answer.token =
        gpu_env_await(MGDS_ENVELOPE_RING_ASKED)->head.ring_asked.token;
    talk_come(OTHER, MGDS_ENVELOPE_RING_TOLD, &answer, sizeof(answer));
    assert_int_equal(gpu_env_refused(place), 0);
}

/* Calls look a channel up more than once, and hear answers in between. */
static void a_channel_in_use_stays(void **state)
{
    struct mgds_channel *channel;
    struct talk_company company;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    talk_open(&company, &place);
    channel = mgds_channels_find(company.channels, 0, OTHER);
    assert_non_null(channel);
    assert_true(is_coming(channel, SHORT)); /* the pair's */
    refuse_ring(&place, -ENOMEM);
    assert_true(is_coming(channel, SHORT)); /* its own */
    refuse_ring(&place, -EIO);
    assert_false(is_coming(channel, SHORT));
    assert_ptr_equal(mgds_channels_find(company.channels, 0, OTHER), channel);
    assert_false(has_slot_of(channel, SHORT));
    mgds_channels_put(company.channels);
    gpu_env_close(&place);
}

/* There was no memory to post it: nobody answers, and another communicator asks
 * anew. */
static void what_could_not_be_asked_is_not_coming(void **state)
{
    struct talk_company company[2];
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    for (unsigned i = 0; i < 2; i++) {
        wire_refuse(i == 0 ? -ENOMEM : 0);
        talk_open(&company[i], &place);
        assert_true(is_coming(mgds_channels_find(company[i].channels, 0, OTHER),
                              SHORT) == (i > 0));
        assert_int_equal(wire_posts(MGDS_ENVELOPE_RING_ASKED), i);
    }
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_asked_for_is_refused),
        cmocka_unit_test(what_cannot_be_mapped_is_told),
        cmocka_unit_test(what_comes_for_nobody_any_more_goes_back),
        cmocka_unit_test(an_offer_to_nobody_goes_back),
        cmocka_unit_test(a_send_waits_for_no_ring),
        cmocka_unit_test(a_smaller_ring_does_not_take_the_place_of_one),
        cmocka_unit_test(a_small_ring_that_was_offered_is_the_pairs),
        cmocka_unit_test(a_ring_goes_behind_the_last_message_in_it),
        cmocka_unit_test(a_channel_in_use_stays),
        cmocka_unit_test(what_could_not_be_asked_is_not_coming),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
