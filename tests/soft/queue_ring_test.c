/* PUSH and TAKE, message by message: every size and place, what is known at the
 * call and what only a record tells, nothing, and giving up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/soft/queue_ring.h"

/* One sends, one receives. */
static struct queue_stream out, in;
static struct ring_place place;

static void await_sent(void)
{
    queue_await(&place.line[RING_SENT], place.serial);
}

static void await_taken(void)
{
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 1);
}

static void put_push(const struct ring_message *message)
{
    struct mgds_command steps[] = {
        ring_push(&place, message),
        queue_flag(&place.line[RING_SENT], place.serial),
    };

    queue_put(out.gstream, steps, 2);
}

static void put_step(struct mgds_command take)
{
    struct mgds_command steps[] = {
        take,
        queue_flag(&place.line[RING_TOOK], place.serial),
    };

    queue_put(in.gstream, steps, 2);
}

static void put_take(const struct ring_message *message)
{
    put_step(ring_take(&place, message));
}

/* Units of earlier messages lie where these go. What the flags promise is
 * looked at as soon as they are there: the streams are not waited for. */
static void check(const struct ring_message *message, bool early)
{
    ring_expect(&place, message);
    if (early)
        put_take(message);
    put_push(message);
    if (!early)
        put_take(message);
    await_sent();
    ring_assert_same(place.plain, place.want_plain, RING_AREA);
    await_taken();
    ring_assert(&place);
}

static void finish_streams(void)
{
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuStreamSynchronize(in.native));
    ring_assert(&place);
}

static void short_messages_of_any_size_lie_anywhere(void **state)
{
    size_t round = 0;

    (void)state;
    for (size_t bytes = 0; bytes <= 33; bytes++) {
        for (size_t shift = 0; shift < 24; shift++, round++) {
            struct ring_message message = {
                .from = 64 + round % 1000 + shift % 8,
                .to = 1000 + shift / 3,
                .bytes = bytes,
                .posted = bytes,
                .unit = round % 7,
                .plain = 8 * (round % 50),
            };

            check(&message, round % 2);
        }
    }
    finish_streams();
}

static void longer_messages_of_any_size_lie_anywhere(void **state)
{
    static const size_t sizes[] = {63,  64,  65,   255,  256,  257,  511, 513,
                                   777, 999, 2047, 2049, 4087, 4088, 4095};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t shift = 0; shift < 9; shift++) {
            struct ring_message message = {
                .from = 512 * i % 4000 + shift,
                .to = 3000 + (shift * 5 + i) % 9,
                .bytes = sizes[i],
                .posted = sizes[i],
                .unit = (i * 9 + shift) % 80,
                .plain = 8 * (i + shift),
            };

            check(&message, shift % 2);
        }
    }
    finish_streams();
}

static void the_longest_message_is_whole(void **state)
{
    struct ring_message message = {
        .bytes = RING_MOST, .posted = RING_MOST, .unit = 3};

    (void)state;
    check(&message, false);
    message.from = message.to = 1;
    check(&message, true);
    finish_streams();
}

/* Both ways: the rest of the buffer, and of the message, stay. */
static void other_sizes_may_be_posted_than_sent(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 16, 63, 500, 4096};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    (void)state;
    for (size_t i = 0; i < (size_t)SIZES * SIZES; i++) {
        struct ring_message message = {
            .from = i % 11,
            .to = i % 13,
            .bytes = sizes[i % SIZES],
            .posted = sizes[i / SIZES],
            .unit = i % 5,
        };

        check(&message, i % 2);
    }
    finish_streams();
}

/* The take still stands after many a message on the other stream: so long that
 * one that does not wait would be through. */
static void assert_stands(void)
{
    struct ring_message other = {
        .from = 900, .to = 6000, .bytes = 100, .posted = 90, .unit = 400};
    uint64_t serial = place.serial;

    place.serial = serial << 16;
    for (int i = 0; i < 50; i++) {
        struct mgds_command steps[2];

        ring_expect(&place, &other);
        steps[0] = ring_push(&place, &other);
        steps[1] = ring_take(&place, &other);
        queue_put(out.gstream, steps, 2);
        OK(cu.cuStreamSynchronize(out.native));
        mgds_gstream_passed(out.gstream, 1);
    }
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
    assert_true(queue_read(&place.line[RING_TOOK]) < serial);
    place.serial = serial;
}

/* The first bytes of a message come, the take stands, the rest comes. */
static void check_in_two(const struct ring_message *whole, size_t split)
{
    struct ring_message first = {.from = whole->from, .bytes = split};
    struct ring_message rest = {.from = whole->from + split,
                                .bytes = whole->bytes - split,
                                .unit = split / 8};

    place.serial++;
    put_take(whole);
    put_push(&first);
    ring_expect_units(&place, &first);
    assert_stands();
    put_push(&rest);
    ring_expect_units(&place, &rest);
    ring_expect_dst(&place, whole);
    await_taken();
    ring_assert_dst(&place);
    finish_streams();
}

/* What is not there yet is an older message. */
static void a_take_waits_for_every_unit(void **state)
{
    struct ring_message old = {.from = 7, .bytes = 2000, .posted = 2000};
    struct ring_message whole = {.from = 100, .bytes = 1001, .posted = 1001};

    (void)state;
    check(&old, false);
    check_in_two(&whole, 400);
}

/* All units must have been read before their places are given again. */
static void a_take_of_less_waits_for_every_unit_too(void **state)
{
    struct ring_message whole = {.from = 10, .bytes = 800, .posted = 3};

    (void)state;
    check_in_two(&whole, 400);
}

static void a_message_without_bytes_is_waited_for(void **state)
{
    struct ring_message message = {.posted = 100, .unit = 9};

    (void)state;
    ring_expect(&place, &message);
    put_take(&message);
    assert_stands();
    put_push(&message);
    await_taken();
    finish_streams();
}

/* Serials are any numbers but two, and data may look like one. */
static void a_serial_in_the_data_is_data(void **state)
{
    const struct ring_message message = {.bytes = 64, .posted = 64};
    static const uint64_t serials[] = {1, UINT64_MAX - 1, 1ULL << 63,
                                       0x0101010101010101};
    uint64_t before = place.serial;

    (void)state;
    for (size_t i = 0; i < sizeof(serials) / sizeof(serials[0]); i++) {
        uint64_t data[8];
        struct mgds_command steps[4];

        place.serial = serials[i];
        for (int k = 0; k < 8; k++)
            data[k] = serials[i];
        memcpy(place.in, data, sizeof(data));
        OK(cu.cuMemcpy(place.src, (CUdeviceptr)(uintptr_t)data, sizeof(data)));
        OK(cu.cuStreamSynchronize(NULL));
        ring_expect_units(&place, &message);
        ring_expect_dst(&place, &message);
        queue_write(&place.line[2], 0);
        steps[0] = ring_push(&place, &message);
        steps[1] = ring_take(&place, &message);
        steps[2] = queue_flag(&place.line[2], 1);
        queue_put(in.gstream, steps, 3);
        queue_await(&place.line[2], 1);
        mgds_gstream_passed(in.gstream, 1);
        ring_assert_dst(&place);
    }
    place.serial = before;
    finish_streams();
}

/* A record may be told before the kernel looks, or while it waits for it. */
static void tell(const struct ring_message *message, uint64_t form)
{
    uint64_t units = place.units + message->unit * sizeof(struct mgds_unit);
    uint64_t plain = (uintptr_t)(place.plain + message->plain);

    ring_tell(&place, place.serial, form == MGDS_TAKE_UNITS ? units : plain,
              message->bytes, form);
}

static void check_record(const struct ring_message *message, uint64_t form,
                         bool early)
{
    struct mgds_command take;

    ring_expect(&place, message);
    take = ring_take_record(&place, message);
    put_push(message);
    if (form == MGDS_TAKE_BYTES)
        await_sent();
    if (early)
        tell(message, form);
    put_step(take);
    if (!early) {
        assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
        tell(message, form);
    }
    await_taken();
    ring_assert_dst(&place);
}

static void check_records(uint64_t form)
{
    static const size_t sizes[] = {0, 1, 8, 15, 64, 1003, 4096};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    for (size_t i = 0; i < 2 * (size_t)SIZES * SIZES; i++) {
        struct ring_message message = {
            .from = i % 9,
            .to = i % 17,
            .bytes = sizes[i % SIZES],
            .posted = sizes[i / SIZES % SIZES],
            .unit = i % 20,
            .plain = 8 * (i % 21),
        };

        check_record(&message, form, i < (size_t)SIZES * SIZES);
    }
    finish_streams();
}

static void a_record_may_tell_of_units(void **state)
{
    (void)state;
    check_records(MGDS_TAKE_UNITS);
}

static void a_record_may_tell_of_plain_bytes(void **state)
{
    (void)state;
    check_records(MGDS_TAKE_BYTES);
}

/* Plain bytes of a staged message lie at any address, and are no units: their
 * number is not looked for in them. */
static void plain_bytes_may_lie_anywhere(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 64; shift++) {
        struct ring_message message = {.from = shift / 8 + shift % 8,
                                       .to = 300 + shift / 8,
                                       .bytes = 90 + shift % 5,
                                       .posted = 4096};
        struct mgds_command take;

        place.serial++;
        take = ring_take_record(&place, &message);
        memcpy(place.plain + 100 + shift % 8, place.in + message.from,
               message.bytes);
        memcpy(place.want_plain, place.plain, RING_AREA);
        ring_expect_dst(&place, &message);
        put_step(take);
        ring_tell(&place, 1, (uintptr_t)place.plain + 100 + shift % 8,
                  message.bytes, MGDS_TAKE_BYTES);
        await_taken();
        ring_assert_dst(&place);
    }
    finish_streams();
}

static void a_record_may_tell_of_nothing(void **state)
{
    const struct ring_message message = {.posted = 4096};

    (void)state;
    for (int early = 0; early < 2; early++) {
        struct mgds_command take = ring_take_record(&place, &message);

        place.serial++;
        if (early)
            ring_tell(&place, MGDS_TAKE_NONE, 0, 4096, MGDS_TAKE_BYTES);
        put_step(take);
        if (!early)
            ring_tell(&place, MGDS_TAKE_NONE, 8, 4096, MGDS_TAKE_UNITS);
        await_taken();
    }
    finish_streams();
}

/* With nothing to wait for: what is known is nothing. */
static void a_take_of_nothing_passes(void **state)
{
    struct ring_message message = {.posted = 4096};
    struct mgds_command take;

    (void)state;
    take = ring_take(&place, &message);
    take.serial = MGDS_TAKE_NONE;
    place.serial++;
    put_step(take);
    await_taken();
    finish_streams();
}

/* The flags of those that give up come as well, and no byte. */
static void takes_can_be_given_up(void **state)
{
    struct ring_message whole = {.bytes = 4000, .posted = 4000, .unit = 10};
    struct ring_message there = {
        .from = 9, .to = 40, .bytes = 100, .posted = 100, .unit = 30};
    struct queue_stream given_up;
    struct mgds_command steps[6];

    (void)state;
    queue_open(&given_up, CU_STREAM_NON_BLOCKING);
    ring_expect(&place, &there);
    put_push(&there);
    await_sent();
    steps[4] = ring_take(&place, &there);
    steps[5] = queue_flag(&place.line[RING_TOOK], place.serial + 3);
    /* a record that is never told; units of another serial */
    place.serial++;
    steps[0] = ring_take_record(&place, &whole);
    steps[1] = queue_flag(&place.line[RING_TOOK], place.serial);
    place.serial++;
    steps[2] = ring_take(&place, &whole);
    steps[3] = queue_flag(&place.line[RING_TOOK], place.serial);
    place.serial++;
    queue_put(given_up.gstream, steps, 6);
    assert_int_equal(cu.cuStreamQuery(given_up.native), CUDA_ERROR_NOT_READY);
    mgds_gstream_abort(given_up.gstream);
    queue_await(&place.line[RING_TOOK], steps[5].value);
    mgds_gstream_passed(given_up.gstream, 3);
    ring_assert_dst(&place);
    queue_close(&given_up);
    place.serial = steps[5].value;
    finish_streams();
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    ring_open(&place, &in);
    return 0;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    ring_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_messages_of_any_size_lie_anywhere),
        cmocka_unit_test(longer_messages_of_any_size_lie_anywhere),
        cmocka_unit_test(the_longest_message_is_whole),
        cmocka_unit_test(other_sizes_may_be_posted_than_sent),
        cmocka_unit_test(a_take_waits_for_every_unit),
        cmocka_unit_test(a_take_of_less_waits_for_every_unit_too),
        cmocka_unit_test(a_message_without_bytes_is_waited_for),
        cmocka_unit_test(a_serial_in_the_data_is_data),
        cmocka_unit_test(a_record_may_tell_of_units),
        cmocka_unit_test(a_record_may_tell_of_plain_bytes),
        cmocka_unit_test(plain_bytes_may_lie_anywhere),
        cmocka_unit_test(a_record_may_tell_of_nothing),
        cmocka_unit_test(a_take_of_nothing_passes),
        cmocka_unit_test(takes_can_be_given_up),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
