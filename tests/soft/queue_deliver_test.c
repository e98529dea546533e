/* Messages in a ring that the receive's own stream does not take: a launch
 * beside it delivers them, or a kernel that stands, by order, of whichever
 * stream. One of them copies, and the others leave the buffer, and the units,
 * alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/soft/queue_ring.h"

enum { LAPS = 30, STANDS = 2 };

static const size_t sizes[] = {0, 1, 7, 8, 9, 64, 301, 1003, 4096};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static struct queue_stream out, in, aside;
static struct ring_place place;
static struct mgds_claim *claim, *other;
static uint64_t gen;
static uint64_t *flags; /* FETCHED; then whether a stream that stood goes on */

/* Streams that stand, each in a TAKE whose record says nothing yet. */
static struct queue_stream *const stand[STANDS] = {&in, &aside};
static uint64_t *records[STANDS];
static uint64_t stood;

static struct ring_message message_of(unsigned lap)
{
    return (struct ring_message){.from = 16 * (lap % 40) + lap % 7,
                                 .to = 32 * (lap % 50) + lap % 11,
                                 .bytes = sizes[lap % SIZES],
                                 .posted = sizes[(lap + lap / SIZES) % SIZES],
                                 .unit = lap % 9};
}

/* The message is in the ring; what delivers it. */
static struct mgds_command sent(const struct ring_message *message)
{
    struct mgds_command steps[2], take;

    ring_expect(&place, message);
    steps[0] = ring_push(&place, message);
    steps[1] = queue_flag(&place.line[RING_SENT], place.serial);
    queue_put(out.gstream, steps, 2);
    queue_await(&place.line[RING_SENT], place.serial);
    take = ring_take(&place, message);
    take.delivers = true;
    take.claim = claim;
    take.gen = ++gen;
    return take;
}

static void launch(const struct mgds_command *take)
{
    queue_write(&flags[0], 0);
    assert_int_equal(mgds_gstream_fetch(in.gstream, take, &flags[0], 1), 0);
}

static void await_launch(void)
{
    queue_await(&flags[0], 1);
}

static void a_launch_delivers(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < SIZES * SIZES; lap++) {
        const struct ring_message message = message_of(lap);
        struct mgds_command take = sent(&message);

        if (lap % 3 == 0)
            take.claim = NULL;
        launch(&take);
        await_launch();
        ring_assert_dst(&place);
        if (take.claim)
            queue_assert_claimed(&take);
    }
    ring_assert(&place);
}

/* Its units are another message's by then, which it does not wait for either.
 */
static void a_launch_that_is_late_leaves_all_alone(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < LAPS; lap++) {
        struct ring_message message = message_of(lap), next = message;
        struct mgds_command late = sent(&message), take;

        launch(&late);
        await_launch();
        next.from += 900;
        take = sent(&next);
        take.claim = other;
        launch(&take);
        await_launch();
        launch(&late);
        await_launch();
        ring_assert_dst(&place);
    }
    ring_assert(&place);
}

static void stand_up(void)
{
    stood++;
    for (unsigned i = 0; i < STANDS; i++) {
        struct mgds_command steps[2] = {
            {.kind = MGDS_COMMAND_TAKE, .record = records[i]},
            queue_flag(&flags[1 + i], stood)};

        memset(records[i], 0, MGDS_WORDS_LINE * sizeof(*records[i]));
        queue_put(stand[i]->gstream, steps, 2);
    }
}

static void go_on(void)
{
    for (unsigned i = 0; i < STANDS; i++) {
        assert_true(queue_read(&flags[1 + i]) < stood);
        queue_write(&records[i][MGDS_RECORD_ADDRESS], 1);
        queue_write(&records[i][MGDS_RECORD_LENGTH], 1);
        queue_write(&records[i][MGDS_RECORD_FORM], 1 + MGDS_TAKE_BYTES);
        queue_write(&records[i][MGDS_RECORD_SERIAL], MGDS_TAKE_NONE);
        queue_await(&flags[1 + i], stood);
        mgds_gstream_passed(stand[i]->gstream, 1);
    }
}

/* The stream need not be the receive's. */
static void an_order_delivers(void **state)
{
    (void)state;
    stand_up();
    for (unsigned lap = 0; lap < 2 * SIZES * SIZES; lap++) {
        const struct queue_stream *by = stand[lap % STANDS];
        const struct ring_message message = message_of(lap / STANDS);
        const struct mgds_command take = sent(&message);
        uint64_t order = mgds_gstream_order(by->gstream, &take);

        assert_true(order > 0);
        queue_await_served(by->gstream, order);
        mgds_gstream_order_back(by->gstream);
        ring_assert_dst(&place);
        queue_assert_claimed(&take);
    }
    go_on();
    ring_assert(&place);
}

/* Whoever is first copies: the buffer is written by one of them, since the
 * units are another message's as soon as one says that it is there. */
static void launches_and_orders_may_race(void **state)
{
    (void)state;
    stand_up();
    for (unsigned lap = 0; lap < 8 * LAPS; lap++) {
        const struct ring_message message = message_of(lap);
        const struct mgds_command take = sent(&message);
        uint64_t order[STANDS];

        for (unsigned i = 0; i < STANDS; i++)
            order[i] = mgds_gstream_order(stand[i]->gstream, &take);
        usleep(lap % 8 * 50);
        launch(&take);
        await_launch();
        ring_assert_dst(&place);
        assert_false(mgds_gstream_served(in.gstream, order[0]) &&
                     mgds_gstream_served(aside.gstream, order[1]));
        for (unsigned i = 0; i < STANDS; i++)
            mgds_gstream_order_back(stand[i]->gstream);
    }
    go_on();
    ring_assert(&place);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    queue_open(&aside, CU_STREAM_NON_BLOCKING);
    ring_open(&place, &in);
    flags = queue_take(in.gstream);
    for (unsigned i = 0; i < STANDS; i++)
        records[i] = queue_take(in.gstream);
    claim = mgds_gstream_claim(in.gstream);
    other = mgds_gstream_claim(in.gstream);
    return claim && other ? 0 : 1;
}

/* What a failed test left would stand for ever. */
static int finish(void **state)
{
    for (unsigned i = 0; i < STANDS; i++) {
        mgds_gstream_abort(stand[i]->gstream);
        OK(cu.cuStreamSynchronize(stand[i]->native));
        queue_give(in.gstream, records[i]);
    }
    mgds_gstream_unclaim(in.gstream, other);
    mgds_gstream_unclaim(in.gstream, claim);
    queue_give(in.gstream, flags);
    ring_close(&place);
    queue_close(&aside);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_delivers),
        cmocka_unit_test(a_launch_that_is_late_leaves_all_alone),
        cmocka_unit_test(an_order_delivers),
        cmocka_unit_test(launches_and_orders_may_race),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
