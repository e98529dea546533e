/*
 * What comes over the wire, at random, for some seconds or rounds.
 *
 *   wire stranger   from who does not have our key, or has recorded frames:
 *                   nothing that this process remembers changes by a byte, all
 *                   of it is counted, and what was recorded still came once
 *   wire member     from who has it, but says anything: nothing is written
 *                   outside of a receive that was posted, nothing breaks, and
 *                   what cannot be true is counted
 *
 * --seconds N, --rounds N; --seed N: begins with that one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "tests/fuzz/digest.h"
#include "tests/fuzz/world.h"

enum { STEPS = 200, TRIES = 8, SECOND_NS = 1000000000 };

/* What was dropped before it was looked into. */
static uint64_t dropped(void)
{
    return mgds_stats_value(MGDS_STAT_frames_forged) +
           mgds_stats_value(MGDS_STAT_frames_replayed);
}

/* A genuine frame, as a stranger may have it, changed. */
static void change(struct world_frame *frame)
{
    switch (world_draw(4)) {
    case 0: /* any bit of it */
        ((unsigned char *)&frame->frame)[world_draw(frame->bytes)] ^=
            (unsigned char)(1u << world_draw(8));
        break;
    case 1: /* another length */
        frame->bytes = world_draw(frame->bytes);
        break;
    case 2: /* another body */
        frame->body_bytes += 1 + world_draw(9);
        break;
    default: /* sealed anew, with another key */
        world_frame_seal(frame, false);
        break;
    }
}

static void come_changed(const struct world_frame *genuine)
{
    struct world_frame frame = *genuine;
    uint64_t before = dropped();

    change(&frame);
    world_frame_come(&frame);
    CHECK(dropped() == before + 1);
}

/* Before it comes and after: then it may also come as it is. */
static void come_stranger(void)
{
    struct world_frame genuine;
    uint64_t digest, before;

    world_frame_make(&genuine, false);
    world_frame_seal(&genuine, true);
    digest = digest_of_all();
    for (unsigned i = 0; i < TRIES; i++)
        come_changed(&genuine);
    CHECK(digest_of_all() == digest);
    before = dropped();
    world_frame_come(&genuine);
    CHECK(dropped() == before);
    digest = digest_of_all();
    for (unsigned i = 0; i < TRIES; i++) {
        world_frame_come(&genuine);
        come_changed(&genuine);
    }
    CHECK(dropped() == before + (uint64_t)2 * TRIES);
    CHECK(digest_of_all() == digest);
}

static void come_member(void)
{
    uint64_t refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
    uint64_t unhandled = mgds_stats_value(MGDS_STAT_frames_unhandled);
    uint64_t before = dropped();
    struct world_frame frame;
    unsigned kind;

    world_frame_make(&frame, true);
    world_frame_seal(&frame, true);
    world_frame_come(&frame);
    kind = mgds_wire_kind(&frame.frame);
    CHECK(dropped() == before);
    if (kind >= MGDS_ENVELOPES || kind == MGDS_ENVELOPE_NONE)
        CHECK(mgds_stats_value(MGDS_STAT_frames_unhandled) == unhandled + 1);
    else if (frame.bytes == mgds_wire_frame_bytes(0) ||
             (frame.body_bytes > 0 && kind != MGDS_ENVELOPE_DATA))
        CHECK(mgds_stats_value(MGDS_STAT_envelopes_refused) == refused + 1);
}

static void run(uint64_t seed, bool stranger)
{
    world_open(seed);
    for (unsigned i = 0; i < STEPS; i++) {
        world_step();
        if (stranger && i % 4 == 0)
            come_stranger();
        else if (!stranger)
            come_member();
    }
    world_close();
}

/* Each kind of line was said then, and counters have their memory. */
static void warm_up(void)
{
    struct world_frame frame;

    world_open(0);
    world_frame_make(&frame, false);
    world_frame_seal(&frame, false);
    world_frame_come(&frame);
    world_frame_seal(&frame, true);
    world_frame_come(&frame);
    world_frame_come(&frame);
    CHECK(dropped() == 2);
    world_close();
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s stranger|member [--seconds N] [--rounds N] [--seed N]\n",
            program);
    return 2;
}

struct plan {
    bool stranger;
    uint64_t seconds, rounds, seed;
};

static int read_plan(struct plan *plan, int argc, char **argv)
{
    *plan = (struct plan){.seed = 1};
    if (argc < 2 || argc % 2 != 0)
        return -1;
    plan->stranger = strcmp(argv[1], "stranger") == 0;
    if (!plan->stranger && strcmp(argv[1], "member") != 0)
        return -1;
    for (int i = 2; i < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);

        if (strcmp(argv[i], "--seconds") == 0)
            plan->seconds = value;
        else if (strcmp(argv[i], "--rounds") == 0)
            plan->rounds = value;
        else if (strcmp(argv[i], "--seed") == 0)
            plan->seed = value;
        else
            return -1;
    }
    return plan->seconds > 0 || plan->rounds > 0 ? 0 : -1;
}

static bool goes_on(const struct plan *plan, uint64_t round, uint64_t begin)
{
    if (plan->rounds > 0 && round >= plan->rounds)
        return false;
    return plan->seconds == 0 ||
           mgds_clock_ns() - begin < plan->seconds * SECOND_NS;
}

int main(int argc, char **argv)
{
    static const char *const no_calls[] = {NULL};
    uint64_t begin = mgds_clock_ns();
    uint64_t round = 0;
    struct plan plan;

    if (read_plan(&plan, argc, argv) < 0)
        return usage(argv[0]);
    setenv("MPIX_GDS_LOG_LEVEL", "none", 0);
    CHECK(mgds_stats_calls_init(0, no_calls) == 0);
    warm_up();
    for (; goes_on(&plan, round, begin); round++) {
        if (round % 100 == 0) {
            printf("from seed %" PRIu64 "\n", plan.seed + round);
            fflush(stdout);
        }
        run(plan.seed + round, plan.stranger);
    }
    printf("%" PRIu64 " rounds, %" PRIu64 " frames dropped, %" PRIu64
           " envelopes refused: all well\n",
           round, dropped(), mgds_stats_value(MGDS_STAT_envelopes_refused));
    return 0;
}
