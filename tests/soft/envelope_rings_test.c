/* Envelopes between processes about rings, against a process that has streams
 * in GPU memory, on a wire that goes nowhere: what is refused, and who may free
 * what when. This process is SELF; what OTHER says is made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/proto/ring.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_goes_when_it_is_closed),
        cmocka_unit_test(a_stranger_has_no_ring),
        cmocka_unit_test(all_rings_together_are_bounded),
        cmocka_unit_test(what_nobody_asked_for_is_refused),
        cmocka_unit_test(what_cannot_be_mapped_is_told),
    };

    if (soft_cuda_load() != 0)
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
