/* Long messages, which the receiver copies, one by one: every size and place,
 * what is known at the call and what only a record tells, and nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/soft/queue_pull.h"

/* One sends, one receives. */
static struct queue_stream out, in;
static struct pull_place place;

/* What the flags promise is looked at as soon as they are there: the streams
 * are not waited for. */
static void check(const struct pull_message *message, bool early)
{
    pull_expect(&place, message);
    if (early)
        pull_put_take(&place, pull_take(&place, message));
    pull_put_post(&place, message);
    if (!early)
        pull_put_take(&place, pull_take(&place, message));
    pull_await_taken(&place);
    pull_assert_near(&place, message);
    assert_int_equal(pull_done(&place, message), place.serial);
}

/* Both ends at any of 16 places, lengths from none to a few units. */
static void short_messages_lie_anywhere(void **state)
{
    static const size_t sizes[] = {0, 1, 15, 16, 17, 33, 100};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    (void)state;
    for (unsigned shift = 0; shift < 256; shift++) {
        struct pull_message message = {.from = 64 + shift % 16,
                                       .to = 1000 + shift / 16,
                                       .bytes = sizes[shift % SIZES],
                                       .posted = sizes[shift % SIZES],
                                       .unit = shift % PULL_UNITS};

        check(&message, shift % 2);
        message.bytes = message.posted = sizes[(shift / 7 + 3) % SIZES];
        check(&message, shift % 3);
    }
    pull_finish(&place);
}

/* Several batches of each thread, and a rest. */
static void longer_messages_lie_anywhere(void **state)
{
    static const size_t sizes[] = {4096, 65521, 65536, 70003};
    static const size_t apart[] = {0, 8, 4, 12, 1, 2, 7, 15};

    (void)state;
    for (unsigned i = 0; i < 4 * 8; i++) {
        struct pull_message message = {.from = 5 * i % 16,
                                       .to = 5 * i % 16 + apart[i % 8],
                                       .bytes = sizes[i / 8],
                                       .posted = sizes[i / 8],
                                       .unit = i};

        check(&message, i % 2);
    }
    pull_finish(&place);
}

static void many_blocks_copy_the_longest(void **state)
{
    static const size_t apart[] = {0, 16, 8, 4, 3};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct pull_message message = {.from = 48 + i,
                                       .to = 800 + i + apart[i],
                                       .bytes = PULL_MANY,
                                       .posted = PULL_MANY,
                                       .unit = i};

        check(&message, i % 2);
    }
    pull_finish(&place);
}

/* Both ways: the rest of the buffer, and of the message, stay; the sender is
 * told of both. */
static void other_sizes_may_be_posted_than_sent(void **state)
{
    static const size_t sizes[] = {0, 1, 16, 63, 500, 70001, PULL_MANY};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    (void)state;
    for (size_t i = 0; i < (size_t)SIZES * SIZES; i++) {
        struct pull_message message = {.from = i % 11,
                                       .to = i % 13,
                                       .bytes = sizes[i % SIZES],
                                       .posted = sizes[i / SIZES],
                                       .unit = (unsigned)i};

        check(&message, i % 2);
    }
    pull_finish(&place);
}

/* Words in any order, before the kernel looks or while it stands; the source
 * and the sender's word are part of it. */
static void a_record_may_tell_where_it_is(void **state)
{
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);

    (void)state;
    assert_non_null(claim);
    for (unsigned i = 0; i < 64; i++) {
        struct pull_message message = {.from = i,
                                       .to = 100 + 3 * i,
                                       .bytes = i % 4 ? 1000 + i : 90000,
                                       .posted = i % 4 ? 1003 : 90001,
                                       .unit = i};
        struct mgds_command known, take;

        pull_expect(&place, &message);
        known = pull_take(&place, &message);
        take = pull_claimed(&place, pull_recorded(&place, known), claim);
        if (i % 2)
            pull_put_post(&place, &message);
        if (i % 3 == 0)
            pull_tell(&place, &known, i / 3);
        pull_put_take(&place, take);
        if (i % 3) {
            assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
            pull_tell(&place, &known, i / 3);
        }
        if (i % 2 == 0)
            pull_put_post(&place, &message);
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
        pull_await_read(&place, &message);
    }
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
}

/* Of a message that is not in the sender's memory. */
static void tell(uint64_t serial, uint64_t address, size_t length, int form)
{
    queue_write(&place.record[MGDS_RECORD_SERIAL], serial);
    queue_write(&place.record[MGDS_RECORD_LENGTH], length + 1);
    queue_write(&place.record[MGDS_RECORD_FORM], (uint64_t)form + 1);
    queue_write(&place.record[MGDS_RECORD_ADDRESS], address);
}

/* A take with a claim is for whatever its record tells of. */
static void a_record_may_tell_of_a_ring(void **state)
{
    struct pull_message message = {
        .from = 7, .to = 3, .bytes = 20000, .posted = 20001};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);
    struct mgds_command push, take;
    CUdeviceptr units;

    (void)state;
    OK(cu.cuMemAlloc_v2(&units, 16 * (size_t)20000));
    OK(cu.cuMemsetD8_v2(units, 0, 16 * (size_t)20000));
    OK(cu.cuStreamSynchronize(NULL));
    for (unsigned i = 0; i < 12; i++) {
        message.from++;
        pull_expect(&place, &message);
        take = pull_claimed(
            &place, pull_recorded(&place, pull_take(&place, &message)), claim);
        push = (struct mgds_command){.kind = MGDS_COMMAND_PUSH,
                                     .user = (char *)(place.src + message.from),
                                     .bytes = message.bytes,
                                     .units = (void *)(uintptr_t)units,
                                     .serial = place.serial};
        if (i % 2)
            pull_put_take(&place, take);
        pull_put(out.gstream, push, &place.line[PULL_SENT], place.serial);
        tell(place.serial, units, message.bytes, MGDS_TAKE_UNITS);
        if (i % 2 == 0)
            pull_put_take(&place, take);
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
    }
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
    OK(cu.cuMemFree_v2(units));
}

static void a_record_may_tell_of_plain_bytes(void **state)
{
    const struct pull_message message = {
        .from = 99, .to = 5, .bytes = 30001, .posted = 40000};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);
    unsigned char *plain;

    (void)state;
    OK(cu.cuMemHostAlloc((void **)&plain, message.bytes, 0));
    for (unsigned i = 0; i < 8; i++) {
        struct mgds_command take;

        pull_expect(&place, &message);
        take = pull_claimed(
            &place, pull_recorded(&place, pull_take(&place, &message)), claim);
        if (i % 2)
            pull_put_take(&place, take);
        memcpy(plain, place.sent + message.from, message.bytes);
        tell(1, (uintptr_t)plain, message.bytes, MGDS_TAKE_BYTES);
        if (i % 2 == 0)
            pull_put_take(&place, take);
        pull_await_taken(&place);
        pull_assert_near(&place, &message);
    }
    mgds_gstream_unclaim(in.gstream, claim);
    pull_finish(&place);
    OK(cu.cuMemFreeHost(plain));
}

static void a_record_may_tell_of_nothing(void **state)
{
    const struct pull_message message = {.bytes = 100, .posted = 200000};
    struct mgds_claim *claim = mgds_gstream_claim(in.gstream);

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct mgds_command take;

        place.serial++;
        take = pull_claimed(
            &place, pull_recorded(&place, pull_take(&place, &message)), claim);
        pull_put_take(&place, take);
        /* the serial comes last: with any other the record would be complete */
        for (unsigned k = MGDS_RECORD_SERIAL + 1; k < MGDS_RECORD_WORDS; k++)
            queue_write(&place.record[k], k + i % 3 + 1);
        queue_write(&place.record[MGDS_RECORD_FORM], i % 3 + 1);
        queue_write(&place.record[MGDS_RECORD_SOURCE], 1);
        queue_write(&place.record[MGDS_RECORD_DONE], 1);
        queue_write(&place.record[MGDS_RECORD_SERIAL], MGDS_TAKE_NONE);
        pull_await_taken(&place);
    }
    mgds_gstream_unclaim(in.gstream, claim);
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
        cmocka_unit_test(short_messages_lie_anywhere),
        cmocka_unit_test(longer_messages_lie_anywhere),
        cmocka_unit_test(many_blocks_copy_the_longest),
        cmocka_unit_test(other_sizes_may_be_posted_than_sent),
        cmocka_unit_test(a_record_may_tell_where_it_is),
        cmocka_unit_test(a_record_may_tell_of_a_ring),
        cmocka_unit_test(a_record_may_tell_of_plain_bytes),
        cmocka_unit_test(a_record_may_tell_of_nothing),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
