/* Messages of one list in one launch: sends and receives, short and long, known
 * and told of later, of one stream or of two that cross. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "tests/soft/queue_pull.h"
#include "tests/soft/queue_ring.h"

enum {
    SHORTS = 12,
    LONGS = 6,
    ALL = SHORTS + LONGS,
    STEPS = 2 * ALL + LONGS + 2,
    PART = RING_AREA / SHORTS,  /* bytes of a short one's buffer */
    UNITS = RING_UNITS / SHORTS /* and its units */
};

/* A message and its steps: `known` is the take that knows where it is, `take`
 * the one that is put, which may have to be told. */
struct item {
    struct ring_message brief;
    struct pull_message large;
    struct mgds_command send, known, take, await;
    uint64_t *record;
    uint64_t serial;
};

static struct queue_stream out, in;
static struct ring_place briefs;
static struct pull_place larges;
static struct mgds_claim *claims[LONGS];
static uint64_t *records[ALL];
static struct item items[ALL];
static unsigned shorts, longs, lap;
static uint64_t gate;

static struct mgds_command sent(void)
{
    return queue_flag(&larges.line[PULL_SENT], ++gate);
}

static struct mgds_command over(void)
{
    return queue_flag(&larges.line[PULL_TOOK], ++gate);
}

static void add_short(struct item *item, unsigned i)
{
    size_t bytes = (i * 97 + lap * 31) % (8 * UNITS - 8);

    item->brief = (struct ring_message){.from = i * (size_t)PART + lap % 9,
                                        .to = i * (size_t)PART + lap % 7,
                                        .bytes = bytes,
                                        .posted = bytes + i % 3,
                                        .unit = (size_t)i * UNITS,
                                        .plain = i * (size_t)PART};
    ring_expect(&briefs, &item->brief);
    item->serial = briefs.serial;
    item->send = ring_push(&briefs, &item->brief);
    item->known = ring_take(&briefs, &item->brief);
}

static void add_long(struct item *item, unsigned i)
{
    static const size_t sizes[LONGS] = {200000, 17, 65536, 300001, 4096, 99};
    size_t bytes = sizes[(i + lap) % LONGS];

    item->large =
        (struct pull_message){.from = i * (size_t)PULL_AREA / LONGS + lap % 16,
                              .to = i * (size_t)PULL_AREA / LONGS + lap % 5,
                              .bytes = bytes,
                              .posted = bytes - (lap + i) % 2,
                              .unit = (lap * LONGS + i) % PULL_UNITS};
    pull_expect(&larges, &item->large);
    item->serial = larges.serial;
    item->send = pull_post(&larges, &item->large);
    item->known =
        pull_claimed(&larges, pull_take(&larges, &item->large), claims[i]);
    item->await = pull_await(&larges, &item->large);
}

/* Makes so many messages; every so many of their takes have to be told. */
static void make(unsigned short_ones, unsigned long_ones, unsigned told)
{
    shorts = short_ones;
    longs = long_ones;
    lap++;
    for (unsigned i = 0; i < shorts + longs; i++) {
        struct item *item = &items[i];

        *item = (struct item){.record = NULL};
        if (i < shorts)
            add_short(item, i);
        else
            add_long(item, i - shorts);
        item->take = item->known;
        if (told == 0 || i % told != lap % told)
            continue;
        item->record = records[i];
        memset(item->record, 0, MGDS_WORDS_LINE * sizeof(uint64_t));
        item->take.record = item->record;
        item->take.units = NULL;
        item->take.serial = item->take.source = item->take.done = 0;
        item->take.length = 0;
    }
}

static void tell(const struct item *item)
{
    if (!item->record)
        return;
    briefs.record = larges.record = item->record;
    if (item->known.source)
        pull_tell(&larges, &item->known, lap);
    else
        ring_tell_units(&briefs, &item->send);
}

static void tell_all(void)
{
    for (unsigned i = 0; i < shorts + longs; i++)
        tell(&items[i]);
}

/* Of items [from, to). */
static unsigned add_sends(struct mgds_command *steps, unsigned n, unsigned from,
                          unsigned to)
{
    for (unsigned i = from; i < to; i++)
        steps[n++] = items[i].send;
    return n;
}

static unsigned add_takes(struct mgds_command *steps, unsigned n, unsigned from,
                          unsigned to)
{
    for (unsigned i = from; i < to; i++)
        steps[n++] = items[i].take;
    return n;
}

static unsigned add_awaits(struct mgds_command *steps, unsigned n,
                           unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        if (items[i].await.word)
            steps[n++] = items[i].await;
    return n;
}

static uint64_t launches(void)
{
    return mgds_stats_value(MGDS_STAT_queue_launches) +
           mgds_stats_value(MGDS_STAT_queue_batches);
}

/* How many calls of the driver the list was. */
static uint64_t put(const struct queue_stream *stream,
                    struct mgds_command *steps, unsigned count)
{
    uint64_t before = launches();

    queue_put(stream->gstream, steps, count);
    for (unsigned i = 0; i < count; i++)
        assert_true(steps[i].put);
    return launches() - before;
}

static void check(void)
{
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuStreamSynchronize(in.native));
    ring_assert(&briefs);
    pull_assert(&larges);
    for (unsigned i = shorts; i < shorts + longs; i++)
        assert_int_equal(pull_done(&larges, &items[i].large), items[i].serial);
}

/* A send and a receive of each message, all in one stream. */
static void sends_and_takes_of_a_list_are_one_launch(void **state)
{
    struct mgds_command steps[STEPS];

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        unsigned n, all;

        make(i % (SHORTS + 1), (i * 5 + 1) % (LONGS + 1), i % 4);
        all = shorts + longs;
        n = add_sends(steps, 0, 0, all);
        steps[n++] = sent();
        n = add_takes(steps, n, 0, all);
        n = add_awaits(steps, n, 0, all);
        steps[n++] = over();
        tell_all();
        assert_true(all < 1 || put(&in, steps, n) == 1);
        if (all < 1)
            queue_put(in.gstream, steps, n);
        queue_await(&larges.line[PULL_TOOK], gate);
        mgds_gstream_passed(in.gstream, all + longs);
        check();
    }
}

/* Each stream sends some to the other one and takes the rest: whichever is put
 * first stands, and has sent all the same. */
static void streams_that_cross_end(void **state)
{
    struct mgds_command one[STEPS], two[STEPS];

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        unsigned half, all, n = 0, m = 0;
        uint64_t first;

        make(2 + i % (SHORTS - 1), i % (LONGS + 1), i % 3);
        all = shorts + longs;
        half = all / 2;
        n = add_sends(one, n, 0, half);
        one[n++] = sent();
        first = gate;
        n = add_takes(one, n, half, all);
        n = add_awaits(one, n, 0, half);
        one[n++] = queue_flag(&larges.line[PULL_READ], gate);
        m = add_sends(two, m, half, all);
        two[m++] = sent();
        m = add_takes(two, m, 0, half);
        m = add_awaits(two, m, half, all);
        two[m++] = over();
        assert_int_equal(put(&out, one, n), 1);
        queue_await(&larges.line[PULL_SENT], first);
        assert_int_equal(cu.cuStreamQuery(out.native), CUDA_ERROR_NOT_READY);
        assert_int_equal(put(&in, two, m), 1);
        tell_all();
        queue_await(&larges.line[PULL_TOOK], gate);
        queue_await(&larges.line[PULL_READ], first);
        mgds_gstream_passed(out.gstream, n - 2 - half);
        mgds_gstream_passed(in.gstream, m - 2 - (all - half));
        check();
    }
}

/* The flag ahead of takes is stored if one of them has to be told, else not. */
static void a_quiet_flag_comes_where_a_record_is_empty(void **state)
{
    struct mgds_command steps[STEPS];

    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        bool told = i % 2;
        uint64_t quiet;
        unsigned n;

        make(3, i % 3, told);
        n = add_sends(steps, 0, 0, shorts + longs);
        queue_put(out.gstream, steps, n);
        OK(cu.cuStreamSynchronize(out.native));
        quiet = ++gate;
        steps[0] = queue_flag(&larges.line[PULL_SENT], quiet);
        steps[0].quiet = true;
        n = add_takes(steps, 1, 0, shorts + longs);
        steps[n++] = over();
        assert_int_equal(put(&in, steps, n), 1);
        if (told)
            queue_await(&larges.line[PULL_SENT], quiet);
        tell_all();
        queue_await(&larges.line[PULL_TOOK], gate);
        assert_true(told || queue_read(&larges.line[PULL_SENT]) < quiet);
        mgds_gstream_passed(in.gstream, n - 2);
        check();
    }
}

/* What a record says of bytes in host memory, or that nothing comes. */
static void records_may_tell_of_host_memory_or_nothing(void **state)
{
    struct mgds_command steps[4];

    (void)state;
    make(3, 0, 1);
    queue_put(out.gstream, steps, add_sends(steps, 0, 0, 3));
    (void)add_takes(steps, 0, 0, 3);
    steps[3] = over();
    assert_int_equal(put(&in, steps, 4), 1);
    briefs.record = records[0];
    ring_tell(&briefs, 1, (uintptr_t)(briefs.plain + items[0].brief.plain),
              items[0].brief.bytes, MGDS_TAKE_BYTES);
    tell(&items[1]);
    briefs.record = records[2];
    ring_tell(&briefs, MGDS_TAKE_NONE, 8, 4096, MGDS_TAKE_UNITS);
    queue_await(&larges.line[PULL_TOOK], gate);
    mgds_gstream_passed(in.gstream, 3);
    /* the third never came: what was there stays */
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)(briefs.want + items[2].brief.to),
                   briefs.dst + items[2].brief.to, items[2].brief.posted));
    check();
}

/* A launch carries so many; the flags come behind the last. */
static void more_than_one_launch_carries_are_several(void **state)
{
    static const unsigned rows[][2] = {{25, 1}, {26, 2}, {50, 2}, {60, 3}};
    const struct ring_message message = {
        .from = 8, .to = 16, .bytes = 24, .posted = 24, .unit = 500};
    struct mgds_command steps[2 * 60 + 2];

    (void)state;
    shorts = longs = 0;
    for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        unsigned n = 0, count = rows[r][0];

        ring_expect(&briefs, &message);
        for (unsigned i = 0; i < count; i++)
            steps[n++] = ring_push(&briefs, &message);
        steps[n++] = sent();
        for (unsigned i = 0; i < count; i++) {
            steps[n] = ring_take(&briefs, &message);
            steps[n++].bytes = message.posted;
        }
        steps[n++] = over();
        assert_int_equal(put(&in, steps, n), rows[r][1]);
        queue_await(&larges.line[PULL_TOOK], gate);
        mgds_gstream_passed(in.gstream, count);
        check();
    }
}

/* A message for freed memory is thrown away; the others come. */
static void freed_memory_is_left_out(void **state)
{
    struct mgds_command steps[8];
    struct queue_freed freed;
    unsigned n;

    (void)state;
    queue_freed_open(&freed, in.gstream, 16);
    make(2, 1, 0);
    n = add_sends(steps, 0, 0, 3);
    n = add_takes(steps, n, 0, 3);
    queue_freed_take(&freed, &steps[n - 2]);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)(briefs.want + items[1].brief.to),
                   briefs.dst + items[1].brief.to, items[1].brief.posted));
    steps[n++] = over();
    assert_int_equal(
        mgds_gstream_put(in.gstream, mgds_gstream_ticket(in.gstream), steps, n),
        -EFAULT);
    queue_await(&larges.line[PULL_TOOK], gate);
    mgds_gstream_passed(in.gstream, 3);
    check();
    queue_freed_close(&freed);
}

/* What never comes is given up, the rest is there, and the flag. */
static void an_exchange_can_be_given_up(void **state)
{
    (void)state;
    for (unsigned lost = 0; lost < 3; lost++) {
        struct mgds_command steps[STEPS];
        struct queue_stream given_up;
        unsigned n;

        queue_open(&given_up, CU_STREAM_NON_BLOCKING);
        make(4, 0, 0);
        n = add_sends(steps, 0, 0, 4);
        steps[lost].units =
            (void *)(uintptr_t)(briefs.units + (CUdeviceptr)550 * 16);
        n = add_takes(steps, n, 0, 4);
        steps[n++] = over();
        assert_int_equal(put(&given_up, steps, n), 1);
        pull_let_time_pass(&larges, &out);
        assert_true(queue_read(&larges.line[PULL_TOOK]) < gate);
        mgds_gstream_abort(given_up.gstream);
        queue_await(&larges.line[PULL_TOOK], gate);
        mgds_gstream_passed(given_up.gstream, 4);
        queue_close(&given_up);
    }
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    ring_open(&briefs, &in);
    pull_open(&larges, &out, &in);
    records[0] = briefs.record;
    records[1] = larges.record;
    for (unsigned i = 2; i < ALL; i++)
        records[i] = queue_take(in.gstream);
    queue_claim(in.gstream, claims, LONGS);
    return 0;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    queue_unclaim(in.gstream, claims, LONGS);
    for (unsigned i = 2; i < ALL; i++)
        queue_give(in.gstream, records[i]);
    briefs.record = records[0];
    larges.record = records[1];
    pull_close(&larges);
    ring_close(&briefs);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_takes_of_a_list_are_one_launch),
        cmocka_unit_test(streams_that_cross_end),
        cmocka_unit_test(a_quiet_flag_comes_where_a_record_is_empty),
        cmocka_unit_test(records_may_tell_of_host_memory_or_nothing),
        cmocka_unit_test(more_than_one_launch_carries_are_several),
        cmocka_unit_test(freed_memory_is_left_out),
        cmocka_unit_test(an_exchange_can_be_given_up),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
