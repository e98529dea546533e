/* FLAGs that are events: how far a stream has come is found by asking, once it
 * has, whatever else there is; where there are no more events the word is
 * stored. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/stream/events.h"
#include "tests/soft/queue_place.h"

enum { FIRST = 100, GATE = 1 };

struct place {
    struct queue_stream stream;
    uint64_t *line; /* word 0: what FLAGs store; GATE: what the stream waits
                       for */
};

static void open_place(struct place *place)
{
    queue_open(&place->stream, CU_STREAM_NON_BLOCKING);
    place->line = queue_take(place->stream.gstream);
    queue_write(place->line, 1);
    queue_hold(place->stream.native, &place->line[GATE]);
}

static void close_place(struct place *place)
{
    OK(cu.cuStreamSynchronize(place->stream.native));
    queue_give(place->stream.gstream, place->line);
    queue_close(&place->stream);
}

static void put(struct place *place, uint64_t value)
{
    struct mgds_command flag = queue_flag(place->line, value);

    flag.asked = true;
    queue_put(place->stream.gstream, &flag, 1);
    assert_true(flag.put);
}

static uint64_t ask(struct place *place, uint64_t from)
{
    return mgds_gstream_come(place->stream.gstream, from);
}

static void the_last_that_has_come_is_told(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    put(&place, FIRST);
    put(&place, FIRST + 1);
    assert_int_equal(ask(&place, FIRST), 0);
    queue_write(&place.line[GATE], 1);
    OK(cu.cuStreamSynchronize(place.stream.native));
    assert_int_equal(ask(&place, FIRST), FIRST + 1);
    assert_int_equal(ask(&place, FIRST + 1), FIRST + 1);
    assert_int_equal(ask(&place, FIRST + 2), 0);
    assert_int_equal(queue_read(place.line), 1); /* nothing was stored */
    close_place(&place);
}

/* The stream stands between them. */
static void those_ahead_are_told_of(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    queue_write(&place.line[GATE], 1);
    put(&place, FIRST);
    OK(cu.cuStreamSynchronize(place.stream.native));
    queue_write(&place.line[GATE], 0);
    queue_hold(place.stream.native, &place.line[GATE]);
    put(&place, FIRST + 1);
    assert_int_equal(ask(&place, FIRST), FIRST);
    assert_int_equal(ask(&place, FIRST + 1), 0);
    queue_write(&place.line[GATE], 1);
    close_place(&place);
}

static void more_than_there_are_events_are_stored(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < MGDS_EVENTS; i++)
        put(&place, FIRST + i);
    put(&place, FIRST + MGDS_EVENTS);
    assert_int_equal(ask(&place, FIRST), 0);
    queue_write(&place.line[GATE], 1);
    queue_await(place.line, FIRST + MGDS_EVENTS);
    assert_int_equal(ask(&place, FIRST), FIRST + MGDS_EVENTS - 1);
    /* those that have come are used again */
    put(&place, FIRST + MGDS_EVENTS + 1);
    OK(cu.cuStreamSynchronize(place.stream.native));
    assert_int_equal(ask(&place, FIRST), FIRST + MGDS_EVENTS + 1);
    assert_int_equal(queue_read(place.line), FIRST + MGDS_EVENTS);
    close_place(&place);
}

/* Without a query: what the word covers is past. */
static void what_a_word_covers_is_used_again(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    queue_write(&place.line[GATE], 1);
    for (unsigned i = 0; i < 3 * MGDS_EVENTS; i++) {
        struct mgds_command flag = queue_flag(place.line, FIRST + 2 * i + 1);

        put(&place, FIRST + 2 * i);
        queue_put(place.stream.gstream, &flag, 1);
    }
    OK(cu.cuStreamSynchronize(place.stream.native));
    assert_int_equal(queue_read(place.line), FIRST + 6 * MGDS_EVENTS - 1);
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_that_has_come_is_told),
        cmocka_unit_test(those_ahead_are_told_of),
        cmocka_unit_test(more_than_there_are_events_are_stored),
        cmocka_unit_test(what_a_word_covers_is_used_again),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
