/* D3: who is not of the job is not heard, even if it is another user who knows
 * where our worker listens, what frames look like, who sends to us, and has
 * recorded what was sent. What is sealed for us is heard once. */
#include "tests/soft/wire_place.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"
#include "shim/gds/wire/address.h"
#include "shim/gds/wire/seal.h"
#include "tests/soft/stranger.h"

enum { CLOSE_MS = 2000, HEAD = 24, SMALL = 64, TIMES = 50 };

/* In pieces, and at once; and what waits at the sender until it is fetched. */
static const size_t bodies[] = {0, SMALL, 20000, 1 << 20};

enum { BODIES = sizeof(bodies) / sizeof(bodies[0]) };

static atomic_uint heads, bodies_here;
static unsigned char landing[1 << 20];

static int head_counts(void *ctx, struct mgds_wire_arrival *it)
{
    (void)ctx;
    atomic_fetch_add(&heads, 1);
    it->where = landing;
    return it->body_bytes <= sizeof(landing) ? 0 : -EMSGSIZE;
}

static void body_counts(void *arg, int rc)
{
    (void)arg;
    if (rc == 0)
        atomic_fetch_add(&bodies_here, 1);
}

/* The wire, a friend with our address, and the stranger. */
struct place {
    struct mgds_wire_identity here, friend;
    struct mgds_siphash begun;
    struct stranger stranger;
    uint64_t sent, forged, replayed, unhandled;
};

static void open_place(struct place *place)
{
    const struct mgds_wire_handler counts = {.head = head_counts,
                                             .body = body_counts};
    const void *address;
    size_t bytes;

    *place = (struct place){.sent = 0};
    place_open(CLOSE_MS);
    CLAIM(mgds_wire_handle(KIND_BACK, &counts) == 0);
    CLAIM(mgds_wire_address(&address, &bytes) == 0);
    CLAIM(mgds_wire_address_read(&place->here, address, bytes) == 0);
    CLAIM(mgds_wire_identity_draw(&place->friend) == 0);
    place->begun = mgds_seal_begin(&place->here.key, place->friend.process,
                                   place->here.process);
    place->forged = mgds_stats_value(MGDS_STAT_frames_forged);
    place->replayed = mgds_stats_value(MGDS_STAT_frames_replayed);
    place->unhandled = mgds_stats_value(MGDS_STAT_frames_unhandled);
    memset(landing, 0xee, sizeof(landing));
    atomic_store(&heads, 0);
    atomic_store(&bodies_here, 0);
    stranger_start(&place->stranger,
                   place->here.worker[MGDS_WIRE_WORKER_NET].address,
                   place->here.worker[MGDS_WIRE_WORKER_NET].bytes);
}

static void close_place(struct place *place)
{
    stranger_end(&place->stranger);
    place_close();
}

/* What the friend would send next. */
static struct stranger_order order_of(struct place *place, size_t body_bytes)
{
    struct stranger_order order = {.deed = STRANGER_SENDS,
                                   .times = TIMES,
                                   .frame_bytes = mgds_wire_frame_bytes(HEAD),
                                   .body_bytes = body_bytes};

    order.frame.from = place->friend.process;
    order.frame.number = ++place->sent;
    order.frame.shape = mgds_wire_shape(KIND_BACK, body_bytes);
    order.frame.tag =
        mgds_seal_tag(&place->begun, &order.frame, order.frame_bytes);
    return order;
}

/* Until the counter has gone up by that much since the place was opened. */
static void await(unsigned stat, uint64_t before, uint64_t count)
{
    double end = place_now() + WAIT_S;

    while (mgds_stats_value(stat) < before + count) {
        assert_true(place_now() < end);
        mgds_wire_progress();
        sched_yield();
    }
    assert_int_equal(mgds_stats_value(stat), before + count);
}

static void await_heads(unsigned count, unsigned with_body)
{
    double end = place_now() + WAIT_S;

    while (atomic_load(&heads) < count ||
           atomic_load(&bodies_here) < with_body) {
        assert_true(place_now() < end);
        mgds_wire_progress();
        sched_yield();
    }
    assert_int_equal(atomic_load(&heads), count);
    assert_int_equal(atomic_load(&bodies_here), with_body);
}

static void assert_untouched(void)
{
    for (size_t i = 0; i < sizeof(landing); i++)
        assert_int_equal(landing[i], 0xee);
    assert_int_equal(atomic_load(&heads), 0);
}

static void what_is_not_sealed_is_not_heard(void **state)
{
    static const enum stranger_deed deeds[] = {
        STRANGER_INVENTS, STRANGER_SHORTENS, STRANGER_BABBLES};
    struct place place;
    uint64_t sent = 0;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < 3 * BODIES; i++) {
        struct stranger_order order = order_of(&place, bodies[i % BODIES]);

        order.deed = deeds[i / BODIES];
        sent += stranger_does(&place.stranger, &order);
    }
    await(MGDS_STAT_frames_forged, place.forged, sent);
    assert_untouched();
    close_place(&place);
}

/* The job's processes with keys of their own. */
static void the_key_of_another_is_none_here(void **state)
{
    struct stranger_order order;
    struct mgds_siphash begun;
    struct place place;
    unsigned sent;

    (void)state;
    open_place(&place);
    begun = mgds_seal_begin(&place.friend.key, place.friend.process,
                            place.here.process);
    order = order_of(&place, SMALL);
    order.frame.tag = mgds_seal_tag(&begun, &order.frame, order.frame_bytes);
    sent = stranger_does(&place.stranger, &order);
    /* and what went the other way comes back */
    begun = mgds_seal_begin(&place.friend.key, place.here.process,
                            place.friend.process);
    order.frame.from = place.here.process;
    order.frame.tag = mgds_seal_tag(&begun, &order.frame, order.frame_bytes);
    sent += stranger_does(&place.stranger, &order);
    await(MGDS_STAT_frames_forged, place.forged, sent);
    assert_untouched();
    close_place(&place);
}

/* The first is the friend's own, as far as we can see. */
static void what_was_recorded_is_heard_once(void **state)
{
    struct stranger_order orders[BODIES];
    struct place place;
    unsigned sent = 0;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < BODIES; i++)
        orders[i] = order_of(&place, bodies[i]);
    for (unsigned i = BODIES; i-- > 0;)
        sent += stranger_does(&place.stranger, &orders[i]);
    await_heads(BODIES, BODIES - 1);
    await(MGDS_STAT_frames_replayed, place.replayed, sent - BODIES);
    memset(landing, 0xee, sizeof(landing));
    atomic_store(&heads, 0);
    sent = 0;
    for (unsigned i = 0; i < BODIES; i++)
        sent += stranger_does(&place.stranger, &orders[i]);
    await(MGDS_STAT_frames_replayed, place.replayed,
          (uint64_t)BODIES * (TIMES - 1) + sent);
    assert_untouched();
    close_place(&place);
}

/* It is the friend's word that its body is shorter, or longer, than sealed. */
static void a_body_is_as_long_as_was_sealed(void **state)
{
    struct place place;
    unsigned sent = 0;

    (void)state;
    open_place(&place);
    for (unsigned i = 1; i < BODIES; i++) {
        struct stranger_order order = order_of(&place, bodies[i]);

        order.body_bytes--;
        sent += stranger_does(&place.stranger, &order);
        order.body_bytes += 2;
        sent += stranger_does(&place.stranger, &order);
    }
    await(MGDS_STAT_frames_forged, place.forged, sent);
    assert_untouched();
    close_place(&place);
}

static void what_nobody_takes_is_counted(void **state)
{
    struct stranger_order order;
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned kind = 0; kind < 256; kind++) {
        if (kind == KIND_BACK || kind == KIND_ECHO)
            continue;
        order = order_of(&place, SMALL);
        order.times = 1;
        order.frame.shape = mgds_wire_shape(kind, SMALL);
        order.frame.tag =
            mgds_seal_tag(&place.begun, &order.frame, order.frame_bytes);
        stranger_does(&place.stranger, &order);
    }
    await(MGDS_STAT_frames_unhandled, place.unhandled, 254);
    assert_untouched();
    close_place(&place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_sealed_is_not_heard),
        cmocka_unit_test(the_key_of_another_is_none_here),
        cmocka_unit_test(what_was_recorded_is_heard_once),
        cmocka_unit_test(a_body_is_as_long_as_was_sealed),
        cmocka_unit_test(what_nobody_takes_is_counted),
    };

    stranger_program = "/proc/self/exe";
    if (argc > 1 && strcmp(argv[1], "stranger") == 0)
        return stranger_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
