/* POST, AWAIT and the long TAKE among other work: what each promises to what is
 * around it on its stream, lists, giving up, and where none may stand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/gds/stream/hwqueue.h"
#include "tests/soft/queue_pull.h"

/* One sends, one receives. */
static struct queue_stream out, in;
static struct pull_place place;

/* The source is what the sender's stream made of it before, and free when the
 * sender has waited. */
static void the_source_is_read_between_post_and_await(void **state)
{
    struct pull_message message = {
        .from = 3, .to = 9, .bytes = 300000, .posted = 300000};
    struct mgds_command steps[4];

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        message.unit = i;
        pull_expect(&place, &message);
        pull_put_take(&place, pull_take(&place, &message));
        OK(cu.cuMemsetD8Async(place.src, 0xff, PULL_AREA, out.native));
        OK(cu.cuMemcpyAsync(place.src, (CUdeviceptr)(uintptr_t)place.sent,
                            PULL_AREA, out.native));
        steps[0] = pull_post(&place, &message);
        steps[1] = queue_flag(&place.line[PULL_SENT], place.serial);
        steps[2] = pull_await(&place, &message);
        steps[3] = queue_flag(&place.line[PULL_READ], place.serial);
        queue_put(out.gstream, steps, 4);
        OK(cu.cuMemsetD8Async(place.src, 0xee, PULL_AREA, out.native));
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
        OK(cu.cuStreamSynchronize(out.native));
        mgds_gstream_passed(out.gstream, 1);
    }
    OK(cu.cuMemcpy(place.src, (CUdeviceptr)(uintptr_t)place.sent, PULL_AREA));
    pull_finish(&place);
}

/* What comes behind a take in its stream has the message. */
static void work_around_a_take_keeps_its_order(void **state)
{
    const struct pull_message message = {
        .from = 3, .to = 9, .bytes = 150000, .posted = 150000};
    CUdeviceptr behind, dst = place.dst + message.to;
    unsigned char *got = (unsigned char *)malloc(message.bytes);

    (void)state;
    assert_non_null(got);
    OK(cu.cuMemAlloc_v2(&behind, message.bytes));
    pull_expect(&place, &message);
    OK(cu.cuMemsetD8Async(dst, 0xab, message.bytes, in.native));
    pull_put_take(&place, pull_take(&place, &message));
    OK(cu.cuMemcpyAsync(behind, dst, message.bytes, in.native));
    OK(cu.cuMemsetD8Async(dst, 0xcd, message.bytes, in.native));
    pull_let_time_pass(&place, &out);
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
    assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
    pull_put_post(&place, &message);
    pull_await_taken(&place);
    OK(cu.cuStreamSynchronize(in.native));
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, behind, message.bytes));
    assert_memory_equal(got, place.sent + message.from, message.bytes);
    memset(place.want + message.to, 0xcd, message.bytes);
    OK(cu.cuMemFree_v2(behind));
    free(got);
    pull_finish(&place);
}

static uint64_t launches(void)
{
    return mgds_stats_value(MGDS_STAT_queue_launches);
}

/* Who sees the flag sees the unit; both are one launch. */
static void a_flag_behind_a_post_comes_behind_it(void **state)
{
    const struct pull_message message = {.bytes = 64, .posted = 64, .unit = 7};
    CUdeviceptr word = place.units + 7 * sizeof(struct mgds_unit) +
                       offsetof(struct mgds_unit, word);
    uint64_t before = launches();

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        place.serial++;
        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        assert_int_equal(queue_get(word), place.serial);
    }
    assert_int_equal(launches() - before, 100);
    pull_finish(&place);
}

/* A blocking send: one launch, that posts whatever it waits for then. */
static void a_post_and_its_await_are_one_launch(void **state)
{
    const struct pull_message message = {.bytes = 64, .posted = 64, .unit = 7};
    struct mgds_command steps[4], take;
    uint64_t before;

    (void)state;
    pull_expect(&place, &message);
    steps[0] = pull_post(&place, &message);
    steps[1] = queue_flag(&place.line[PULL_SENT], place.serial);
    steps[2] = pull_await(&place, &message);
    steps[3] = queue_flag(&place.line[PULL_READ], place.serial);
    take = pull_take(&place, &message);
    before = launches();
    queue_put(out.gstream, steps, 4);
    assert_int_equal(launches() - before, 1);
    queue_await(&place.line[PULL_SENT], place.serial);
    pull_let_time_pass(&place, &in);
    assert_int_equal(cu.cuStreamQuery(out.native), CUDA_ERROR_NOT_READY);
    assert_true(queue_read(&place.line[PULL_READ]) < place.serial);
    pull_put_take(&place, take);
    pull_await_taken(&place);
    queue_await(&place.line[PULL_READ], place.serial);
    mgds_gstream_passed(out.gstream, 1);
    pull_finish(&place);
}

/* Words that are posted into, each its own value, the last one late. */
static void check_awaits(unsigned count, unsigned late, unsigned number)
{
    struct mgds_command *steps =
        (struct mgds_command *)calloc(count + 1, sizeof(*steps));
    uint64_t base = place.serial, before;
    CUdeviceptr word = place.dones;

    assert_non_null(steps);
    for (unsigned i = 0; i < count; i++)
        steps[i] = (struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                         .word = (uint64_t *)(word + 8ULL * i),
                                         .value = base + i};
    place.serial += count;
    steps[count] = queue_flag(&place.line[PULL_READ], place.serial);
    for (unsigned i = 0; i < count; i += 3)
        if (i != late)
            pull_set(&out, word + 8ULL * i, base + i);
    before = launches();
    queue_put(in.gstream, steps, count + 1);
    assert_int_equal(launches() - before, number);
    for (unsigned i = 0; i < count; i++)
        if (i != late && i % 3)
            pull_set(&out, word + 8ULL * i, base + i);
    pull_let_time_pass(&place, &out);
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
    assert_true(queue_read(&place.line[PULL_READ]) < place.serial);
    pull_set(&out, word + 8ULL * late, base + late);
    queue_await(&place.line[PULL_READ], place.serial);
    mgds_gstream_passed(in.gstream, count);
    free(steps);
}

/* 12 are what a small launch carries, 248 what any does. */
static void awaits_of_any_number_go_together(void **state)
{
    static const struct {
        unsigned count, launches;
    } rows[] = {{1, 1},   {2, 1},   {12, 1},  {13, 1},  {33, 1},
                {129, 1}, {248, 1}, {249, 2}, {496, 2}, {777, 4}};

    (void)state;
    for (unsigned k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        check_awaits(rows[k].count, 0, rows[k].launches);
        check_awaits(rows[k].count, rows[k].count / 2, rows[k].launches);
        check_awaits(rows[k].count, rows[k].count - 1, rows[k].launches);
    }
    pull_finish(&place);
}

/* Lists in which all steps of a message stand beside others. */
static void lists_may_mix_all_steps(void **state)
{
    struct pull_message first = {
        .from = 5, .to = 70000, .bytes = 60000, .posted = 60000, .unit = 1};
    struct pull_message second = {
        .from = 9, .to = 5, .bytes = 50000, .posted = 50001, .unit = 2};
    struct mgds_command steps[9];

    (void)state;
    queue_write(&place.line[PULL_GATE], 0);
    pull_expect(&place, &first);
    steps[0] = queue_flag(&place.line[PULL_GATE], 1);
    steps[1] = pull_post(&place, &first);
    steps[2] = queue_flag(&place.line[PULL_GATE], 2);
    steps[3] = queue_wait(&place.line[PULL_GATE], 2);
    steps[4] = pull_take(&place, &first);
    steps[5] = pull_await(&place, &first);
    pull_expect(&place, &second);
    steps[6] = pull_post(&place, &second);
    steps[7] = pull_take(&place, &second);
    steps[8] = queue_flag(&place.line[PULL_TOOK], place.serial);
    queue_put(in.gstream, steps, 9);
    queue_await(&place.line[PULL_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 4);
    assert_int_equal(queue_read(&place.line[PULL_GATE]), 2);
    pull_finish(&place);
}

/* A quiet flag ahead comes if the record is empty, and only then; one behind
 * when it is asked for. */
static void quiet_flags_are_as_of_other_takes(void **state)
{
    const struct pull_message message = {.bytes = 70000, .posted = 70000};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);
    struct mgds_command steps[3], known;

    (void)state;
    for (uint64_t i = 1; i <= 10; i++) {
        uint64_t before = queue_read(&place.line[PULL_TOOK]);

        queue_write(&place.line[PULL_GATE], 0);
        pull_expect(&place, &message);
        known = pull_take(&place, &message);
        steps[0] = queue_flag(&place.line[PULL_GATE], i);
        steps[1] = pull_claimed(&place, pull_recorded(&place, known), claim);
        steps[2] = queue_flag(&place.line[PULL_TOOK], place.serial);
        steps[0].quiet = steps[2].quiet = true;
        if (i % 2)
            pull_tell(&place, &known, 0);
        queue_put(in.gstream, steps, 3);
        if (i % 2 == 0)
            queue_await(&place.line[PULL_GATE], i);
        pull_tell(&place, &known, 0);
        pull_put_post(&place, &message);
        OK(cu.cuStreamSynchronize(in.native));
        mgds_gstream_passed(in.gstream, 1);
        assert_int_equal(queue_read(&place.line[PULL_GATE]), i % 2 ? 0 : i);
        assert_int_equal(queue_read(&place.line[PULL_TOOK]), before);
        assert_int_equal(mgds_gstream_tell(in.gstream, &place.line[PULL_READ],
                                           &place.line[PULL_FETCHED], i),
                         0);
        queue_await(&place.line[PULL_FETCHED], i);
        assert_int_equal(queue_read(&place.line[PULL_READ]), place.serial);
    }
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
}

/* What the record says of the flag is all that counts. */
static void records_say_that_flags_are_not_needed(void **state)
{
    const struct pull_message message = {.bytes = 70000, .posted = 70000};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);
    struct mgds_command known, take;

    (void)state;
    for (uint64_t i = 1; i <= 10; i++) {
        uint64_t before = queue_read(&place.line[PULL_TOOK]);

        pull_expect(&place, &message);
        known = pull_take(&place, &message);
        known.quiet = i % 2;
        take = pull_claimed(&place, pull_recorded(&place, known), claim);
        pull_put_take(&place, take);
        pull_tell(&place, &known, (unsigned)i);
        pull_put_post(&place, &message);
        pull_await_read(&place, &message);
        OK(cu.cuStreamSynchronize(in.native));
        mgds_gstream_passed(in.gstream, 1);
        assert_int_equal(queue_read(&place.line[PULL_TOOK]),
                         i % 2 ? before : place.serial);
    }
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
}

/* Its message is thrown away, and the sender is told. */
static void freed_memory_is_left_out(void **state)
{
    const struct pull_message message = {.bytes = 70000, .posted = 70000};
    struct mgds_command steps[2];
    struct queue_freed freed;

    (void)state;
    queue_freed_open(&freed, in.gstream, message.bytes);
    place.serial++;
    steps[0] = pull_take(&place, &message);
    queue_freed_take(&freed, &steps[0]);
    steps[1] = queue_flag(&place.line[PULL_TOOK], place.serial);
    assert_int_equal(
        mgds_gstream_put(in.gstream, mgds_gstream_ticket(in.gstream), steps, 2),
        -EFAULT);
    assert_true(steps[0].put && steps[1].put);
    pull_put_post(&place, &message);
    pull_await_taken(&place);
    pull_await_read(&place, &message);
    queue_freed_close(&freed);
    pull_finish(&place);
}

/* The flag of one that gives up comes as well, and no byte. */
static void check_abort(struct mgds_command step)
{
    struct queue_stream given_up;

    queue_open(&given_up, CU_STREAM_NON_BLOCKING);
    pull_put(given_up.gstream, step, &place.line[PULL_TOOK], ++place.serial);
    pull_let_time_pass(&place, &out);
    assert_int_equal(cu.cuStreamQuery(given_up.native), CUDA_ERROR_NOT_READY);
    assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
    mgds_gstream_abort(given_up.gstream);
    queue_await(&place.line[PULL_TOOK], place.serial);
    mgds_gstream_passed(given_up.gstream, 1);
    queue_close(&given_up);
    pull_assert(&place);
}

static void whatever_stands_can_be_given_up(void **state)
{
    const struct pull_message message = {
        .bytes = PULL_MANY, .posted = PULL_MANY, .unit = 900};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);
    struct mgds_command take = pull_take(&place, &message);

    (void)state;
    take.serial = 1;
    check_abort(take);
    check_abort(pull_claimed(&place, take, claim));
    check_abort(pull_claimed(&place, pull_recorded(&place, take), claim));
    check_abort((struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                      .word = (uint64_t *)(place.dones + 7200),
                                      .value = 1});
    /* somebody has begun to copy, and does not end */
    take = pull_claimed(&place, take, claim);
    pull_set(&out, (CUdeviceptr)(uintptr_t)&claim->owner, take.gen);
    check_abort(take);
    assert_int_equal(pull_done(&place, &message), 0);
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
}

static void awaits_are_counted_as_waits(void **state)
{
    const struct pull_message message = {.unit = 33};

    (void)state;
    place.serial++;
    assert_int_equal(mgds_hwqueue_count(0), 0);
    pull_put(out.gstream, pull_await(&place, &message), &place.line[PULL_READ],
             place.serial);
    assert_int_equal(mgds_hwqueue_count(0), 1);
    pull_set(&in, place.dones + 33 * sizeof(uint64_t), place.serial);
    queue_await(&place.line[PULL_READ], place.serial);
    mgds_gstream_passed(out.gstream, 1);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    pull_finish(&place);
}

/* Each is another one of as many in a row. */
static void assert_all_differ(struct mgds_claim *const *claims)
{
    bool seen[MGDS_GSTREAM_CLAIMS] = {false};
    const struct mgds_claim *first = claims[0];

    for (unsigned i = 1; i < MGDS_GSTREAM_CLAIMS; i++)
        if (claims[i] < first)
            first = claims[i];
    for (unsigned i = 0; i < MGDS_GSTREAM_CLAIMS; i++) {
        assert_true(claims[i] - first < MGDS_GSTREAM_CLAIMS);
        assert_false(seen[claims[i] - first]);
        seen[claims[i] - first] = true;
    }
}

static void claims_are_given_out_once(void **state)
{
    static struct mgds_claim *claims[MGDS_GSTREAM_CLAIMS];
    struct mgds_claim *again;
    unsigned count = 0;

    (void)state;
    while (count < MGDS_GSTREAM_LONG_CLAIMS &&
           (claims[count] = mgds_gstream_claim_long(in.gstream)) != NULL)
        count++;
    assert_int_equal(count, MGDS_GSTREAM_LONG_CLAIMS);
    assert_null(mgds_gstream_claim_long(in.gstream));
    while (count < MGDS_GSTREAM_CLAIMS &&
           (claims[count] = mgds_gstream_claim(in.gstream)) != NULL)
        count++;
    assert_int_equal(count, MGDS_GSTREAM_CLAIMS);
    mgds_gstream_unclaim(in.gstream, claims[100]);
    again = mgds_gstream_claim(in.gstream);
    assert_ptr_equal(again, claims[100]);
    assert_null(mgds_gstream_claim(in.gstream));
    assert_true(mgds_gstream_may_claim(in.gstream));
    mgds_gstream_despair(in.gstream);
    assert_false(mgds_gstream_may_claim(in.gstream));
    assert_all_differ(claims);
    queue_unclaim(in.gstream, claims, MGDS_GSTREAM_CLAIMS);
    assert_true(mgds_gstream_may_claim(in.gstream));
}

static int over; /* atomic */

static void *claim_again_and_again(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
        mgds_gstream_unclaim(in.gstream, mgds_gstream_claim(in.gstream));
    return NULL;
}

/* How a wait is put depends on whether there are claims: they come and go while
 * it is decided. */
static void waits_are_put_while_claims_come_and_go(void **state)
{
    enum { PUTS = 20000 };
    struct mgds_command wait = queue_wait(&place.line[PULL_GATE], 1);
    pthread_t thread;

    (void)state;
    queue_write(&place.line[PULL_GATE], 1);
    assert_int_equal(pthread_create(&thread, NULL, claim_again_and_again, NULL),
                     0);
    for (unsigned i = 0; i < PUTS; i++)
        queue_put(in.gstream, &wait, 1);
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cu.cuStreamSynchronize(in.native));
    mgds_gstream_passed(in.gstream, PUTS);
    pull_finish(&place);
}

/* A GPU of 132 processors has 66 blocks to give: two streams of 32, then one
 * of one, unless there are eight. */
static void blocks_are_granted_while_there_are_some(void **state)
{
    struct queue_stream third, fourth;

    (void)state;
    assert_int_equal(mgds_hwqueue_grant(0, 3, 132), 0);
    assert_int_equal(mgds_hwqueue_grant(0, 2, 132), 2);
    mgds_hwqueue_return(0, 2);
    queue_open(&third, CU_STREAM_NON_BLOCKING);
    assert_int_equal(mgds_hwqueue_grant(0, 2, 132), 2);
    mgds_hwqueue_return(0, 2);
    queue_close(&third);
    queue_close(&out);
    queue_open(&third, CU_STREAM_NON_BLOCKING);
    assert_int_equal(mgds_hwqueue_grant(0, 3, 132), 0);
    queue_close(&third);
    assert_int_equal(mgds_hwqueue_grant(0, 20, 132), 20);
    queue_open(&third, CU_STREAM_NON_BLOCKING);
    assert_int_equal(mgds_hwqueue_grant(0, 7, 132), 0);
    queue_open(&fourth, CU_STREAM_NON_BLOCKING);
    assert_int_equal(mgds_hwqueue_grant(0, 6, 132), 6);
    mgds_hwqueue_return(0, 26);
    queue_close(&fourth);
    queue_close(&third);
    queue_open(&out, CU_STREAM_NON_BLOCKING);
}

static void kernels_are_refused_where_none_may_stand(void **state)
{
    const struct pull_message message = {.bytes = 8, .posted = 8};
    struct mgds_command take = pull_take(&place, &message);
    struct mgds_command refused[] = {pull_post(&place, &message),
                                     pull_await(&place, &message), take};

    (void)state;
    assert_false(mgds_gstream_has_kernels(in.gstream));
    assert_null(mgds_gstream_claim(in.gstream));
    for (unsigned i = 0; i < 3; i++) {
        uint64_t ticket = mgds_gstream_ticket(in.gstream);

        assert_int_equal(mgds_gstream_put(in.gstream, ticket, &refused[i], 1),
                         -ENOTSUP);
        assert_false(refused[i].put);
    }
    assert_int_equal(
        mgds_gstream_fetch(in.gstream, &take, &place.line[PULL_FETCHED], 1),
        -ENOTSUP);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    pull_finish(&place);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    pull_open(&place, &out, &in);
    return 0;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    pull_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_is_read_between_post_and_await),
        cmocka_unit_test(work_around_a_take_keeps_its_order),
        cmocka_unit_test(a_flag_behind_a_post_comes_behind_it),
        cmocka_unit_test(a_post_and_its_await_are_one_launch),
        cmocka_unit_test(awaits_of_any_number_go_together),
        cmocka_unit_test(lists_may_mix_all_steps),
        cmocka_unit_test(quiet_flags_are_as_of_other_takes),
        cmocka_unit_test(records_say_that_flags_are_not_needed),
        cmocka_unit_test(freed_memory_is_left_out),
        cmocka_unit_test(whatever_stands_can_be_given_up),
        cmocka_unit_test(awaits_are_counted_as_waits),
        cmocka_unit_test(claims_are_given_out_once),
        cmocka_unit_test(waits_are_put_while_claims_come_and_go),
        cmocka_unit_test(blocks_are_granted_while_there_are_some),
    };
    const struct CMUnitTest memop[] = {
        cmocka_unit_test(kernels_are_refused_where_none_may_stand),
    };
    const char *trigger = getenv("MPIX_GDS_TRIGGER");

    if (soft_cuda_load())
        return 1;
    if (trigger && strcmp(trigger, "memop") == 0)
        return cmocka_run_group_tests(memop, start, finish);
    return cmocka_run_group_tests(tests, start, finish);
}
