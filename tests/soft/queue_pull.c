/* Memory of both ends and what must become of it; see queue_pull.h. */
#include "tests/soft/queue_pull.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { AROUND = 64 };

static const size_t units_bytes = PULL_UNITS * sizeof(struct mgds_unit);
static const size_t dones_bytes = PULL_UNITS * sizeof(uint64_t);

static void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    OK(cu.cuMemcpy(to, from, bytes));
    OK(cu.cuStreamSynchronize(NULL));
}

static CUdeviceptr host(void *at)
{
    return (CUdeviceptr)(uintptr_t)at;
}

/* No two bytes of a message are told apart by chance alone, none is as a byte
 * of dst: those have their high bit. */
static void fill(struct pull_place *place)
{
    uint32_t x = 54321;

    place->sent = (unsigned char *)malloc(PULL_AREA);
    place->want = (unsigned char *)malloc(PULL_AREA);
    assert_true(place->sent && place->want);
    for (size_t i = 0; i < PULL_AREA; i++) {
        x = x * 1664525 + 1013904223;
        place->sent[i] = (unsigned char)(x >> 25);
        place->want[i] = (unsigned char)(0x80 | i % 101);
    }
}

void pull_open(struct pull_place *place, struct queue_stream *out,
               struct queue_stream *in)
{
    *place = (struct pull_place){.out = out, .in = in, .serial = 0x1234567800};
    fill(place);
    OK(cu.cuMemAlloc_v2(&place->gpu,
                        2 * (size_t)PULL_AREA + units_bytes + dones_bytes + 8));
    place->src = place->gpu;
    place->dst = place->src + PULL_AREA;
    place->units = place->dst + PULL_AREA;
    place->dones = place->units + units_bytes;
    place->idle = place->dones + dones_bytes;
    copy(place->src, host(place->sent), PULL_AREA);
    copy(place->dst, host(place->want), PULL_AREA);
    OK(cu.cuMemsetD8_v2(place->units, 0, units_bytes + dones_bytes));
    OK(cu.cuStreamSynchronize(NULL));
    place->line = queue_take(in->gstream);
    place->record = queue_take(in->gstream);
}

void pull_close(struct pull_place *place)
{
    queue_give(place->in->gstream, place->line);
    queue_give(place->in->gstream, place->record);
    OK(cu.cuMemFree_v2(place->gpu));
    free(place->sent);
    free(place->want);
}

void pull_expect(struct pull_place *place, const struct pull_message *message)
{
    size_t bytes =
        message->bytes < message->posted ? message->bytes : message->posted;

    place->serial++;
    memcpy(place->want + message->to, place->sent + message->from, bytes);
}

static CUdeviceptr unit_of(const struct pull_place *place,
                           const struct pull_message *message)
{
    return place->units + message->unit * sizeof(struct mgds_unit);
}

static CUdeviceptr done_of(const struct pull_place *place,
                           const struct pull_message *message)
{
    return place->dones + message->unit * sizeof(uint64_t);
}

static void *at(CUdeviceptr addr)
{
    return (void *)(uintptr_t)addr;
}

struct mgds_command pull_post(const struct pull_place *place,
                              const struct pull_message *message)
{
    CUdeviceptr word =
        unit_of(place, message) + offsetof(struct mgds_unit, word);

    return (struct mgds_command){
        .kind = MGDS_COMMAND_POST, .units = at(word), .serial = place->serial};
}

struct mgds_command pull_await(const struct pull_place *place,
                               const struct pull_message *message)
{
    return (struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                 .word =
                                     (uint64_t *)at(done_of(place, message)),
                                 .value = place->serial};
}

struct mgds_command pull_take(const struct pull_place *place,
                              const struct pull_message *message)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_TAKE,
        .user = (char *)at(place->dst + message->to),
        .bytes = message->posted,
        .units = at(unit_of(place, message)),
        .serial = place->serial,
        .length = message->bytes,
        .source = place->src + message->from,
        .done = done_of(place, message),
    };
}

struct mgds_command pull_claimed(struct pull_place *place,
                                 struct mgds_command take,
                                 struct mgds_claim *claim)
{
    take.claim = claim;
    take.gen = ++place->gen;
    return take;
}

struct mgds_command pull_recorded(const struct pull_place *place,
                                  struct mgds_command take)
{
    take.units = NULL;
    take.serial = take.source = take.done = 0;
    take.length = 0;
    take.record = place->record;
    memset(place->record, 0, MGDS_WORDS_LINE * sizeof(uint64_t));
    return take;
}

void pull_tell(const struct pull_place *place, const struct mgds_command *take,
               unsigned first)
{
    uint64_t words[MGDS_WORDS_LINE] = {
        [MGDS_RECORD_SERIAL] = take->serial,
        [MGDS_RECORD_ADDRESS] = (uintptr_t)take->units,
        [MGDS_RECORD_LENGTH] = take->length + 1,
        [MGDS_RECORD_FORM] =
            (take->quiet ? MGDS_TAKE_QUIET : MGDS_TAKE_PULL) + 1,
        [MGDS_RECORD_SOURCE] = take->source,
        [MGDS_RECORD_DONE] = take->done,
    };

    for (unsigned i = 0; i < MGDS_WORDS_LINE; i++) {
        unsigned k = (first + i) % MGDS_WORDS_LINE;

        if (words[k])
            queue_write(&place->record[k], words[k]);
    }
}

void pull_put(struct mgds_gstream *stream, struct mgds_command step,
              uint64_t *word, uint64_t value)
{
    struct mgds_command steps[] = {step, queue_flag(word, value)};

    queue_put(stream, steps, 2);
}

void pull_set(const struct queue_stream *by, CUdeviceptr word, uint64_t value)
{
    struct mgds_command post = {
        .kind = MGDS_COMMAND_POST, .units = at(word), .serial = value};

    queue_put(by->gstream, &post, 1);
    OK(cu.cuStreamSynchronize(by->native));
}

void pull_let_time_pass(const struct pull_place *place,
                        const struct queue_stream *by)
{
    for (int i = 0; i < 60; i++) {
        OK(cu.cuMemsetD8Async(place->idle, 0, 8, by->native));
        OK(cu.cuStreamSynchronize(by->native));
    }
}

void pull_put_post(const struct pull_place *place,
                   const struct pull_message *message)
{
    pull_put(place->out->gstream, pull_post(place, message),
             &place->line[PULL_SENT], place->serial);
}

void pull_await_read(const struct pull_place *place,
                     const struct pull_message *message)
{
    pull_put(place->out->gstream, pull_await(place, message),
             &place->line[PULL_READ], place->serial);
    queue_await(&place->line[PULL_READ], place->serial);
    mgds_gstream_passed(place->out->gstream, 1);
}

void pull_put_take(const struct pull_place *place, struct mgds_command take)
{
    pull_put(place->in->gstream, take, &place->line[PULL_TOOK], place->serial);
}

void pull_await_taken(const struct pull_place *place)
{
    queue_await(&place->line[PULL_TOOK], place->serial);
    mgds_gstream_passed(place->in->gstream, 1);
}

static void await_word(const struct pull_place *place, uint64_t *word,
                       uint64_t value)
{
    const struct mgds_command await = {
        .kind = MGDS_COMMAND_AWAIT, .word = word, .value = value};

    queue_write(&place->line[PULL_AWAITED], 0);
    pull_put(place->out->gstream, await, &place->line[PULL_AWAITED], 1);
    queue_await(&place->line[PULL_AWAITED], 1);
    mgds_gstream_passed(place->out->gstream, 1);
}

void pull_await_owned(const struct pull_place *place,
                      const struct mgds_command *take)
{
    await_word(place, &take->claim->owner, take->gen);
}

void pull_await_claimed(const struct pull_place *place,
                        const struct mgds_command *take)
{
    pull_await_owned(place, take);
    await_word(place, &take->claim->over, take->gen);
}

uint64_t pull_done(const struct pull_place *place,
                   const struct pull_message *message)
{
    return queue_get(done_of(place, message));
}

static void assert_range(const struct pull_place *place, size_t from, size_t to)
{
    unsigned char *got = (unsigned char *)malloc(to - from);

    assert_non_null(got);
    copy(host(got), place->dst + from, to - from);
    if (memcmp(got, place->want + from, to - from) != 0)
        assert_memory_equal(got, place->want + from, to - from);
    free(got);
}

void pull_assert_near(const struct pull_place *place,
                      const struct pull_message *message)
{
    size_t from = message->to < AROUND ? 0 : message->to - AROUND;
    size_t to = message->to + message->posted + AROUND;

    assert_range(place, from, to < PULL_AREA ? to : PULL_AREA);
}

void pull_assert(const struct pull_place *place)
{
    assert_range(place, 0, PULL_AREA);
}

void pull_finish(const struct pull_place *place)
{
    OK(cu.cuStreamSynchronize(place->out->native));
    OK(cu.cuStreamSynchronize(place->in->native));
    pull_assert(place);
}
