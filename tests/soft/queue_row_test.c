/* Long messages in a row: takes of one put, which may overlap. Each comes when
 * it comes, and what is behind the row comes behind all of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/sanitized.h"
#include "tests/soft/queue_pull.h"

enum { MOST = 8, SHARE = PULL_AREA / MOST };

/* So many at most are one launch (exchange.c); of more each joins the one ahead
 * of it. */
enum { ONE_LAUNCH = 6 };

/* How a message of the row is fetched: not at all, before the row is on the
 * stream, or while that stands at its first message. */
enum fetched { NEVER, BEFORE, MEANWHILE };

struct row {
    unsigned count;
    struct pull_message message[MOST];
    struct mgds_command known[MOST];     /* what a fetch would do */
    struct mgds_command steps[MOST + 2]; /* the takes, a flag, a post */
    unsigned order[MOST];                /* in which they come */
    unsigned number;                     /* of the row: all are different */
};

static struct queue_stream out, in;
static struct pull_place place;
static struct mgds_claim *claims[MOST];
static CUdeviceptr copied; /* what a stream finds behind its row */
static uint64_t first;     /* the serial of the row's first message */

static const size_t sizes[] = {70001, 16,     200000, 1,
                               4096,  131072, 250000, 99999};

static struct pull_message message_of(unsigned number, unsigned i)
{
    size_t bytes = sizes[(number + i) % MOST];

    return (struct pull_message){
        .from = (size_t)7919 * ((number + 3 * i) % 100) + i,
        .to = (size_t)SHARE * i + number % 16,
        .bytes = bytes,
        .posted = (number + i) % 5 ? bytes : bytes / 2 + 1,
        .unit = (number * MOST + i) % PULL_UNITS};
}

/* Every byte of the buffer is the stream's own until the row; the last of the
 * messages may be told of by a record. */
static void expect(struct row *row)
{
    int plain = 0x80 | (int)(row->number % 128);
    bool recorded = row->number % 3 == 0;

    memset(place.want, plain, PULL_AREA);
    OK(cu.cuMemsetD8Async(place.dst, (unsigned char)plain, PULL_AREA,
                          in.native));
    first = place.serial + 1;
    for (unsigned i = 0; i < row->count; i++) {
        row->message[i] = message_of(row->number, i);
        pull_expect(&place, &row->message[i]);
        row->known[i] = pull_claimed(
            &place, pull_take(&place, &row->message[i]), claims[i]);
        row->steps[i] = row->known[i];
    }
    if (recorded)
        row->steps[row->count - 1] =
            pull_recorded(&place, row->known[row->count - 1]);
}

/* A record tells of a message that comes, or came. */
static void post(const struct row *row, unsigned i)
{
    uint64_t last = place.serial;

    place.serial = first + i;
    pull_put_post(&place, &row->message[i]);
    place.serial = last;
    if (row->steps[i].record)
        pull_tell(&place, &row->known[i], row->number % 8);
}

/* It comes in front of all others. */
static void fetch(struct row *row, unsigned i)
{
    unsigned at = 0;

    post(row, i);
    OK(cu.cuStreamSynchronize(out.native));
    assert_int_equal(mgds_gstream_fetch(in.gstream, &row->known[i],
                                        &place.line[PULL_FETCHED], first + i),
                     0);
    queue_await(&place.line[PULL_FETCHED], first + i);
    while (row->order[at] != i)
        at++;
    memmove(&row->order[1], &row->order[0], at * sizeof(row->order[0]));
    row->order[0] = i;
}

/* Behind it are a flag, a kernel and a copy. */
static void put(struct row *row)
{
    struct mgds_command *behind = &row->steps[row->count];
    const struct pull_message last = {.unit = PULL_UNITS - 1};

    behind[0] = queue_flag(&place.line[PULL_TOOK], place.serial);
    behind[1] = pull_post(&place, &last);
    queue_put(in.gstream, row->steps, row->count + 2);
    OK(cu.cuMemcpyAsync(copied, place.dst, PULL_AREA, in.native));
    for (unsigned i = 0; i < row->count; i++)
        assert_int_equal(row->steps[i].joins, i > 0 && row->count > ONE_LAUNCH);
}

static void assert_stands(void)
{
    CUdeviceptr word = place.units +
                       (PULL_UNITS - 1) * sizeof(struct mgds_unit) +
                       offsetof(struct mgds_unit, word);

    pull_let_time_pass(&place, &out);
    assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
    assert_true(queue_get(word) < place.serial);
    assert_int_equal(cu.cuStreamQuery(in.native), CUDA_ERROR_NOT_READY);
}

/* The sender is told of each, and may write there then. */
static void put_overwrite(const struct row *row)
{
    struct mgds_command steps[MOST + 1];

    for (unsigned i = 0; i < row->count; i++) {
        steps[i] = pull_await(&place, &row->message[i]);
        steps[i].value = first + i;
    }
    steps[row->count] = queue_flag(&place.line[PULL_READ], place.serial);
    queue_put(out.gstream, steps, row->count + 1);
    OK(cu.cuMemsetD8Async(place.src, 0xee, PULL_AREA, out.native));
}

static void assert_all(const struct row *row)
{
    static unsigned char got[PULL_AREA];

    queue_await(&place.line[PULL_TOOK], place.serial);
    mgds_gstream_passed(in.gstream, row->count);
    pull_assert(&place);
    OK(cu.cuStreamSynchronize(in.native));
    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, copied, PULL_AREA));
    OK(cu.cuStreamSynchronize(NULL));
    assert_memory_equal(got, place.want, PULL_AREA);
    for (unsigned i = 0; i < row->count; i++) {
        CUdeviceptr claim = (CUdeviceptr)(uintptr_t)claims[i];

        assert_int_equal(pull_done(&place, &row->message[i]), first + i);
        assert_int_equal(queue_get(claim), row->known[i].gen);
        assert_int_equal(queue_get(claim + 8), row->known[i].gen);
    }
}

static void restore(const struct row *row)
{
    queue_await(&place.line[PULL_READ], place.serial);
    mgds_gstream_passed(out.gstream, row->count);
    OK(cu.cuStreamSynchronize(out.native));
    OK(cu.cuMemcpy(place.src, (CUdeviceptr)(uintptr_t)place.sent, PULL_AREA));
    OK(cu.cuStreamSynchronize(NULL));
}

/* All come but the one that is the last: nothing behind the row does. */
static void check(struct row *row, enum fetched how)
{
    unsigned which = 1 + row->number % (row->count - 1), i = how != NEVER;

    expect(row);
    /* a fetch is ordered behind nothing in the stream */
    if (how != NEVER)
        OK(cu.cuStreamSynchronize(in.native));
    if (how == BEFORE)
        fetch(row, row->number % row->count);
    put(row);
    if (how == MEANWHILE)
        fetch(row, which);
    for (; i + 1 < row->count; i++)
        post(row, row->order[i]);
    if (row->number % 4 == 0)
        assert_stands();
    post(row, row->order[i]);
    put_overwrite(row);
    assert_all(row);
    restore(row);
}

static unsigned next_random(unsigned below)
{
    static uint32_t x = 99;

    x = x * 1664525 + 1013904223;
    return (x >> 16) % below;
}

/* The permutation of that number; there are count! of them. */
static void order_of(struct row *row, unsigned number)
{
    for (unsigned i = 0; i < row->count; i++)
        row->order[i] = i;
    for (unsigned left = row->count; left > 1; left--) {
        unsigned k = number % left, swapped = row->order[k];

        number /= left;
        row->order[k] = row->order[left - 1];
        row->order[left - 1] = swapped;
    }
}

static unsigned permutations(unsigned count)
{
    return count < 2 ? 1 : count * permutations(count - 1);
}

/* Every order of few, and some of more. */
static void check_orders(enum fetched how)
{
    static unsigned number;

    for (unsigned count = 2; count <= MOST; count++) {
        unsigned all = permutations(count), most = mgds_test_laps(24);
        unsigned laps = all < most ? all : most;

        for (unsigned lap = 0; lap < laps; lap++) {
            struct row row = {.count = count, .number = ++number};

            order_of(&row, laps == all ? lap : next_random(all));
            check(&row, how);
        }
    }
    pull_finish(&place);
}

static void messages_of_a_row_come_in_any_order(void **state)
{
    (void)state;
    check_orders(NEVER);
}

static void one_of_a_row_may_have_been_fetched(void **state)
{
    (void)state;
    check_orders(BEFORE);
}

static void one_of_a_row_may_be_fetched_while_it_stands(void **state)
{
    (void)state;
    check_orders(MEANWHILE);
}

/* What is not such a take ends a row, and so does a put. */
static void only_neighbours_of_one_put_join(void **state)
{
    enum { ROWS = 3, EACH_ROW = ONE_LAUNCH + 1, ALL = ROWS * EACH_ROW };
    struct pull_message message[ALL];
    struct mgds_command steps[ALL + ROWS];
    unsigned count = 0;

    (void)state;
    for (unsigned lap = 0; lap < 4; lap++, count = 0) {
        for (unsigned i = 0; i < ALL; i++) {
            message[i] = (struct pull_message){.from = 31 * (size_t)i + lap,
                                               .to = 40000 * (size_t)i,
                                               .bytes = 30000 + i,
                                               .posted = 30000,
                                               .unit = i};
            pull_expect(&place, &message[i]);
            pull_put_post(&place, &message[i]);
            if (i == EACH_ROW)
                steps[count++] = queue_flag(&place.line[PULL_GATE], lap + 1);
            if (i == 2 * EACH_ROW)
                steps[count++] = pull_post(&place, &message[2]);
            steps[count++] = pull_take(&place, &message[i]);
        }
        steps[count++] = queue_flag(&place.line[PULL_TOOK], place.serial);
        queue_put(in.gstream, steps, count);
        for (unsigned k = 0, i = 0; k < count; k++)
            if (steps[k].kind == MGDS_COMMAND_TAKE)
                assert_int_equal(steps[k].joins, i++ % EACH_ROW > 0);
        queue_await(&place.line[PULL_TOOK], place.serial);
        mgds_gstream_passed(in.gstream, ALL);
        pull_assert(&place);
    }
    pull_finish(&place);
}

/* The flag comes as well when one of the row never does. */
static void a_row_can_be_given_up(void **state)
{
    for (unsigned lost = 0; lost < 4; lost++) {
        struct queue_stream given_up;
        struct mgds_command steps[5];

        (void)state;
        queue_open(&given_up, CU_STREAM_NON_BLOCKING);
        for (unsigned i = 0; i < 4; i++) {
            struct pull_message message = message_of(lost, i);

            message.unit = 500 + 4 * lost + i;
            place.serial++;
            if (i < lost)
                pull_put_post(&place, &message);
            steps[i] = pull_take(&place, &message);
        }
        steps[4] = queue_flag(&place.line[PULL_TOOK], place.serial);
        queue_put(given_up.gstream, steps, 5);
        pull_let_time_pass(&place, &out);
        assert_int_equal(cu.cuStreamQuery(given_up.native),
                         CUDA_ERROR_NOT_READY);
        assert_true(queue_read(&place.line[PULL_TOOK]) < place.serial);
        mgds_gstream_abort(given_up.gstream);
        queue_await(&place.line[PULL_TOOK], place.serial);
        mgds_gstream_passed(given_up.gstream, 4);
        queue_close(&given_up);
    }
}

/* Fetches of several messages, by several threads, while the stream takes the
 * same ones in its order. */
enum { THREADS = 3, EACH = 20, MESSAGES = THREADS * EACH, SLOT = 30000 };

struct fetcher {
    pthread_t thread;
    const struct mgds_command *take; /* EACH of them, THREADS apart */
    uint64_t *line;
    int rc;
};

static void *fetch_all(void *arg)
{
    struct fetcher *fetcher = (struct fetcher *)arg;

    for (unsigned i = 0; i < EACH && fetcher->rc == 0; i++)
        fetcher->rc =
            mgds_gstream_fetch(in.gstream, fetcher->take + (size_t)THREADS * i,
                               fetcher->line, i + 1);
    return NULL;
}

static void put_posts(const struct pull_message *message, uint64_t serial)
{
    for (unsigned i = 0; i < MESSAGES; i++) {
        place.serial = serial + i;
        pull_put_post(&place, &message[i]);
    }
    queue_await(&place.line[PULL_SENT], place.serial);
}

static void many_threads_may_fetch(void **state)
{
    struct mgds_command take[MESSAGES];
    struct pull_message message[MESSAGES];
    struct mgds_claim *own[MESSAGES];
    struct fetcher fetcher[THREADS];

    (void)state;
    queue_claim(in.gstream, own, MESSAGES);
    for (unsigned i = 0; i < MESSAGES; i++) {
        message[i] = (struct pull_message){.from = 3001 * (size_t)i,
                                           .to = SLOT * (size_t)i + i % 16,
                                           .bytes = SLOT - i % 32,
                                           .posted = SLOT - 100,
                                           .unit = i};
        pull_expect(&place, &message[i]);
        take[i] = pull_claimed(&place, pull_take(&place, &message[i]), own[i]);
    }
    put_posts(message, place.serial - MESSAGES + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        fetcher[i] =
            (struct fetcher){.take = take + i, .line = queue_take(in.gstream)};
        assert_int_equal(
            pthread_create(&fetcher[i].thread, NULL, fetch_all, &fetcher[i]),
            0);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        pull_put_take(&place, take[i]);
    pull_await_taken(&place);
    mgds_gstream_passed(in.gstream, MESSAGES - 1);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(fetcher[i].thread, NULL);
        assert_int_equal(fetcher[i].rc, 0);
        queue_await(fetcher[i].line, EACH);
        queue_give(in.gstream, fetcher[i].line);
    }
    queue_unclaim(in.gstream, own, MESSAGES);
    pull_finish(&place);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    pull_open(&place, &out, &in);
    OK(cu.cuMemAlloc_v2(&copied, PULL_AREA));
    queue_claim(in.gstream, claims, MOST);
    return 0;
}

static int finish(void **state)
{
    queue_quit_pair(&out, &in);
    queue_unclaim(in.gstream, claims, MOST);
    OK(cu.cuMemFree_v2(copied));
    pull_close(&place);
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_a_row_come_in_any_order),
        cmocka_unit_test(one_of_a_row_may_have_been_fetched),
        cmocka_unit_test(one_of_a_row_may_be_fetched_while_it_stands),
        cmocka_unit_test(only_neighbours_of_one_put_join),
        cmocka_unit_test(many_threads_may_fetch),
        cmocka_unit_test(a_row_can_be_given_up),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
