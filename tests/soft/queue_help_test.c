/* Orders: what a kernel that stands on the program's stream copies beside what
 * it waits for. Each kind of kernel does it, once and no more, whatever else
 * may copy the message, and however late it finds the order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/soft/queue_pull.h"

/* Steps of a list that stands, the last of which is the one that is missing. */
enum { MANY = 20, SHORT = 8, LONG = 70001, LAPS = 12 };

static struct queue_stream out, in;
static struct pull_place place;
static struct mgds_claim *claim, *other;
static CUdeviceptr spot; /* a unit for each of MANY, then bytes */
static uint64_t *words, *record;
static uint64_t stood; /* the last value that a stream stood for */

struct kind {
    const char *name;
    struct mgds_command (*step)(unsigned i);
    unsigned count;
    void (*end)(void);
};

static CUdeviceptr unit_at(unsigned i)
{
    return spot + i * sizeof(struct mgds_unit);
}

static CUdeviceptr word_at(unsigned i)
{
    return unit_at(i) + offsetof(struct mgds_unit, word);
}

static struct mgds_command short_take(unsigned i)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_TAKE,
        .user = (char *)(uintptr_t)(unit_at(MANY) + (size_t)SHORT * i),
        .bytes = SHORT,
        .units = (void *)(uintptr_t)unit_at(i),
        .serial = stood,
        .length = SHORT};
}

static struct mgds_command unknown_take(unsigned i)
{
    struct mgds_command step = short_take(i);

    step.units = NULL;
    step.serial = 0;
    step.length = 0;
    step.record = record;
    memset(record, 0, MGDS_WORDS_LINE * sizeof(*record));
    return step;
}

static struct mgds_command long_take(unsigned i)
{
    struct mgds_command step = short_take(i);

    step.source = unit_at(MANY) + (uint64_t)SHORT * MANY;
    step.claim = other;
    step.gen = ++place.gen;
    return step;
}

static struct mgds_command await_one(unsigned i)
{
    return (struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                 .word = (uint64_t *)(uintptr_t)word_at(i),
                                 .value = stood};
}

static struct mgds_command wait_one(unsigned i)
{
    (void)i;
    return queue_wait(&words[1], stood);
}

static void end_last_unit(void)
{
    pull_set(&out, word_at(MANY - 1), stood);
}

static void end_record(void)
{
    queue_write(&record[MGDS_RECORD_ADDRESS], 1);
    queue_write(&record[MGDS_RECORD_LENGTH], 1);
    queue_write(&record[MGDS_RECORD_FORM], 1 + MGDS_TAKE_BYTES);
    queue_write(&record[MGDS_RECORD_SERIAL], MGDS_TAKE_NONE);
}

static void end_word(void)
{
    queue_write(&words[1], stood);
}

static const struct kind kinds[] = {
    {"take", short_take, 1, end_last_unit},
    {"take without record", unknown_take, 1, end_record},
    {"few takes", short_take, 3, end_last_unit},
    {"takes", short_take, MANY, end_last_unit},
    {"long take", long_take, 1, end_last_unit},
    {"await", await_one, 1, end_last_unit},
    {"few awaits", await_one, 3, end_last_unit},
    {"awaits", await_one, MANY, end_last_unit},
    {"wait", wait_one, 1, end_word},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* All that a list waits for is there but the last. */
static void stand(const struct kind *kind, struct mgds_gstream *stream)
{
    struct mgds_command steps[MANY + 1];

    stood++;
    for (unsigned i = 0; i < kind->count; i++) {
        steps[i] = kind->step(MANY - kind->count + i);
        if (i + 1 < kind->count)
            pull_set(&out, word_at(MANY - kind->count + i), stood);
    }
    steps[kind->count] = queue_flag(&words[0], stood);
    queue_put(stream, steps, kind->count + 1);
}

static void go_on(const struct kind *kind)
{
    kind->end();
    queue_await(&words[0], stood);
    OK(cu.cuStreamSynchronize(in.native));
    mgds_gstream_passed(in.gstream, kind->count);
}

/* A memory operation looks at nothing. */
static bool looks(const struct kind *kind)
{
    return kind->step != wait_one || !mgds_gstream_by_memop(in.gstream);
}

/* Another place in both buffers, and another length, each time. */
static struct pull_message message_of(unsigned lap)
{
    return (struct pull_message){.from = 16 * (size_t)lap + lap % 17,
                                 .to = 100003 * (size_t)(lap % 9) + lap % 23,
                                 .bytes = lap % 5 ? LONG - 101 * lap : lap,
                                 .posted = LONG - 67 * lap,
                                 .unit = lap};
}

static struct mgds_command post(const struct pull_message *message)
{
    struct mgds_command take;

    pull_expect(&place, message);
    take = pull_claimed(&place, pull_take(&place, message), claim);
    pull_put_post(&place, message);
    queue_await(&place.line[PULL_SENT], place.serial);
    return take;
}

/* The sender takes the bytes away when they were read. */
static void put_overwrite(const struct pull_message *message)
{
    pull_put(out.gstream, pull_await(&place, message), &place.line[PULL_READ],
             place.serial);
    OK(cu.cuMemsetD8Async(place.src, 0xee, PULL_AREA, out.native));
}

static void restore(void)
{
    OK(cu.cuStreamSynchronize(out.native));
    mgds_gstream_passed(out.gstream, 1);
    OK(cu.cuMemcpy(place.src, (CUdeviceptr)(uintptr_t)place.sent, PULL_AREA));
    OK(cu.cuStreamSynchronize(NULL));
}

/* So long that the order is looked at more than once. */
static void let_it_look(void)
{
    for (int i = 0; i < 5; i++)
        pull_let_time_pass(&place, &out);
}

static void assert_stands(void)
{
    assert_true(queue_read(&words[0]) < stood);
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
}

static void check_served(const struct kind *kind, unsigned lap)
{
    struct pull_message message = message_of(lap);
    struct mgds_command take;
    uint64_t order;

    stand(kind, in.gstream);
    take = post(&message);
    order = mgds_gstream_order(in.gstream, &take);
    assert_true(order > 0);
    queue_await_served(in.gstream, order);
    pull_assert_near(&place, &message);
    assert_int_equal(pull_done(&place, &message), place.serial);
    queue_assert_claimed(&take);
    /* it is not done again, though it is still given */
    put_overwrite(&message);
    queue_await(&place.line[PULL_READ], place.serial);
    let_it_look();
    pull_assert_near(&place, &message);
    assert_stands();
    mgds_gstream_order_back(in.gstream);
    restore();
    go_on(kind);
}

static void each_kind_serves_an_order_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned lap = 0; looks(&kinds[i]) && lap < LAPS; lap++)
            check_served(&kinds[i], lap);
    pull_finish(&place);
}

/* One kernel serves any number of them. */
static void a_kernel_serves_one_order_after_the_other(void **state)
{
    const struct kind *kind = &kinds[4];

    (void)state;
    stand(kind, in.gstream);
    for (unsigned lap = 0; lap < 3 * LAPS; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command take = post(&message);
        uint64_t order = mgds_gstream_order(in.gstream, &take);

        assert_true(order > 0);
        queue_await_served(in.gstream, order);
        mgds_gstream_order_back(in.gstream);
        pull_assert_near(&place, &message);
        assert_int_equal(pull_done(&place, &message), place.serial);
    }
    assert_stands();
    go_on(kind);
    pull_finish(&place);
}

/* Somebody else has copied it, or is at it: the buffer, and the sender's word,
 * are left alone. */
static void check_lost(const struct kind *kind, unsigned lap)
{
    struct pull_message message = message_of(lap);
    CUdeviceptr owner = (CUdeviceptr)(uintptr_t)claim;
    struct mgds_command take;
    uint64_t order;

    stand(kind, in.gstream);
    place.serial++;
    take = pull_claimed(&place, pull_take(&place, &message), claim);
    pull_put_post(&place, &message);
    queue_await(&place.line[PULL_SENT], place.serial);
    pull_set(&out, owner, take.gen + lap % 2);
    order = mgds_gstream_order(in.gstream, &take);
    assert_true(order > 0);
    let_it_look();
    assert_false(mgds_gstream_served(in.gstream, order));
    assert_int_equal(queue_get(owner), take.gen + lap % 2);
    assert_true(pull_done(&place, &message) < place.serial);
    pull_assert_near(&place, &message);
    assert_stands();
    mgds_gstream_order_back(in.gstream);
    place.gen = take.gen + lap % 2;
    go_on(kind);
}

/* The latter of them is late: its claim is somebody else's by then. */
static void an_order_loses_to_its_own_and_later_generations(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned lap = 0; looks(&kinds[i]) && lap < 4; lap++)
            check_lost(&kinds[i], lap);
    pull_finish(&place);
}

/* A fetch is launched while the order is looked at, or about to be; whoever
 * comes first copies, and both see it. The sender takes its bytes away. Who
 * stands may still try to claim it, so kernels look at the claim here. */
static struct mgds_command check_race(unsigned lap)
{
    struct pull_message message = message_of(lap);
    struct mgds_command take = post(&message);
    uint64_t order;

    put_overwrite(&message);
    order = mgds_gstream_order(in.gstream, &take);
    assert_true(order > 0);
    usleep(lap % 8 * 300);
    assert_int_equal(mgds_gstream_fetch(in.gstream, &take,
                                        &place.line[PULL_FETCHED],
                                        place.serial),
                     0);
    queue_await(&place.line[PULL_FETCHED], place.serial);
    mgds_gstream_order_back(in.gstream);
    pull_assert_near(&place, &message);
    assert_int_equal(pull_done(&place, &message), place.serial);
    pull_await_claimed(&place, &take);
    restore();
    return take;
}

/* Orders are taken back while they may just be looked at, and the claim, and
 * the record, are the next one's at once. */
static void orders_and_fetches_may_race(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        struct mgds_command last;

        if (!looks(&kinds[i]))
            continue;
        stand(&kinds[i], in.gstream);
        for (unsigned lap = 0; lap < 3 * LAPS; lap++)
            last = check_race(lap);
        assert_stands();
        go_on(&kinds[i]);
        queue_assert_claimed(&last);
    }
    pull_finish(&place);
}

/* The stream's own take of the message finds that it was copied. */
static void a_take_passes_behind_an_order(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < LAPS; lap++) {
        struct pull_message message = message_of(lap);
        const struct kind *kind = &kinds[lap % 2 ? 4 : 0];
        struct mgds_command take;
        uint64_t order;

        stand(kind, in.gstream);
        take = post(&message);
        pull_put_take(&place, take);
        put_overwrite(&message);
        order = mgds_gstream_order(in.gstream, &take);
        queue_await_served(in.gstream, order);
        mgds_gstream_order_back(in.gstream);
        assert_stands();
        queue_await(&place.line[PULL_READ], place.serial);
        go_on(kind);
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
        queue_assert_claimed(&take);
        restore();
    }
    pull_finish(&place);
}

/* Who is told to give up does nothing else any more. */
static void who_gives_up_serves_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        struct pull_message message = message_of(1);
        struct queue_stream gone;
        struct mgds_claim *own;
        struct mgds_command take;
        uint64_t order;

        if (!looks(&kinds[i]))
            continue;
        queue_open(&gone, CU_STREAM_NON_BLOCKING);
        own = mgds_gstream_claim(gone.gstream);
        stand(&kinds[i], gone.gstream);
        place.serial++;
        take = pull_claimed(&place, pull_take(&place, &message), own);
        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        mgds_gstream_abort(gone.gstream);
        order = mgds_gstream_order(gone.gstream, &take);
        assert_true(order > 0);
        OK(cu.cuStreamSynchronize(gone.native));
        assert_false(mgds_gstream_served(gone.gstream, order));
        assert_true(queue_get((CUdeviceptr)(uintptr_t)own) < take.gen);
        assert_true(pull_done(&place, &message) < place.serial);
        pull_assert_near(&place, &message);
        mgds_gstream_passed(gone.gstream, kinds[i].count);
        mgds_gstream_unclaim(gone.gstream, own);
        queue_close(&gone);
    }
    pull_finish(&place);
}

/* An order needs somebody who may look at it, a claim to settle by, and a
 * message that is known; and there is one at a time. */
static void not_all_is_ordered(void **state)
{
    const struct pull_message message = message_of(1);
    struct mgds_command take = post(&message), bad = take;
    uint64_t order;

    (void)state;
    assert_int_equal(mgds_gstream_order(in.gstream, &take), 0);
    stand(&kinds[0], in.gstream);
    bad.claim = NULL;
    assert_int_equal(mgds_gstream_order(in.gstream, &bad), 0);
    bad = pull_recorded(&place, take);
    assert_int_equal(mgds_gstream_order(in.gstream, &bad), 0);
    order = mgds_gstream_order(in.gstream, &take);
    assert_true(order > 0);
    assert_int_equal(mgds_gstream_order(in.gstream, &take), 0);
    queue_await_served(in.gstream, order);
    assert_int_equal(mgds_gstream_order(in.gstream, &take), 0);
    mgds_gstream_order_back(in.gstream);
    assert_int_equal(mgds_gstream_order(in.gstream, &take), order + 1);
    mgds_gstream_order_back(in.gstream);
    go_on(&kinds[0]);
    assert_int_equal(mgds_gstream_order(in.gstream, &take), 0);
    pull_finish(&place);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    pull_open(&place, &out, &in);
    OK(cu.cuMemAlloc_v2(&spot, 4096));
    OK(cu.cuMemsetD8_v2(spot, 0, 4096));
    OK(cu.cuStreamSynchronize(NULL));
    words = queue_take(in.gstream);
    record = queue_take(in.gstream);
    claim = mgds_gstream_claim(in.gstream);
    other = mgds_gstream_claim(in.gstream);
    return claim && other ? 0 : 1;
}

static int finish(void **state)
{
    queue_write(&words[1], stood);
    queue_quit_pair(&out, &in);
    mgds_gstream_unclaim(in.gstream, other);
    mgds_gstream_unclaim(in.gstream, claim);
    queue_give(in.gstream, record);
    queue_give(in.gstream, words);
    OK(cu.cuMemFree_v2(spot));
    pull_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_serves_an_order_once),
        cmocka_unit_test(a_kernel_serves_one_order_after_the_other),
        cmocka_unit_test(an_order_loses_to_its_own_and_later_generations),
        cmocka_unit_test(orders_and_fetches_may_race),
        cmocka_unit_test(a_take_passes_behind_an_order),
        cmocka_unit_test(who_gives_up_serves_nothing),
        cmocka_unit_test(not_all_is_ordered),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
