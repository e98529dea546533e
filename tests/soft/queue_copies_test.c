/* Copies up that follow each other in a list, as those of a staged Waitall do:
 * one launch, each with a limit of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <cmocka.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "tests/soft/queue_ring.h"

enum { MOST = 140, WORD = 0, FLAG = 1 };

static struct queue_stream stream;
static struct stage_place place;
static uint64_t *line[MOST], *go;
static uint64_t lap;

static struct mgds_bounce *bounce[MOST];
static struct mgds_layout *layout[MOST];
static struct mgds_command steps[MOST + 2];
static size_t from[MOST], end; /* of the last buffer */
static unsigned count;

static void begin(void)
{
    count = 0;
    end = ORIGIN + lap % 17;
    lap++;
}

static void add(size_t bytes)
{
    struct mgds_buffer buffer;

    from[count] = end;
    layout[count] = stage_bytes_of(bytes);
    buffer = stage_buffer_at(place.gpu + end, layout[count], 1);
    assert_int_equal(
        mgds_gstream_bounce(&bounce[count], stream.gstream, &buffer), 0);
    steps[count + 1] = queue_unpack(bounce[count], &line[count][WORD]);
    queue_write(&line[count][WORD], UINT64_MAX);
    count++;
    end += bytes + count % 5;
    assert_true(end <= ROOM);
}

/* The data and the limits come after the put, as those of messages do. */
static void fill(unsigned i, size_t limit)
{
    unsigned char *packed = (unsigned char *)mgds_bounce_base(bounce[i]);

    for (size_t k = 0; k < layout[i]->size; k++) {
        packed[k] = (unsigned char)(lap * 31 + 7 * (size_t)i + k * 5);
        if (k < limit)
            place.want[from[i] + k] = packed[k];
    }
    queue_write(&line[i][WORD], limit);
}

static void end_all(void)
{
    for (unsigned i = 0; i < count; i++) {
        mgds_bounce_destroy(bounce[i]);
        mgds_layout_put(layout[i]);
    }
}

/* How many driver calls put them, between a wait and a flag. */
static uint64_t run(size_t (*limit_of)(unsigned i))
{
    uint64_t before = mgds_stats_value(MGDS_STAT_queue_launches) +
                      mgds_stats_value(MGDS_STAT_queue_batches);
    uint64_t calls;

    steps[0] = queue_wait(&go[WORD], lap);
    steps[count + 1] = queue_flag(&go[FLAG], lap);
    queue_put(stream.gstream, steps, count + 2);
    calls = mgds_stats_value(MGDS_STAT_queue_launches) +
            mgds_stats_value(MGDS_STAT_queue_batches) - before;
    for (unsigned i = 0; i < count; i++)
        fill(i, limit_of(i));
    assert_true(queue_read(&go[FLAG]) < lap);
    queue_write(&go[WORD], lap);
    queue_await(&go[FLAG], lap);
    mgds_gstream_passed(stream.gstream, 1);
    stage_assert_place(&place);
    end_all();
    return calls;
}

static size_t all_of(unsigned i)
{
    return layout[i]->size + i % 2;
}

static size_t some_of(unsigned i)
{
    return (77 * (size_t)i + lap) % (layout[i]->size + 3);
}

static void any_number_up_to_126_is_one_launch(void **state)
{
    static const unsigned numbers[] = {1, 2, 3, 8, 31, 125, 126};

    (void)state;
    for (unsigned k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
        begin();
        for (unsigned i = 0; i < numbers[k]; i++)
            add(1 + (i * 211 + k) % 700);
        assert_int_equal(run(k % 2 ? all_of : some_of), 3);
    }
}

static void more_are_two(void **state)
{
    (void)state;
    for (unsigned n = 127; n < 131; n++) {
        begin();
        for (unsigned i = 0; i < n; i++)
            add(1 + i % 90);
        assert_int_equal(run(some_of), 4);
    }
}

/* Each is whole, though a long one has more blocks than it needs beside. */
static void long_ones_may_stand_beside_short_ones(void **state)
{
    static const size_t sizes[] = {1, 100000, 3, 65536, 17, 64, 4095, 150001};

    (void)state;
    for (unsigned n = 2; n <= sizeof(sizes) / sizeof(*sizes); n++) {
        begin();
        for (unsigned i = 0; i < n; i++)
            add(sizes[i]);
        assert_int_equal(run(n % 2 ? all_of : some_of), 3);
    }
}

static void what_is_copied_whole_needs_no_limit(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 9; i++) {
        add(300 + i);
        steps[count].word = NULL;
    }
    run(all_of);
}

/* Buffers that the program freed are left out, the others are not. */
static void freed_memory_is_left_out(void **state)
{
    struct queue_freed freed;
    struct mgds_command with[8];

    (void)state;
    queue_freed_open(&freed, stream.gstream, 64);
    for (unsigned there = 0; there < 3; there++) {
        unsigned n = 0;

        begin();
        for (unsigned i = 0; i < there; i++)
            add(500);
        for (unsigned i = 0; i < there; i++)
            fill(i, 499);
        with[n++] = queue_unpack(freed.bounce, NULL);
        for (unsigned i = 0; i < there; i++)
            with[n++] = steps[i + 1];
        with[n++] = queue_unpack(freed.bounce, NULL);
        with[n++] = queue_flag(&go[FLAG], lap);
        assert_int_equal(mgds_gstream_put(stream.gstream,
                                          mgds_gstream_ticket(stream.gstream),
                                          with, n),
                         -EFAULT);
        assert_false(with[0].put || with[n - 2].put);
        assert_true(with[n - 1].put);
        queue_await(&go[FLAG], lap);
        stage_assert_place(&place);
        end_all();
    }
    queue_freed_close(&freed);
}

static int start(void **state)
{
    stage_start(state);
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    stage_open_place(&place);
    go = queue_take(stream.gstream);
    for (unsigned i = 0; i < MOST; i++)
        line[i] = queue_take(stream.gstream);
    return 0;
}

static int finish(void **state)
{
    mgds_gstream_abort(stream.gstream);
    for (unsigned i = 0; i < MOST; i++)
        queue_give(stream.gstream, line[i]);
    queue_give(stream.gstream, go);
    queue_close(&stream);
    stage_close_place(&place);
    return queue_finish(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_up_to_126_is_one_launch),
        cmocka_unit_test(more_are_two),
        cmocka_unit_test(long_ones_may_stand_beside_short_ones),
        cmocka_unit_test(what_is_copied_whole_needs_no_limit),
        cmocka_unit_test(freed_memory_is_left_out),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
