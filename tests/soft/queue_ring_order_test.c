/* PUSH and TAKE among other work: order on their streams, lists with other
 * steps, places that are used again and again, waits that are counted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/stream/hwqueue.h"
#include "tests/soft/queue_ring.h"

static struct queue_stream out, in;
static struct ring_place place;

enum { GATE = 2, LATER = 3, BYTES = 1000 };

static const struct ring_message message = {
    .from = 11, .to = 33, .bytes = BYTES, .posted = BYTES, .unit = 4};

static struct mgds_command sent(void)
{
    return queue_flag(&place.line[RING_SENT], place.serial);
}

static struct mgds_command took(void)
{
    return queue_flag(&place.line[RING_TOOK], place.serial);
}

static void finish_streams(void)
{
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuStreamSynchronize(in.native));
    ring_assert(&place);
}

static void upload(CUstream stream, size_t from)
{
    OK(cu.cuMemcpyAsync(place.src, (CUdeviceptr)(uintptr_t)(place.in + from),
                        RING_AREA - from, stream));
}

/* Before the push the source is something else, and behind it again. */
static void a_push_sees_what_was_queued_before_and_not_after(void **state)
{
    struct mgds_command steps[2];

    (void)state;
    queue_write(&place.line[GATE], 0);
    queue_hold(out.native, &place.line[GATE]);
    OK(cu.cuMemsetD8Async(place.src, 0xff, RING_AREA, out.native));
    upload(out.native, 0);
    ring_expect(&place, &message);
    steps[0] = ring_push(&place, &message);
    steps[1] = sent();
    queue_put(out.gstream, steps, 2);
    OK(cu.cuMemsetD8Async(place.src, 0xee, RING_AREA, out.native));
    assert_true(queue_read(&place.line[RING_SENT]) < place.serial);
    steps[0] = ring_take(&place, &message);
    steps[1] = took();
    queue_put(in.gstream, steps, 2);
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
    queue_write(&place.line[GATE], 1);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 1);
    ring_assert_dst(&place);
    upload(out.native, 0);
    finish_streams();
}

/* Another stream may write the source when the flag is there. */
static void the_source_is_free_when_a_push_has_told(void **state)
{
    struct mgds_command steps[2];

    (void)state;
    for (int i = 0; i < 50; i++) {
        ring_expect(&place, &message);
        steps[0] = ring_push(&place, &message);
        steps[1] = sent();
        queue_put(out.gstream, steps, 2);
        queue_await(&place.line[RING_SENT], place.serial);
        OK(cu.cuMemsetD8Async(place.src, 0xff, RING_AREA, in.native));
        steps[0] = ring_take(&place, &message);
        steps[1] = took();
        queue_put(in.gstream, steps, 2);
        upload(in.native, 0);
        OK(cu.cuStreamSynchronize(in.native));
        mgds_gstream_passed(in.gstream, 1);
        ring_assert(&place);
    }
    finish_streams();
}

/* What is queued behind a take has the message, what is before it not. */
static void work_around_a_take_keeps_its_order(void **state)
{
    unsigned char got[BYTES];
    struct mgds_command steps[2];
    CUdeviceptr before, behind, dst = place.dst + message.to;

    (void)state;
    OK(cu.cuMemAlloc_v2(&before, BYTES));
    OK(cu.cuMemAlloc_v2(&behind, BYTES));
    ring_expect(&place, &message);
    OK(cu.cuMemsetD8Async(dst, 0xab, BYTES, in.native));
    OK(cu.cuMemcpyAsync(before, dst, BYTES, in.native));
    steps[0] = ring_take(&place, &message);
    steps[1] = took();
    queue_put(in.gstream, steps, 2);
    OK(cu.cuMemcpyAsync(behind, dst, BYTES, in.native));
    OK(cu.cuMemsetD8Async(dst, 0xcd, BYTES, in.native));
    steps[0] = ring_push(&place, &message);
    queue_put(out.gstream, steps, 1);
    OK(cu.cuStreamSynchronize(in.native));
    mgds_gstream_passed(in.gstream, 1);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, behind, BYTES));
    assert_memory_equal(got, place.in + message.from, BYTES);
    memset(place.want + message.to, 0xcd, BYTES);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, before, BYTES));
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(got[i], 0xab);
    OK(cu.cuMemFree_v2(before));
    OK(cu.cuMemFree_v2(behind));
    finish_streams();
}

/* Launches and batches of memory operations. */
static uint64_t driver_calls(void)
{
    return mgds_stats_value(MGDS_STAT_queue_launches) +
           mgds_stats_value(MGDS_STAT_queue_batches);
}

static void a_flag_goes_with_what_it_is_behind(void **state)
{
    uint64_t calls = mgds_gstream_has_kernels(in.gstream) ? 1 : 2;
    uint64_t before = driver_calls();
    struct mgds_command steps[4];

    (void)state;
    ring_expect(&place, &message);
    steps[0] = ring_push(&place, &message);
    steps[1] = sent();
    steps[2] = ring_take(&place, &message);
    steps[3] = took();
    queue_put(in.gstream, steps, 4);
    assert_int_equal(driver_calls() - before, calls);
    queue_await(&place.line[RING_SENT], place.serial);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 1);
    finish_streams();
}

/* Each flag comes in its place. The wait passes by that of the push before. */
static void lists_may_mix_all_steps(void **state)
{
    const struct ring_message second = {
        .from = 4000, .to = 5000, .bytes = 64, .posted = 100, .unit = 300};
    struct mgds_command steps[9];

    (void)state;
    queue_write(&place.line[LATER], 0);
    ring_expect(&place, &message);
    steps[0] = queue_flag(&place.line[LATER], 1);
    steps[1] = ring_push(&place, &message);
    steps[2] = queue_flag(&place.line[LATER], 2);
    steps[3] = queue_flag(&place.line[RING_SENT], place.serial);
    steps[4] = queue_wait(&place.line[LATER], 2);
    steps[5] = ring_take(&place, &message);
    ring_expect(&place, &second);
    steps[6] = ring_push(&place, &second);
    steps[7] = ring_take(&place, &second);
    steps[8] = queue_flag(&place.line[RING_TOOK], place.serial);
    queue_put(in.gstream, steps, 9);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 3);
    assert_int_equal(queue_read(&place.line[LATER]), 2);
    assert_int_equal(queue_read(&place.line[RING_SENT]), place.serial - 1);
    finish_streams();
}

/* A flag ahead of a take comes while the take stands: what was before it is
 * there for who sees it. */
static void a_flag_ahead_of_a_take_tells_what_was_before(void **state)
{
    struct mgds_layout *layout = stage_bytes_of(BYTES);
    struct mgds_buffer buffer = stage_buffer_at(place.src, layout, 1);
    struct mgds_bounce *bounce;
    struct mgds_command steps[4];
    uint64_t before;

    (void)state;
    assert_int_equal(mgds_gstream_bounce(&bounce, in.gstream, &buffer), 0);
    for (uint64_t i = 1; i <= 50; i++) {
        ring_expect(&place, &message);
        memset(mgds_bounce_base(bounce), 0xff, BYTES);
        queue_write(&place.line[LATER], 0);
        before = driver_calls();
        steps[0] = queue_pack(bounce);
        steps[1] = queue_flag(&place.line[LATER], i);
        steps[2] = ring_take(&place, &message);
        steps[3] = took();
        queue_put(in.gstream, steps, 4);
        assert_int_equal(driver_calls() - before, 3);
        queue_await(&place.line[LATER], i);
        assert_int_equal(queue_read(&place.line[LATER]), i);
        ring_assert_same(mgds_bounce_base(bounce), place.in, BYTES);
        assert_true(queue_read(&place.line[RING_TOOK]) < place.serial);
        steps[0] = ring_push(&place, &message);
        steps[1] = sent();
        queue_put(out.gstream, steps, 2);
        queue_await(&place.line[RING_TOOK], place.serial);
        queue_await(&place.line[RING_SENT], place.serial);
        mgds_gstream_passed(in.gstream, 1);
        ring_assert(&place);
    }
    mgds_bounce_destroy(bounce);
    mgds_layout_put(layout);
    finish_streams();
}

/* Of a flag between two takes each is told once, whichever it goes with. */
static void flags_between_takes_come_once_and_in_order(void **state)
{
    const struct ring_message second = {
        .from = 4000, .to = 5000, .bytes = 64, .posted = 100, .unit = 300};
    struct mgds_command steps[6], push[2];

    (void)state;
    queue_write(&place.line[GATE], 0);
    queue_write(&place.line[LATER], 0);
    steps[0] = queue_flag(&place.line[GATE], 1);
    ring_expect(&place, &message);
    steps[1] = ring_take(&place, &message);
    push[0] = ring_push(&place, &message);
    steps[2] = queue_flag(&place.line[GATE], 2);
    steps[3] = queue_flag(&place.line[LATER], 1);
    ring_expect(&place, &second);
    steps[4] = ring_take(&place, &second);
    push[1] = ring_push(&place, &second);
    steps[5] = took();
    queue_put(in.gstream, steps, 6);
    queue_await(&place.line[GATE], 1);
    assert_int_equal(queue_read(&place.line[GATE]), 1);
    assert_int_equal(queue_read(&place.line[LATER]), 0);
    queue_put(out.gstream, &push[0], 1);
    queue_await(&place.line[LATER], 1);
    assert_int_equal(queue_read(&place.line[GATE]), 2);
    assert_true(queue_read(&place.line[RING_TOOK]) < place.serial);
    queue_put(out.gstream, &push[1], 1);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 2);
    finish_streams();
}

/* A quiet flag ahead of a take comes if the take must wait for its record, and
 * only then. */
static void a_quiet_flag_ahead_calls_for_the_record(void **state)
{
    struct mgds_command steps[3], push;

    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        bool early = i % 2;

        queue_write(&place.line[LATER], 0);
        ring_expect(&place, &message);
        push = ring_push(&place, &message);
        steps[0] = queue_flag(&place.line[LATER], i);
        steps[0].quiet = true;
        steps[1] = ring_take_record(&place, &message);
        steps[2] = took();
        if (early)
            ring_tell_units(&place, &push);
        queue_put(in.gstream, steps, 3);
        if (!early)
            queue_await(&place.line[LATER], i);
        ring_tell_units(&place, &push);
        queue_put(out.gstream, &push, 1);
        queue_await(&place.line[RING_TOOK], place.serial);
        assert_int_equal(queue_read(&place.line[LATER]), early ? 0 : i);
        mgds_gstream_passed(in.gstream, 1);
        finish_streams();
    }
}

static void ask(uint64_t number)
{
    assert_int_equal(mgds_gstream_tell(in.gstream, &place.line[GATE],
                                       &place.line[LATER], number),
                     0);
    queue_await(&place.line[LATER], number);
}

/* A quiet flag behind a take is not stored, but can be asked for. */
static void a_quiet_flag_behind_is_told_when_asked(void **state)
{
    bool kernels = mgds_gstream_has_kernels(in.gstream);
    struct mgds_command steps[2], push;

    (void)state;
    assert_int_equal(mgds_gstream_can_be_quiet(in.gstream), kernels);
    queue_write(&place.line[LATER], 0); /* others have left larger ones */
    for (uint64_t i = 1; i <= 20 && kernels; i++) {
        uint64_t before = queue_read(&place.line[RING_TOOK]);

        queue_write(&place.line[GATE], 0);
        ring_expect(&place, &message);
        steps[0] = ring_take(&place, &message);
        steps[1] = took();
        steps[1].quiet = true;
        push = ring_push(&place, &message);
        queue_put(in.gstream, steps, 2);
        ask(2 * i);
        assert_true(queue_read(&place.line[GATE]) < place.serial);
        queue_put(out.gstream, &push, 1);
        finish_streams();
        ask(2 * i + 1);
        assert_int_equal(queue_read(&place.line[GATE]), place.serial);
        assert_int_equal(queue_read(&place.line[RING_TOOK]), before);
        mgds_gstream_passed(in.gstream, 1);
    }
}

/* What the program freed is left out, what comes after it is not: a take whose
 * memory is gone throws its message away. */
static void freed_memory_is_left_out(void **state)
{
    struct queue_freed freed;
    struct mgds_command steps[5];

    (void)state;
    queue_freed_open(&freed, in.gstream, BYTES);
    ring_expect(&place, &message);
    steps[0] = queue_unpack(freed.bounce, NULL);
    steps[1] = ring_push(&place, &message);
    steps[2] = ring_take(&place, &message);
    queue_freed_take(&freed, &steps[2]);
    steps[3] = ring_take(&place, &message);
    steps[4] = took();
    assert_int_equal(
        mgds_gstream_put(in.gstream, mgds_gstream_ticket(in.gstream), steps, 5),
        -EFAULT);
    assert_false(steps[0].put);
    assert_true(steps[1].put && steps[2].put && steps[3].put && steps[4].put);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, 2);
    queue_freed_close(&freed);
    finish_streams();
}

/* A take stands as a wait does, until it is reported; one that was never put
 * does not. */
static void takes_are_counted_as_waits(void **state)
{
    struct queue_freed freed;
    struct mgds_command steps[4];
    struct queue_stream stream;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    queue_freed_open(&freed, stream.gstream, BYTES);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    ring_expect(&place, &message);
    steps[0] = ring_take(&place, &message);
    steps[1] = took();
    steps[2] = queue_pack(freed.bounce);
    steps[3] = ring_take(&place, &message);
    assert_int_equal(mgds_gstream_put(stream.gstream,
                                      mgds_gstream_ticket(stream.gstream),
                                      steps, 4),
                     -EFAULT);
    assert_true(steps[0].put && steps[1].put);
    assert_false(steps[2].put || steps[3].put);
    assert_int_equal(mgds_hwqueue_count(0), 1);
    steps[0] = ring_push(&place, &message);
    queue_put(out.gstream, steps, 1);
    queue_await(&place.line[RING_TOOK], place.serial);
    mgds_gstream_passed(stream.gstream, 1);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    queue_freed_close(&freed);
    queue_close(&stream);
    finish_streams();
}

static void kernels_are_for_streams_that_may_wait_by_them(void **state)
{
    (void)state;
    assert_int_equal(mgds_gstream_has_kernels(in.gstream),
                     mgds_ctx()->config.trigger != MGDS_TRIGGER_MEMOP);
}

/* Many messages of a few senders, one receiver. Each sender's region is so
 * small that places are used again at once. Every other message is waited for
 * before it is sent. */
enum { SENDERS = 3, ROUNDS = 300, REGION = 30, SLOT = 128, SLOTS = 900 };

struct sender {
    struct queue_stream stream;
    CUdeviceptr units;
    uint64_t out[ROUNDS]; /* when it is taken its place is free */
    size_t size[ROUNDS], at[ROUNDS];
    size_t oldest, next, end; /* end: of the place that went last */
};

struct flow {
    CUdeviceptr src, dst, units;
    unsigned char *in, *want;
    uint64_t *line;
    uint64_t messages;
    struct sender sender[SENDERS];
};

static void open_flow(struct flow *flow)
{
    size_t bytes = (size_t)SLOT * SLOTS;

    *flow = (struct flow){.line = queue_take(in.gstream)};
    flow->in = (unsigned char *)malloc(bytes);
    flow->want = (unsigned char *)malloc(bytes);
    assert_true(flow->in && flow->want);
    for (size_t i = 0; i < bytes; i++)
        flow->in[i] = (unsigned char)((i * 2654435761U) >> 24 & 0x7f);
    memset(flow->want, 0xa5, bytes);
    OK(cu.cuMemAlloc_v2(&flow->src, bytes));
    OK(cu.cuMemAlloc_v2(&flow->dst, bytes));
    OK(cu.cuMemAlloc_v2(&flow->units, 16ULL * REGION * SENDERS));
    OK(cu.cuMemcpy(flow->src, (CUdeviceptr)(uintptr_t)flow->in, bytes));
    OK(cu.cuMemsetD8_v2(flow->dst, 0xa5, bytes));
    OK(cu.cuMemsetD8_v2(flow->units, 0, 16ULL * REGION * SENDERS));
    OK(cu.cuStreamSynchronize(NULL));
    for (unsigned i = 0; i < SENDERS; i++) {
        queue_open(&flow->sender[i].stream, CU_STREAM_NON_BLOCKING);
        flow->sender[i].units = flow->units + 16ULL * REGION * i;
    }
}

static void close_flow(struct flow *flow)
{
    size_t bytes = (size_t)SLOT * SLOTS;
    unsigned char *got = (unsigned char *)malloc(bytes);

    assert_non_null(got);
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, flow->dst, bytes));
    assert_memory_equal(got, flow->want, bytes);
    free(got);
    for (unsigned i = 0; i < SENDERS; i++)
        queue_close(&flow->sender[i].stream);
    OK(cu.cuStreamSynchronize(in.native));
    queue_give(in.gstream, flow->line);
    OK(cu.cuMemFree_v2(flow->src));
    OK(cu.cuMemFree_v2(flow->dst));
    OK(cu.cuMemFree_v2(flow->units));
    free(flow->in);
    free(flow->want);
}

static bool fits(const struct sender *sender, size_t units)
{
    size_t oldest = sender->at[sender->oldest];

    if (sender->oldest == sender->next)
        return true;
    if (sender->end > oldest)
        return units <= REGION - sender->end || units <= oldest;
    return units <= oldest - sender->end;
}

/* A place behind the last one or at the beginning; when the region is full it
 * waits until enough of the oldest messages are taken. */
static size_t take_place(const struct flow *flow, struct sender *sender,
                         size_t units)
{
    size_t at;

    while (!fits(sender, units))
        queue_await(flow->line, sender->out[sender->oldest++]);
    at = sender->end;
    if (sender->oldest == sender->next || at + units > REGION)
        at = 0;
    sender->end = at + units;
    return at;
}

static void put_one(struct queue_stream *stream, struct mgds_command first,
                    uint64_t *word, uint64_t value)
{
    struct mgds_command steps[] = {first, queue_flag(word, value)};

    queue_put(stream->gstream, steps, word ? 2 : 1);
}

static void send_one(struct flow *flow, struct sender *sender)
{
    uint64_t number = ++flow->messages;
    size_t bytes = number * 37 % (SLOT - 8), shift = number % 9;
    size_t offset = (number - 1) * SLOT;
    size_t at = take_place(flow, sender, ring_units_of(bytes));
    void *units = (void *)(uintptr_t)(sender->units + 16 * at);
    struct mgds_command push = {.kind = MGDS_COMMAND_PUSH,
                                .user = (char *)(flow->src + offset),
                                .bytes = bytes,
                                .units = units,
                                .serial = number};
    struct mgds_command take = {.kind = MGDS_COMMAND_TAKE,
                                .user = (char *)(flow->dst + offset + shift),
                                .bytes = SLOT - shift,
                                .length = bytes,
                                .units = units,
                                .serial = number};

    memcpy(flow->want + offset + shift, flow->in + offset, bytes);
    sender->at[sender->next] = at;
    sender->out[sender->next++] = number;
    if (number % 2)
        put_one(&in, take, flow->line, number);
    put_one(&sender->stream, push, NULL, 0);
    if (number % 2 == 0)
        put_one(&in, take, flow->line, number);
}

static void places_are_used_again_and_again(void **state)
{
    struct flow *flow = (struct flow *)malloc(sizeof(*flow));

    (void)state;
    assert_non_null(flow);
    open_flow(flow);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < SENDERS; i++)
            send_one(flow, &flow->sender[(round + i) % SENDERS]);
    queue_await(flow->line, flow->messages);
    mgds_gstream_passed(in.gstream, (unsigned)flow->messages);
    close_flow(flow);
    free(flow);
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
        cmocka_unit_test(a_push_sees_what_was_queued_before_and_not_after),
        cmocka_unit_test(the_source_is_free_when_a_push_has_told),
        cmocka_unit_test(work_around_a_take_keeps_its_order),
        cmocka_unit_test(a_flag_goes_with_what_it_is_behind),
        cmocka_unit_test(lists_may_mix_all_steps),
        cmocka_unit_test(a_flag_ahead_of_a_take_tells_what_was_before),
        cmocka_unit_test(flags_between_takes_come_once_and_in_order),
        cmocka_unit_test(a_quiet_flag_ahead_calls_for_the_record),
        cmocka_unit_test(a_quiet_flag_behind_is_told_when_asked),
        cmocka_unit_test(freed_memory_is_left_out),
        cmocka_unit_test(takes_are_counted_as_waits),
        cmocka_unit_test(kernels_are_for_streams_that_may_wait_by_them),
        cmocka_unit_test(places_are_used_again_and_again),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
