/* Who copies a long message: a TAKE on the program's stream, a fetch beside it,
 * or both at once. Each byte is copied once, whoever does it, and each sees
 * what the other copied. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/stream/hwqueue.h"
#include "tests/soft/queue_pull.h"

static struct queue_stream out, in;
static struct pull_place place;
static struct mgds_claim *claim;
static CUdeviceptr copied; /* what a stream finds behind its take */

enum { LONG = 200001, LAPS = 40 };

static const struct pull_message whole = {
    .from = 21, .to = 500, .bytes = LONG, .posted = LONG, .unit = 5};

static struct mgds_command expect(const struct pull_message *message)
{
    pull_expect(&place, message);
    return pull_claimed(&place, pull_take(&place, message), claim);
}

static void fetch(const struct mgds_command *take)
{
    assert_int_equal(mgds_gstream_fetch(in.gstream, take,
                                        &place.line[PULL_FETCHED],
                                        place.serial),
                     0);
}

static void await_fetched(void)
{
    queue_await(&place.line[PULL_FETCHED], place.serial);
}

/* The sender waits, and writes something else where the message was: it must
 * not be read any more. */
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

static void copy_behind(const struct pull_message *message)
{
    OK(cu.cuMemcpyAsync(copied, place.dst + message->to, message->bytes,
                        in.native));
}

static void assert_behind(const struct pull_message *message)
{
    unsigned char *got = (unsigned char *)malloc(message->bytes);

    assert_non_null(got);
    OK(cu.cuStreamSynchronize(in.native));
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, copied, message->bytes));
    OK(cu.cuStreamSynchronize(NULL));
    if (memcmp(got, place.sent + message->from, message->bytes) != 0)
        assert_memory_equal(got, place.sent + message->from, message->bytes);
    free(got);
}

/* The message of a lap: other places and bytes than the last one's. */
static struct pull_message message_of(unsigned lap)
{
    struct pull_message message = whole;

    message.from += (size_t)7919 * (lap % 40);
    message.to += (size_t)104729 * (lap % 7) + lap;
    message.bytes -= (size_t)977 * (lap % 200);
    message.unit = lap % PULL_UNITS;
    return message;
}

/* The flag of the fetch promises the data to the CPU. */
static void a_fetch_brings_what_is_ready(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < LAPS; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command take = expect(&message);

        if (lap % 2)
            take.claim = NULL;
        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        fetch(&take);
        put_overwrite(&message);
        await_fetched();
        pull_assert_near(&place, &message);
        assert_int_equal(pull_done(&place, &message), place.serial);
        restore();
    }
    pull_finish(&place);
}

/* Its place is used again, as one may be when its message was copied. */
static void post_another(const struct pull_message *message)
{
    struct mgds_command post = pull_post(&place, message);

    post.serial += 1ULL << 62;
    pull_put(out.gstream, post, &place.line[PULL_GATE], post.serial);
    queue_await(&place.line[PULL_GATE], post.serial);
}

/* The stream comes when all is over: the unit has another message by then, the
 * source other bytes, and the buffer may have, too. */
static void a_take_passes_behind_a_fetch(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < LAPS; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command take = expect(&message);

        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        fetch(&take);
        put_overwrite(&message);
        await_fetched();
        post_another(&message);
        OK(cu.cuMemsetD8Async(place.dst + message.to, 0xab, 1, in.native));
        place.want[message.to] = 0xab;
        pull_put_take(&place, take);
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
        assert_int_equal(pull_done(&place, &message), place.serial);
        queue_assert_claimed(&take);
        restore();
    }
    pull_finish(&place);
}

static void a_fetch_passes_behind_a_take(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < LAPS; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command take = expect(&message);

        pull_put_post(&place, &message);
        pull_put_take(&place, take);
        put_overwrite(&message);
        pull_await_taken(&place);
        queue_await(&place.line[PULL_READ], place.serial);
        fetch(&take);
        await_fetched();
        pull_assert_near(&place, &message);
        queue_assert_claimed(&take);
        restore();
    }
    pull_finish(&place);
}

/* Both are let go at the same time, as well as that goes. Behind the take lies
 * what either of them has copied, and the fetch's flag promises it, too. */
static void check_both(unsigned lap)
{
    struct pull_message message = message_of(lap);
    struct mgds_command take = expect(&message);

    pull_put_post(&place, &message);
    queue_await(&place.line[PULL_SENT], place.serial);
    put_overwrite(&message);
    if (lap % 3 == 0)
        fetch(&take);
    queue_write(&place.line[PULL_GATE], 0);
    queue_hold(in.native, &place.line[PULL_GATE]);
    OK(cu.cuMemsetD8Async(copied, 0, LONG, in.native));
    pull_put_take(&place, take);
    copy_behind(&message);
    if (lap % 3 == 1)
        fetch(&take);
    queue_write(&place.line[PULL_GATE], 1);
    if (lap % 3 == 2)
        fetch(&take);
    if (lap % 2)
        await_fetched();
    else
        pull_await_taken(&place);
    pull_assert_near(&place, &message);
    if (lap % 2)
        pull_await_taken(&place);
    else
        await_fetched();
    assert_behind(&message);
    assert_int_equal(pull_done(&place, &message), place.serial);
    queue_assert_claimed(&take);
    restore();
}

static void a_take_and_a_fetch_at_once_copy_once(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < 5 * LAPS; lap++)
        check_both(lap);
    pull_finish(&place);
}

/* The take stands, with or without its record, when the message comes and is
 * fetched at once: it owns the message if it knows where that is. */
static void check_standing(unsigned lap)
{
    struct pull_message message = message_of(lap);
    struct mgds_command known = expect(&message), take = known;

    if (lap % 2) {
        take = pull_recorded(&place, known);
        if (lap % 4 == 1)
            pull_tell(&place, &known, lap % 8);
    }
    pull_put_take(&place, take);
    copy_behind(&message);
    pull_put_post(&place, &message);
    queue_await(&place.line[PULL_SENT], place.serial);
    put_overwrite(&message);
    fetch(&known);
    if (lap % 4 == 3) {
        await_fetched();
        assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
        pull_tell(&place, &known, lap % 8);
    }
    pull_await_taken(&place);
    await_fetched();
    assert_behind(&message);
    pull_assert_near(&place, &message);
    queue_assert_claimed(&known);
    restore();
}

static void a_fetch_may_race_with_a_take_that_stands(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < 4 * LAPS; lap++)
        check_standing(lap);
    pull_finish(&place);
}

/* A fetch that finds all that it needs, but other bytes. It has a unit and a
 * word of its own: what it does beside the take shows. */
static struct pull_message put_other(const struct pull_message *message,
                                     struct mgds_command *take)
{
    struct pull_message other = *message;
    struct mgds_command known;

    other.unit = 1000;
    other.from++;
    known = pull_take(&place, &other);
    take->units = known.units;
    take->source = known.source;
    take->done = known.done;
    pull_put_post(&place, &other);
    queue_await(&place.line[PULL_SENT], place.serial);
    return other;
}

static void assert_both_wait(const struct pull_message *message,
                             const struct pull_message *other)
{
    pull_let_time_pass(&place, &out);
    assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
    assert_true(queue_read(&place.line[PULL_FETCHED]) < place.serial);
    assert_true(pull_done(&place, message) < place.serial);
    assert_true(pull_done(&place, other) < place.serial);
}

/* The fetch copies nothing, and is through when the take is. */
static void a_take_that_stands_owns_its_message(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < 20; lap++) {
        struct pull_message message = message_of(lap), other;
        struct mgds_command take = expect(&message), late = take;

        pull_put_take(&place, take);
        copy_behind(&message);
        pull_await_owned(&place, &take);
        other = put_other(&message, &late);
        fetch(&late);
        assert_both_wait(&message, &other);
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        pull_put_post(&place, &message);
        put_overwrite(&message);
        await_fetched();
        pull_assert_near(&place, &message);
        pull_await_taken(&place);
        assert_behind(&message);
        assert_int_equal(pull_done(&place, &message), place.serial);
        assert_true(pull_done(&place, &other) < place.serial);
        queue_assert_claimed(&take);
        restore();
    }
    pull_finish(&place);
}

/* It stands at its record, and owns nothing. What that tells at last is a
 * place that was used again. */
static void a_take_that_stands_sees_who_has_copied(void **state)
{
    (void)state;
    for (unsigned lap = 0; lap < 20; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command known = expect(&message);

        pull_put_take(&place, pull_recorded(&place, known));
        copy_behind(&message);
        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        fetch(&known);
        put_overwrite(&message);
        await_fetched();
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
        post_another(&message);
        pull_tell(&place, &known, lap % 8);
        pull_await_taken(&place);
        assert_behind(&message);
        pull_assert_near(&place, &message);
        queue_assert_claimed(&known);
        restore();
    }
    pull_finish(&place);
}

/* Nobody can read its data before the winner has it all. */
static void who_comes_second_waits_until_all_is_there(void **state)
{
    CUdeviceptr owner = (CUdeviceptr)(uintptr_t)claim, over = owner + 8;

    (void)state;
    for (unsigned lap = 0; lap < 5; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command take = expect(&message);

        pull_put_post(&place, &message);
        pull_set(&out, owner, take.gen);
        pull_put_take(&place, take);
        fetch(&take);
        pull_let_time_pass(&place, &out);
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
        assert_true(queue_read(&place.line[PULL_FETCHED]) < place.serial);
        /* as the winner does */
        OK(cu.cuMemcpy(place.dst + message.to, place.src + message.from,
                       message.bytes));
        OK(cu.cuStreamSynchronize(NULL));
        pull_set(&out, over, take.gen);
        pull_await_taken(&place);
        await_fetched();
        pull_assert_near(&place, &message);
        assert_true(pull_done(&place, &message) < place.serial);
    }
    pull_finish(&place);
}

/* The program's stream stands in a take of another message, which comes only
 * later: nothing of it is needed. */
static void a_fetch_runs_beside_a_stream_that_stands(void **state)
{
    const struct pull_message other = {.from = 9,
                                       .to = PULL_AREA - 300000,
                                       .bytes = 250000,
                                       .posted = 250000,
                                       .unit = 999};
    struct mgds_claim *second = mgds_gstream_claim(in.gstream);

    (void)state;
    for (unsigned lap = 0; lap < 20; lap++) {
        struct pull_message message = message_of(lap);
        struct mgds_command stands, take;
        uint64_t serial;

        pull_expect(&place, &other);
        stands = pull_claimed(&place, pull_take(&place, &other), second);
        pull_put_take(&place, stands);
        serial = place.serial;
        take = expect(&message);
        pull_put_take(&place, take);
        pull_put_post(&place, &message);
        queue_await(&place.line[PULL_SENT], place.serial);
        fetch(&take);
        await_fetched();
        pull_assert_near(&place, &message);
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[PULL_TOOK]) < serial);
        place.serial = serial;
        pull_put_post(&place, &other);
        place.serial = take.serial;
        pull_await_taken(&place);
        mgds_gstream_passed(in.gstream, 1);
    }
    mgds_gstream_unclaim(in.gstream, second);
    pull_finish(&place);
}

static void a_fetch_throws_away_what_has_no_buffer(void **state)
{
    struct mgds_command take = expect(&whole);
    struct queue_freed freed;

    (void)state;
    queue_freed_open(&freed, in.gstream, LONG);
    queue_freed_take(&freed, &take);
    pull_put_post(&place, &whole);
    queue_await(&place.line[PULL_SENT], place.serial);
    assert_int_equal(mgds_gstream_fetch(in.gstream, &take,
                                        &place.line[PULL_FETCHED],
                                        place.serial),
                     -EFAULT);
    await_fetched();
    assert_int_equal(pull_done(&place, &whole), place.serial);
    queue_freed_close(&freed);
    /* what was expected is what the next one brings */
    take = expect(&whole);
    pull_put_post(&place, &whole);
    pull_put_take(&place, take);
    pull_await_taken(&place);
    pull_finish(&place);
}

static void only_what_is_known_is_fetched(void **state)
{
    struct mgds_command known = pull_take(&place, &whole);
    struct mgds_command take = pull_recorded(&place, known);

    (void)state;
    assert_int_equal(
        mgds_gstream_fetch(in.gstream, &take, &place.line[PULL_FETCHED], 1),
        -EINVAL);
    known.serial = 0;
    assert_int_equal(
        mgds_gstream_fetch(in.gstream, &known, &place.line[PULL_FETCHED], 1),
        -EINVAL);
}

/* One that was launched too early, and stands. */
static void a_fetch_can_be_given_up(void **state)
{
    struct queue_stream given_up;
    struct pull_message message = whole;
    struct mgds_claim *own;
    struct mgds_command take;

    (void)state;
    message.unit = 1001;
    queue_open(&given_up, CU_STREAM_NON_BLOCKING);
    own = mgds_gstream_claim(given_up.gstream);
    place.serial++;
    take = pull_claimed(&place, pull_take(&place, &message), own);
    assert_int_equal(mgds_gstream_fetch(given_up.gstream, &take,
                                        &place.line[PULL_FETCHED],
                                        place.serial),
                     0);
    pull_let_time_pass(&place, &out);
    assert_true(queue_read(&place.line[PULL_FETCHED]) < place.serial);
    mgds_gstream_abort(given_up.gstream);
    await_fetched();
    assert_int_equal(pull_done(&place, &message), 0);
    mgds_gstream_unclaim(given_up.gstream, own);
    queue_close(&given_up);
    pull_finish(&place);
}

/* Who has lost waits for a take that stands, and for no longer. */
static void a_fetch_is_given_up_with_the_take_that_owns(void **state)
{
    struct queue_stream given_up;
    struct pull_message message = whole, other;
    struct mgds_claim *own;
    struct mgds_command take, late;

    (void)state;
    message.unit = 1002;
    queue_open(&given_up, CU_STREAM_NON_BLOCKING);
    own = mgds_gstream_claim(given_up.gstream);
    place.serial++;
    late = take = pull_claimed(&place, pull_take(&place, &message), own);
    pull_put(given_up.gstream, take, &place.line[PULL_TOOK], place.serial);
    pull_await_owned(&place, &take);
    other = put_other(&message, &late);
    assert_int_equal(mgds_gstream_fetch(given_up.gstream, &late,
                                        &place.line[PULL_FETCHED],
                                        place.serial),
                     0);
    assert_both_wait(&message, &other);
    mgds_gstream_abort(given_up.gstream);
    await_fetched();
    queue_await(&place.line[PULL_TOOK], place.serial);
    mgds_gstream_passed(given_up.gstream, 1);
    assert_int_equal(pull_done(&place, &message), 0);
    assert_true(pull_done(&place, &other) < place.serial);
    mgds_gstream_unclaim(given_up.gstream, own);
    queue_close(&given_up);
    pull_finish(&place);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    pull_open(&place, &out, &in);
    OK(cu.cuMemAlloc_v2(&copied, LONG));
    claim = mgds_gstream_claim(in.gstream);
    return claim ? 0 : 1;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    mgds_gstream_unclaim(in.gstream, claim);
    OK(cu.cuMemFree_v2(copied));
    pull_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fetch_brings_what_is_ready),
        cmocka_unit_test(a_take_passes_behind_a_fetch),
        cmocka_unit_test(a_fetch_passes_behind_a_take),
        cmocka_unit_test(a_take_and_a_fetch_at_once_copy_once),
        cmocka_unit_test(a_fetch_may_race_with_a_take_that_stands),
        cmocka_unit_test(a_take_that_stands_owns_its_message),
        cmocka_unit_test(a_take_that_stands_sees_who_has_copied),
        cmocka_unit_test(who_comes_second_waits_until_all_is_there),
        cmocka_unit_test(a_fetch_runs_beside_a_stream_that_stands),
        cmocka_unit_test(a_fetch_throws_away_what_has_no_buffer),
        cmocka_unit_test(only_what_is_known_is_fetched),
        cmocka_unit_test(a_fetch_can_be_given_up),
        cmocka_unit_test(a_fetch_is_given_up_with_the_take_that_owns),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
