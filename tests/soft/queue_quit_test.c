/* What a stream gives up of all that a kernel on it waits for, one message by
 * one: no other one, and none that is there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/stream/quits.h"
#include "tests/soft/queue_pull.h"

/* Messages of one list at most. */
enum { MANY = 20, SHORT = 8 };

static struct queue_stream out, in;
static struct mgds_claim *claim;
static CUdeviceptr spot; /* a unit for each, then a word to read and one to
                            write for each */
static uint64_t *words, *record;
static uint64_t serial, gen;

/* One thing less that the stream waits for. */
static struct mgds_quit *quit_of(uint64_t at, uint64_t value)
{
    return mgds_quits_name(mgds_gstream_quits(in.gstream),
                           mgds_gstream_words(in.gstream), at, value);
}

static void forget(struct mgds_quit *quit)
{
    mgds_quits_forget(mgds_gstream_quits(in.gstream), quit);
}

struct kind {
    struct mgds_command (*step)(unsigned i);
    unsigned count;
    bool takes;
};

static CUdeviceptr unit_at(unsigned i)
{
    return spot + i * sizeof(struct mgds_unit);
}

static CUdeviceptr word_at(unsigned i)
{
    return unit_at(i) + offsetof(struct mgds_unit, word);
}

static CUdeviceptr source_at(unsigned i)
{
    return unit_at(MANY) + (size_t)SHORT * i;
}

static CUdeviceptr user_at(unsigned i)
{
    return source_at(MANY + i);
}

static struct mgds_command short_take(unsigned i)
{
    return (struct mgds_command){.kind = MGDS_COMMAND_TAKE,
                                 .user = (char *)(uintptr_t)user_at(i),
                                 .bytes = SHORT,
                                 .units = (void *)(uintptr_t)unit_at(i),
                                 .serial = serial,
                                 .length = SHORT};
}

static void tell(uint64_t address)
{
    queue_write(&record[MGDS_RECORD_ADDRESS], address);
    queue_write(&record[MGDS_RECORD_LENGTH], SHORT + 1);
    queue_write(&record[MGDS_RECORD_FORM], MGDS_TAKE_UNITS + 1);
    queue_write(&record[MGDS_RECORD_SERIAL], serial);
}

static struct mgds_command recorded_take(unsigned i)
{
    struct mgds_command step = short_take(i);

    tell(unit_at(i));
    step.units = NULL;
    step.serial = 0;
    step.length = 0;
    step.record = record;
    return step;
}

static struct mgds_command long_take(unsigned i)
{
    struct mgds_command step = short_take(i);

    step.source = source_at(i);
    return step;
}

static struct mgds_command claimed_take(unsigned i)
{
    struct mgds_command step = long_take(i);

    step.claim = claim;
    step.gen = ++gen;
    return step;
}

static struct mgds_command await_one(unsigned i)
{
    return (struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                 .word = (uint64_t *)(uintptr_t)word_at(i),
                                 .value = serial};
}

static const struct kind kinds[] = {
    {short_take, 1, true},    {recorded_take, 1, true}, {short_take, 3, true},
    {short_take, MANY, true}, {long_take, 1, true},     {long_take, 3, true},
    {claimed_take, 1, true},  {await_one, 1, false},    {await_one, 3, false},
    {await_one, MANY, false},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Data of the message with this serial, in both places that it may come from;
 * what is taken is visible by the words of the user's. */
static uint64_t data_of(unsigned i)
{
    return 1000 * serial + i;
}

static void put(const struct kind *kind)
{
    struct mgds_command steps[MANY + 1];

    serial++;
    OK(cu.cuMemsetD8_v2(user_at(0), 0, (size_t)SHORT * MANY));
    OK(cu.cuStreamSynchronize(NULL));
    for (unsigned i = 0; i < kind->count; i++) {
        pull_set(&out, unit_at(i), data_of(i));
        pull_set(&out, source_at(i), data_of(i));
        steps[i] = kind->step(i);
    }
    steps[kind->count] = queue_flag(&words[0], serial);
    queue_put(in.gstream, steps, kind->count + 1);
}

/* Where a kernel of the kind looks. */
static uint64_t at(const struct kind *kind, unsigned i)
{
    return kind->takes ? unit_at(i) : word_at(i);
}

static void expect(const struct kind *kind, unsigned i, bool taken)
{
    if (kind->takes)
        assert_int_equal(queue_get(user_at(i)), taken ? data_of(i) : 0);
}

static void come(unsigned i)
{
    pull_set(&out, word_at(i), serial);
}

static void end(const struct kind *kind)
{
    queue_await(&words[0], serial);
    OK(cu.cuStreamSynchronize(in.native));
    mgds_gstream_passed(in.gstream, kind->count);
}

/* One is given up before the kernel is there, or while it stands; all others
 * come later. */
static void check(const struct kind *kind, unsigned which, bool before)
{
    struct mgds_quit *quit, *other;

    if (before) {
        queue_hold(in.native, &words[1]);
        queue_write(&words[1], 0);
    }
    put(kind);
    /* of another serial: nobody's */
    other = quit_of(at(kind, which), serial + 1);
    quit = quit_of(at(kind, which), serial);
    assert_non_null(other);
    assert_non_null(quit);
    queue_write(&words[1], 1);
    /* the host's threads come to one after the other */
    if (which == 0)
        queue_await(&quit->gone, serial);
    for (unsigned i = 0; i < kind->count; i++) {
        assert_true(i == which || queue_read(&words[0]) < serial);
        if (i != which)
            come(i);
    }
    end(kind);
    assert_true(mgds_quit_is_gone(quit));
    assert_false(mgds_quit_is_gone(other));
    forget(quit);
    forget(other);
    for (unsigned i = 0; i < kind->count; i++)
        expect(kind, i, i != which);
}

static void one_is_given_up_and_no_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned before = 0; before < 2; before++) {
            check(&kinds[i], 0, before);
            check(&kinds[i], kinds[i].count - 1, before);
        }
}

static void what_is_there_is_taken(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        const struct kind *kind = &kinds[i];
        struct mgds_quit *quit;

        queue_write(&words[1], 0);
        queue_hold(in.native, &words[1]);
        put(kind);
        quit = quit_of(at(kind, 0), serial);
        assert_non_null(quit);
        for (unsigned k = 0; k < kind->count; k++)
            come(k);
        queue_write(&words[1], 1);
        end(kind);
        assert_false(mgds_quit_is_gone(quit));
        forget(quit);
        for (unsigned k = 0; k < kind->count; k++)
            expect(kind, k, true);
    }
}

/* Each of a list; what is over is used again. */
static void all_are_given_up(void **state)
{
    struct mgds_quit *quit[MANY], *first[MANY];

    (void)state;
    for (unsigned lap = 0; lap < 3; lap++) {
        const struct kind *kind = &kinds[3];

        put(kind);
        for (unsigned i = 0; i < MANY; i++)
            quit[i] = quit_of(at(kind, i), serial);
        end(kind);
        for (unsigned i = 0; i < MANY; i++) {
            assert_true(mgds_quit_is_gone(quit[i]));
            forget(quit[i]);
            expect(kind, i, false);
            if (lap == 0)
                first[i] = quit[i];
            assert_ptr_equal(quit[i], first[i]);
        }
    }
}

static void a_wait_for_the_cpu_is_none(void **state)
{
    struct mgds_command steps[2];
    struct mgds_quit *quit;

    (void)state;
    serial++;
    queue_write(&words[1], 0);
    steps[0] = queue_wait(&words[1], 1);
    steps[1] = queue_flag(&words[0], serial);
    queue_put(in.gstream, steps, 2);
    quit = quit_of(unit_at(0), serial);
    put(&kinds[0]);
    assert_true(queue_read(&words[0]) < serial - 1);
    queue_write(&words[1], 1);
    come(0);
    end(&kinds[0]);
    mgds_gstream_passed(in.gstream, 1);
    assert_false(mgds_quit_is_gone(quit));
    forget(quit);
}

static int start(void **state)
{
    queue_start_pair(state, &out, &in);
    OK(cu.cuMemAlloc_v2(&spot, 4096));
    OK(cu.cuMemsetD8_v2(spot, 0, 4096));
    OK(cu.cuStreamSynchronize(NULL));
    words = queue_take(in.gstream);
    record = queue_take(in.gstream);
    claim = mgds_gstream_claim(in.gstream);
    return claim ? 0 : 1;
}

static int finish(void **state)
{
    queue_write(&words[1], 1);
    queue_quit_pair(&out, &in);
    mgds_gstream_unclaim(in.gstream, claim);
    queue_give(in.gstream, record);
    queue_give(in.gstream, words);
    OK(cu.cuMemFree_v2(spot));
    return queue_finish_pair(state, &out, &in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_given_up_and_no_other),
        cmocka_unit_test(what_is_there_is_taken),
        cmocka_unit_test(all_are_given_up),
        cmocka_unit_test(a_wait_for_the_cpu_is_none),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, finish);
}
