/* Envelopes between processes about rings, against a process that has streams
 * in GPU memory, on a wire that goes nowhere: what is refused, and who may free
 * what when. This process is SELF; what OTHER says is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/base_ring.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/dones.h"
#include "shim/gds/transport/offer.h"
#include "shim/gds/transport/own_rings.h"
#include "tests/soft/gpu_env.h"

/* As gpu_env.c has it. */
enum { THERE = 77 };

static uint64_t here(const struct gpu_env *place)
{
    return mgds_gstream_context(place->stream.gstream)->id;
}

static void come(unsigned from, enum mgds_envelope kind, const void *head,
                 size_t bytes)
{
    wire_author = from + 1;
    assert_int_equal(wire_come(kind, head, bytes, NULL, 0), HEARD);
    wire_author = 0;
}

static void ask(struct gpu_env *place, unsigned from, uint32_t units)
{
    const struct mgds_ring_asked asked = {
        .ends = {THERE, here(place)}, .token = 9, .units = units};

    come(from, MGDS_ENVELOPE_RING_ASKED, &asked, sizeof(asked));
}

static void say(struct gpu_env *place, unsigned from, enum mgds_envelope kind,
                uint32_t number)
{
    const struct mgds_ring_said said = {{THERE, here(place)}, number, 0};

    come(from, kind, &said, sizeof(said));
}

/* By OTHER, of its context of that id. */
static void say_of(uint64_t there, struct gpu_env *place,
                   enum mgds_envelope kind, uint32_t number)
{
    const struct mgds_ring_said said = {{there, here(place)}, number, 0};

    come(OTHER, kind, &said, sizeof(said));
}

static struct mgds_ring_told told(void)
{
    return gpu_env_await(MGDS_ENVELOPE_RING_TOLD)->head.ring_told;
}

static bool is_there(const struct gpu_env *place, uint32_t number)
{
    bool there;

    mgds_engine_enter();
    there = mgds_own_rings_place(number, OTHER + 1,
                                 mgds_gstream_context(place->stream.gstream), 0,
                                 1) != 0;
    mgds_engine_leave();
    return there;
}

/* Freed when it was closed, and not by anybody else. */
static void a_ring_goes_when_it_is_closed(void **state)
{
    struct mgds_ring_told ring;
    struct gpu_env place;
    uint64_t bytes;

    (void)state;
    gpu_env_open(&place);
    bytes = mgds_rings_bytes();
    ask(&place, OTHER, 1000);
    ring = told();
    assert_true(ring.error == 0 && ring.token == 9);
    assert_int_equal(ring.handle.units, 1000);
    assert_true(mgds_rings_bytes() > bytes);
    say(&place, FAR, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number + 1);
    say(&place, OTHER, MGDS_ENVELOPE_RING_MAPPED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 3);
    mgds_defer_drain();
    assert_true(is_there(&place, ring.number));
    say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 0);
    assert_false(is_there(&place, ring.number));
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
    say(&place, OTHER, MGDS_ENVELOPE_RING_CLOSED, ring.number);
    assert_int_equal(gpu_env_refused(&place), 1);
    gpu_env_close(&place);
}

/* Of whom no stream here has a channel. */
static void a_stranger_has_no_ring(void **state)
{
    struct mgds_ring_told ring;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    ask(&place, FAR, 256);
    ring = told();
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
        ask(&place, OTHER, MGDS_RING_FIRST);
        ring = told();
        assert_true(mgds_rings_bytes() <= most);
    }
    assert_true(count > 1);
    assert_int_equal(ring.error, -ENOMEM);
    gpu_env_await(MGDS_ENVELOPE_RING_SHORT);
    ask(&place, OTHER, UINT32_MAX); /* more than any GPU has */
    assert_int_equal(told().error, -ENOMEM);
    gpu_env_close(&place);
}

static struct mgds_ring_told offer(struct gpu_env *place)
{
    return (struct mgds_ring_told){.ends = {THERE, here(place)},
                                   .token = UINT64_MAX,
                                   .number = 1,
                                   .handle = {.units = 256}};
}

static void hear(struct gpu_env *place, const struct mgds_ring_told *ring,
                 unsigned from)
{
    come(from, MGDS_ENVELOPE_RING_TOLD, ring, sizeof(*ring));
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
    come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->error < 0 && said->number == 1);
    come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring)); /* once more */
    said = &gpu_env_await(MGDS_ENVELOPE_RING_MAPPED)->head.ring_said;
    assert_true(said->error < 0);
    assert_int_equal(gpu_env_refused(&place), 0);
    gpu_env_close(&place);
}

/* The channels of one more communicator, in which OTHER has a stream as ours
 * is. */
struct company {
    struct mgds_member members[RANKS];
    struct mgds_channels *channels;
};

static void open_company(struct company *company, struct gpu_env *place)
{
    const struct mgds_comm_spec spec = {.rank = SELF,
                                        .size = RANKS,
                                        .streams = &place->stream.gstream,
                                        .stream_count = 1,
                                        .members = company->members};
    char *stream = (char *)calloc(1, mgds_channels_description(1));

    assert_non_null(stream);
    for (unsigned i = 0; i < RANKS; i++)
        company->members[i] = (struct mgds_member){.address = &wire_address[i],
                                                   .address_bytes = 1,
                                                   .process = i + 1,
                                                   .streams = 1,
                                                   .host = i == FAR ? 2 : 1};
    assert_int_equal(mgds_channels_create(&company->channels, &spec), 0);
    mgds_channels_describe(company->channels, stream);
    mgds_channels_connect(company->channels, OTHER, stream);
    free(stream);
}

/* The pair's ring is asked for, and the communicator is freed ahead of the
 * answer: the token. */
static uint64_t ask_and_free(struct gpu_env *place)
{
    struct mgds_ring_pair *pair;
    struct company company;
    uint64_t token;

    open_company(&company, place);
    mgds_engine_enter();
    pair = mgds_ring_pair_find(here(place), OTHER + 1, here(place));
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
    come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
    said = &gpu_env_await(MGDS_ENVELOPE_RING_CLOSED)->head.ring_said;
    assert_true(said->number == 1 && said->ends.to == ring.ends.from);
    ring.token = 0; /* done words */
    come(OTHER, MGDS_ENVELOPE_RING_TOLD, &ring, sizeof(ring));
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

/* What OTHER is told by MPI. */
static struct mgds_offer offered_by(const struct company *company)
{
    struct mgds_offer offered;

    assert_int_equal(mgds_channels_offer_bytes(company->channels, OTHER),
                     sizeof(offered));
    mgds_channels_write_offer(company->channels, OTHER, (char *)&offered);
    return offered;
}

/* RING_CLOSED is under way while another communicator is made: what it closes
 * is not OTHER's any more, and what is given next is not freed by it. */
static void a_ring_is_offered_once(void **state)
{
    struct company company[3];
    struct mgds_offer first, second, third;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    open_company(&company[0], &place);
    assert_true(mgds_channels_offer(company[0].channels));
    first = offered_by(&company[0]);
    assert_true(first.ring != 0 && first.dones != 0);
    open_company(&company[1], &place);
    assert_false(mgds_channels_offer(company[1].channels));
    second = offered_by(&company[1]);
    assert_true(second.ring == 0 && second.dones == 0);
    say_of(first.from, &place, MGDS_ENVELOPE_RING_CLOSED, first.ring);
    assert_int_equal(gpu_env_refused(&place), 0);
    open_company(&company[2], &place);
    assert_true(mgds_channels_offer(company[2].channels));
    third = offered_by(&company[2]);
    assert_true(third.ring != 0 && third.dones == 0);
    mgds_comms_note_freed();
    mgds_comms_trim();
    mgds_defer_drain();
    assert_true(is_there(&place, third.ring));
    assert_false(is_there(&place, first.ring));
    for (unsigned i = 0; i < 3; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

/* A member had no memory, so nobody was told of anything. */
static void what_nobody_was_told_of_is_offered_next(void **state)
{
    struct company company[2];
    struct mgds_offer offered;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    for (unsigned i = 0; i < 2; i++) {
        open_company(&company[i], &place);
        assert_true(mgds_channels_offer(company[i].channels));
    }
    offered = offered_by(&company[1]);
    assert_true(offered.ring != 0 && offered.dones != 0);
    assert_true(is_there(&place, offered.ring));
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
    gpu_env_close(&place);
}

/* OTHER has freed the communicator ahead of the done words that it was told of.
 */
static void done_words_for_nobody_are_offered_next(void **state)
{
    struct company company[2];
    struct mgds_ring_told words;
    struct mgds_ring_said said;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    open_company(&company[0], &place);
    mgds_engine_enter();
    mgds_dones_open(mgds_ring_pair_find(here(&place), OTHER + 1, here(&place)));
    mgds_engine_leave();
    words = told();
    assert_true(words.token == 0 && words.error == 0);
    said = (struct mgds_ring_said){words.ends, words.number, -ENOTCONN};
    come(OTHER, MGDS_ENVELOPE_RING_MAPPED, &said, sizeof(said));
    assert_int_equal(gpu_env_refused(&place), 0);
    open_company(&company[1], &place);
    assert_true(mgds_channels_offer(company[1].channels));
    assert_int_equal(offered_by(&company[1]).dones, words.number);
    for (unsigned i = 0; i < 2; i++)
        mgds_channels_put(company[i].channels);
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
    struct company company;
    struct mgds_comm_spec spec = {.id = ID + 1,
                                  .rank = SELF,
                                  .size = RANKS,
                                  .stream_count = 1,
                                  .members = company.members};
    struct mgds_comm *comm;
    struct mgds_op *op;
    struct mgds_xfer xfer;
    struct mgds_rts rts;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    open_company(&company, &place);
    spec.streams = &place.stream.gstream;
    spec.channels = company.channels;
    assert_int_equal(mgds_comm_create(&comm, &spec), 0);
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
    mgds_channels_put(company.channels);
    gpu_env_close(&place);
}

/* OTHER has all but so many bytes of what rings that are larger than the first
 * may have. */
static void leave_bytes(struct gpu_env *place, uint64_t bytes)
{
    uint64_t left = mgds_own_rings_left();

    assert_true(left > bytes);
    ask(place, OTHER, (uint32_t)((left - bytes) / sizeof(struct mgds_unit)));
    assert_int_equal(told().error, 0);
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

/* OTHER answers what it was asked for last. */
static void refuse_ring(struct gpu_env *place, int error)
{
    struct mgds_ring_told answer = {.ends = {here(place), here(place)},
                                    .error = error};

    answer.token =
        gpu_env_await(MGDS_ENVELOPE_RING_ASKED)->head.ring_asked.token;
    come(OTHER, MGDS_ENVELOPE_RING_TOLD, &answer, sizeof(answer));
    assert_int_equal(gpu_env_refused(place), 0);
}

/* Calls look a channel up more than once, and hear answers in between. */
static void a_channel_in_use_stays(void **state)
{
    struct mgds_channel *channel;
    struct company company;
    struct gpu_env place;

    (void)state;
    gpu_env_open(&place);
    open_company(&company, &place);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_goes_when_it_is_closed),
        cmocka_unit_test(a_stranger_has_no_ring),
        cmocka_unit_test(all_rings_together_are_bounded),
        cmocka_unit_test(what_nobody_asked_for_is_refused),
        cmocka_unit_test(what_cannot_be_mapped_is_told),
        cmocka_unit_test(what_comes_for_nobody_any_more_goes_back),
        cmocka_unit_test(a_ring_is_offered_once),
        cmocka_unit_test(what_nobody_was_told_of_is_offered_next),
        cmocka_unit_test(done_words_for_nobody_are_offered_next),
        cmocka_unit_test(a_send_waits_for_no_ring),
        cmocka_unit_test(a_smaller_ring_does_not_take_the_place_of_one),
        cmocka_unit_test(a_channel_in_use_stays),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
