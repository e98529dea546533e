/* Takes that follow each other in a list: one launch for as many as one can
 * carry, whatever their sizes, however they come and whatever tells of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "tests/soft/queue_ring.h"

enum { MOST = 220 };

enum how { KNOWN, OF_UNITS, OF_BYTES, NOTHING };

struct item {
    struct ring_message message;
    struct mgds_command push, take;
    uint64_t serial;
    enum how how;
    bool pushed, told;
};

static struct queue_stream out, in;
static struct ring_place place;
static uint64_t *record[MOST];
static uint64_t sends;

/* A list of messages, side by side in all memory. */
static struct item items[MOST];
static unsigned count;
static size_t to, unit, plain;

static void begin(void)
{
    count = 0;
    to = place.serial % 5;
    unit = place.serial % 3;
    plain = 0;
}

static void add(size_t bytes, size_t posted, enum how how)
{
    struct item *item = &items[count];
    struct ring_message *message = &item->message;

    *item = (struct item){.how = how};
    *message = (struct ring_message){.from = count * 37 % 3000,
                                     .to = to,
                                     .bytes = bytes,
                                     .posted = posted,
                                     .unit = unit,
                                     .plain = plain};
    to += posted + count % 4;
    unit += ring_units_of(bytes);
    plain += (bytes + 7) / 8 * 8;
    assert_true(to <= RING_AREA && unit <= RING_UNITS && plain <= RING_AREA);
    place.serial++;
    item->serial = place.serial;
    place.record = record[count];
    item->push = ring_push(&place, message);
    item->take = how == KNOWN ? ring_take(&place, message)
                              : ring_take_record(&place, message);
    if (how == OF_BYTES)
        ring_put_plain(&place, message);
    count++;
}

static void expect(const struct item *item)
{
    uint64_t last = place.serial;

    place.serial = item->serial;
    if (item->how != NOTHING) {
        ring_expect_units(&place, &item->message);
        ring_expect_dst(&place, &item->message);
    }
    place.serial = last;
}

static void push(struct item *item)
{
    struct mgds_command steps[] = {item->push,
                                   queue_flag(&place.line[RING_SENT], ++sends)};

    if (item->pushed || item->how == NOTHING)
        return;
    item->pushed = true;
    queue_put(out.gstream, steps, 2);
}

static void await_sent(void)
{
    struct mgds_command flag = queue_flag(&place.line[RING_SENT], ++sends);

    queue_put(out.gstream, &flag, 1);
    queue_await(&place.line[RING_SENT], sends);
}

/* Plain bytes must be there. */
static void tell(struct item *item, unsigned i)
{
    const struct ring_message *message = &item->message;
    uint64_t bytes = (uintptr_t)(place.plain + message->plain);

    if (item->how == KNOWN || item->told)
        return;
    item->told = true;
    place.record = record[i];
    if (item->how == OF_UNITS)
        ring_tell(&place, item->serial,
                  place.units + message->unit * sizeof(struct mgds_unit),
                  message->bytes, MGDS_TAKE_UNITS);
    else if (item->how == OF_BYTES)
        ring_tell(&place, 1, bytes, message->bytes, MGDS_TAKE_BYTES);
    else
        ring_tell(&place, MGDS_TAKE_NONE, 8, 4096, MGDS_TAKE_UNITS);
}

static uint64_t launches(void)
{
    return mgds_stats_value(MGDS_STAT_queue_launches);
}

static struct mgds_command took(void)
{
    return queue_flag(&place.line[RING_TOOK], place.serial);
}

static unsigned list(struct mgds_command *steps)
{
    for (unsigned i = 0; i < count; i++)
        steps[i] = items[i].take;
    steps[count] = took();
    return count + 1;
}

static void put_takes(void)
{
    struct mgds_command steps[MOST + 1];
    unsigned n = list(steps);

    queue_put(in.gstream, steps, n);
}

static void await_taken(void)
{
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, count);
    for (unsigned i = 0; i < count; i++)
        expect(&items[i]);
    ring_assert_dst(&place);
}

static void finish_streams(void)
{
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuStreamSynchronize(in.native));
    ring_assert(&place);
}

/* Which of them are there before the takes are put. */
static bool is_early(unsigned i, unsigned way)
{
    return (way * 2654435761U >> (i % 29)) & 1;
}

/* The launches of the takes. */
static uint64_t run(unsigned way)
{
    uint64_t before;

    for (unsigned i = 0; i < count; i++)
        if (is_early(i, way))
            push(&items[i]);
    await_sent();
    for (unsigned i = 0; i < count; i++)
        if (is_early(i, way) && (i + way) % 3)
            tell(&items[i], i);
    before = launches();
    put_takes();
    before = launches() - before;
    for (unsigned i = count; i-- > 0;)
        push(&items[i]);
    await_sent();
    for (unsigned i = count; i-- > 0;)
        tell(&items[i], i);
    await_taken();
    return before;
}

/* 100 is what one launch carries. */
static void any_number_up_to_a_hundred_is_one_launch(void **state)
{
    static const unsigned numbers[] = {1, 2, 3, 7, 11, 12, 13, 50, 99, 100};

    (void)state;
    for (unsigned way = 0; way < 5; way++) {
        for (unsigned k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
            begin();
            for (unsigned i = 0; i < numbers[k]; i++)
                add((i * 7 + way) % 40, (i * 7 + way) % 40, KNOWN);
            assert_int_equal(run(way), 1);
        }
    }
    finish_streams();
}

static void more_are_as_few_launches_as_can_carry_them(void **state)
{
    static const struct {
        unsigned number, launches;
    } rows[] = {{101, 2}, {102, 2}, {199, 2}, {200, 2}, {201, 3}};

    (void)state;
    for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        begin();
        for (unsigned i = 0; i < rows[k].number; i++)
            add(i % 17, i % 19, i % 5 ? KNOWN : OF_UNITS);
        assert_int_equal(run(k), rows[k].launches);
    }
    finish_streams();
}

static void other_sizes_may_be_posted_than_sent(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 16, 63, 500};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    (void)state;
    for (unsigned way = 0; way < 2 * SIZES; way++) {
        begin();
        for (unsigned i = 0; i < SIZES; i++)
            add(sizes[i], sizes[(i + way) % SIZES], KNOWN);
        assert_int_equal(run(way), 1);
    }
    finish_streams();
}

/* Records tell of units, of plain bytes, of nothing; before the kernel looks
 * or while it waits. */
static void records_and_what_is_known_may_be_mixed(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 30; way++) {
        begin();
        for (unsigned i = 0; i < 3 + 5 * (way % 12); i++)
            add((i * 13 + way) % 60, (i * 29 + way) % 60,
                (enum how)((i * 7 + way) % 4));
        assert_int_equal(run(way), 1);
    }
    finish_streams();
}

/* A long one is for all threads, the others for some each; two long ones. */
static void long_ones_may_stand_beside_short_ones(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 40; way++) {
        unsigned others = way % 23;

        begin();
        for (unsigned i = 0; i < others; i++)
            add(8, 8, i % 3 ? KNOWN : OF_UNITS);
        add(2000, 2000 - way, (enum how)(way % 3));
        add(1029 + way, 2100, (enum how)(way / 3 % 3));
        assert_int_equal(run(way), 1);
    }
    finish_streams();
}

static void some_time_passes(void)
{
    for (int i = 0; i < 60; i++) {
        OK(cu.cuMemsetD8Async(place.src, place.in[0], 1, out.native));
        OK(cu.cuStreamSynchronize(out.native));
    }
}

/* Whichever comes last, the flag is not there before it. */
static void the_launch_stands_until_the_last_has_come(void **state)
{
    (void)state;
    for (unsigned last = 0; last < 20; last += 3) {
        begin();
        for (unsigned i = 0; i < 20; i++)
            add(30 + i, 30 + i, i % 4 == 1 ? OF_UNITS : KNOWN);
        put_takes();
        for (unsigned i = 0; i < count; i++) {
            tell(&items[i], i);
            if (i != last)
                push(&items[i]);
        }
        await_sent();
        some_time_passes();
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[RING_TOOK]) < place.serial);
        push(&items[last]);
        await_taken();
    }
    finish_streams();
}

/* Nor before the last record is told, whatever it tells. */
static void the_launch_stands_until_the_last_is_told(void **state)
{
    (void)state;
    for (unsigned last = 0; last < 12; last++) {
        begin();
        for (unsigned i = 0; i < 12; i++)
            add(20, 20, (enum how)(1 + i % 3));
        put_takes();
        for (unsigned i = 0; i < count; i++)
            push(&items[i]);
        await_sent();
        for (unsigned i = 0; i < count; i++)
            if (i != last)
                tell(&items[i], i);
        some_time_passes();
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[RING_TOOK]) < place.serial);
        tell(&items[last], last);
        await_taken();
    }
    finish_streams();
}

/* The sender may be the same stream: what it pushed is there. */
static void a_stream_may_take_what_it_pushed(void **state)
{
    struct mgds_command steps[2 * MOST + 1];
    unsigned n = 0;

    (void)state;
    begin();
    for (unsigned i = 0; i < 30; i++)
        add(i, i, KNOWN);
    for (unsigned i = 0; i < count; i++)
        steps[n++] = items[i].push;
    n += list(steps + n);
    queue_put(in.gstream, steps, n);
    await_taken();
    finish_streams();
}

/* Two streams take from each other's hands: neither launch keeps the other's
 * pushes from the GPU. */
static void two_streams_may_take_from_each_other(void **state)
{
    struct mgds_command steps[MOST + 1];
    unsigned half;

    (void)state;
    for (unsigned lap = 0; lap < 20; lap++) {
        begin();
        for (unsigned i = 0; i < 40; i++)
            add(i, i, KNOWN);
        half = count / 2;
        for (unsigned i = 0; i < half; i++)
            steps[i] = items[i].take;
        queue_put(in.gstream, steps, half);
        for (unsigned i = 0; i < half; i++) {
            steps[i] = items[half + i].push;
        }
        queue_put(in.gstream, steps, half);
        for (unsigned i = 0; i < half; i++)
            steps[i] = items[i].push;
        for (unsigned i = 0; i < half; i++)
            steps[half + i] = items[half + i].take;
        steps[count] = took();
        queue_put(out.gstream, steps, count + 1);
        queue_await(&place.line[RING_TOOK], place.serial);
        OK(cu.cuStreamSynchronize(in.native));
        mgds_gstream_passed(in.gstream, half);
        mgds_gstream_passed(out.gstream, half);
        for (unsigned i = 0; i < count; i++)
            expect(&items[i]);
        ring_assert(&place);
    }
}

static void work_around_takes_keeps_its_order(void **state)
{
    unsigned char got[600];
    CUdeviceptr behind;

    (void)state;
    OK(cu.cuMemAlloc_v2(&behind, sizeof(got)));
    begin();
    for (unsigned i = 0; i < 10; i++)
        add(50, 50, KNOWN);
    OK(cu.cuMemsetD8Async(place.dst, 0xab, 600, in.native));
    memset(place.want, 0xab, 600);
    put_takes();
    OK(cu.cuMemcpyAsync(behind, place.dst, sizeof(got), in.native));
    OK(cu.cuMemsetD8Async(place.dst, 0xcd, 300, in.native));
    for (unsigned i = 0; i < count; i++) {
        push(&items[i]);
        expect(&items[i]);
    }
    OK(cu.cuStreamSynchronize(in.native));
    mgds_gstream_passed(in.gstream, count);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, behind, sizeof(got)));
    assert_memory_equal(got, place.want, sizeof(got));
    memset(place.want, 0xcd, 300);
    OK(cu.cuMemFree_v2(behind));
    finish_streams();
}

/* Messages whose memory is gone are thrown away, others are not. */
static void freed_memory_is_left_out(void **state)
{
    struct mgds_command steps[MOST + 1];
    struct queue_freed freed;
    unsigned n;

    (void)state;
    queue_freed_open(&freed, in.gstream, 40);
    begin();
    for (unsigned i = 0; i < 15; i++)
        add(40, i % 6 == 2 ? 0 : 40, i % 2 ? KNOWN : OF_UNITS);
    n = list(steps);
    for (unsigned i = 2; i < count; i += 6) {
        steps[i].bytes = 40;
        queue_freed_take(&freed, &steps[i]);
    }
    assert_int_equal(
        mgds_gstream_put(in.gstream, mgds_gstream_ticket(in.gstream), steps, n),
        -EFAULT);
    for (unsigned i = 0; i < n; i++)
        assert_true(steps[i].put);
    for (unsigned i = 0; i < count; i++) {
        push(&items[i]);
        tell(&items[i], i);
    }
    await_taken();
    queue_freed_close(&freed);
    finish_streams();
}

/* The flag of a launch that gives up comes as well; what is there is taken,
 * what is not leaves its memory as it was. */
static void takes_can_be_given_up(void **state)
{
    struct queue_stream given_up;
    struct mgds_command steps[MOST + 1];
    unsigned n;

    (void)state;
    queue_open(&given_up, CU_STREAM_NON_BLOCKING);
    begin();
    for (unsigned i = 0; i < 24; i++)
        add(40 + i, 40 + i, i % 2 ? KNOWN : OF_UNITS);
    for (unsigned i = 0; i < count; i++) {
        if (i % 5 == 0)
            continue;
        push(&items[i]);
        tell(&items[i], i);
    }
    /* one is told of, and does not come */
    tell(&items[10], 10);
    await_sent();
    n = list(steps);
    queue_put(given_up.gstream, steps, n);
    some_time_passes();
    assert_int_equal(cu.cuStreamQuery(given_up.native), CUDA_ERROR_NOT_READY);
    mgds_gstream_abort(given_up.gstream);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(given_up.gstream, count);
    for (unsigned i = 0; i < count; i++)
        if (items[i].pushed)
            expect(&items[i]);
    ring_assert_dst(&place);
    queue_close(&given_up);
    finish_streams();
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    ring_open(&place, &in);
    for (unsigned i = 0; i < MOST; i++)
        record[i] = i > 0 ? queue_take(in.gstream) : place.record;
    return 0;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    for (unsigned i = 1; i < MOST; i++)
        queue_give(in.gstream, record[i]);
    place.record = record[0];
    ring_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_up_to_a_hundred_is_one_launch),
        cmocka_unit_test(more_are_as_few_launches_as_can_carry_them),
        cmocka_unit_test(other_sizes_may_be_posted_than_sent),
        cmocka_unit_test(records_and_what_is_known_may_be_mixed),
        cmocka_unit_test(long_ones_may_stand_beside_short_ones),
        cmocka_unit_test(the_launch_stands_until_the_last_has_come),
        cmocka_unit_test(the_launch_stands_until_the_last_is_told),
        cmocka_unit_test(a_stream_may_take_what_it_pushed),
        cmocka_unit_test(two_streams_may_take_from_each_other),
        cmocka_unit_test(work_around_takes_keeps_its_order),
        cmocka_unit_test(freed_memory_is_left_out),
        cmocka_unit_test(takes_can_be_given_up),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
