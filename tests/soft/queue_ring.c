/* Regions, messages and what must become of them; see queue_ring.h. */
#include "tests/soft/queue_ring.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const size_t units_bytes = RING_UNITS * sizeof(struct mgds_unit);

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
 * of dst or of plain: those have their high bit. */
static void fill(struct ring_place *place)
{
    uint32_t x = 12345;

    for (size_t i = 0; i < RING_AREA; i++) {
        x = x * 1664525 + 1013904223;
        place->in[i] = (unsigned char)(x >> 25);
        place->want[i] = (unsigned char)(0x80 | i % 101);
        place->want_plain[i] = (unsigned char)(0x80 | i % 97);
    }
}

void ring_open(struct ring_place *place, struct queue_stream *stream)
{
    *place = (struct ring_place){.stream = stream, .serial = 0x1234567800};
    fill(place);
    OK(cu.cuMemAlloc_v2(&place->gpu, 2 * (size_t)RING_AREA + units_bytes));
    place->src = place->gpu;
    place->dst = place->src + RING_AREA;
    place->units = place->dst + RING_AREA;
    OK(cu.cuMemHostAlloc((void **)&place->plain, RING_AREA, 0));
    copy(place->src, host(place->in), RING_AREA);
    copy(place->dst, host(place->want), RING_AREA);
    copy(place->units, host(place->want_units), units_bytes);
    memcpy(place->plain, place->want_plain, RING_AREA);
    place->line = queue_take(stream->gstream);
    place->record = queue_take(stream->gstream);
}

void ring_close(struct ring_place *place)
{
    queue_give(place->stream->gstream, place->line);
    queue_give(place->stream->gstream, place->record);
    OK(cu.cuMemFreeHost(place->plain));
    OK(cu.cuMemFree_v2(place->gpu));
}

size_t ring_units_of(size_t bytes)
{
    return bytes > 0 ? (bytes + 7) / 8 : 1;
}

void ring_expect_units(struct ring_place *place,
                       const struct ring_message *message)
{
    size_t left = message->bytes;

    for (size_t i = 0; i < ring_units_of(message->bytes); i++) {
        struct mgds_unit unit = {0, place->serial};
        size_t some = left < 8 ? left : 8;

        /* little-endian, as every GPU and its host are */
        memcpy(&unit.data, place->in + message->from + 8 * i, some);
        place->want_units[message->unit + i] = unit;
        left -= some;
    }
}

void ring_put_plain(struct ring_place *place,
                    const struct ring_message *message)
{
    memcpy(place->plain + message->plain, place->in + message->from,
           message->bytes);
    memcpy(place->want_plain + message->plain, place->in + message->from,
           message->bytes);
}

void ring_expect_dst(struct ring_place *place,
                     const struct ring_message *message)
{
    size_t bytes =
        message->bytes < message->posted ? message->bytes : message->posted;

    memcpy(place->want + message->to, place->in + message->from, bytes);
}

void ring_expect(struct ring_place *place, const struct ring_message *message)
{
    place->serial++;
    ring_expect_units(place, message);
    ring_put_plain(place, message);
    ring_expect_dst(place, message);
}

static void *at(CUdeviceptr addr)
{
    return (void *)(uintptr_t)addr;
}

static void *unit_of(const struct ring_place *place,
                     const struct ring_message *message)
{
    return at(place->units + message->unit * sizeof(struct mgds_unit));
}

struct mgds_command ring_push(const struct ring_place *place,
                              const struct ring_message *message)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_PUSH,
        .user = (char *)at(place->src + message->from),
        .bytes = message->bytes,
        .units = unit_of(place, message),
        .serial = place->serial,
    };
}

struct mgds_command ring_take(const struct ring_place *place,
                              const struct ring_message *message)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_TAKE,
        .user = (char *)at(place->dst + message->to),
        .bytes = message->posted,
        .units = unit_of(place, message),
        .serial = place->serial,
        .length = message->bytes,
    };
}

struct mgds_command ring_take_record(const struct ring_place *place,
                                     const struct ring_message *message)
{
    struct mgds_command step = ring_take(place, message);

    step.units = NULL;
    step.serial = 0;
    step.length = 0;
    step.record = place->record;
    memset(place->record, 0, MGDS_WORDS_LINE * sizeof(uint64_t));
    return step;
}

void ring_tell(const struct ring_place *place, uint64_t serial,
               uint64_t address, uint64_t length, uint64_t form)
{
    queue_write(&place->record[MGDS_RECORD_SERIAL], serial);
    queue_write(&place->record[MGDS_RECORD_ADDRESS], address ? address : 1);
    queue_write(&place->record[MGDS_RECORD_LENGTH], length + 1);
    queue_write(&place->record[MGDS_RECORD_FORM], form + 1);
}

void ring_tell_units(const struct ring_place *place,
                     const struct mgds_command *push)
{
    ring_tell(place, push->serial, (uintptr_t)push->units, push->bytes,
              MGDS_TAKE_UNITS);
}

void ring_assert_same(const void *got, const void *want, size_t bytes)
{
    if (memcmp(got, want, bytes) != 0)
        assert_memory_equal(got, want, bytes);
}

void ring_assert_dst(const struct ring_place *place)
{
    unsigned char got[RING_AREA];

    copy(host(got), place->dst, RING_AREA);
    assert_memory_equal(got, place->want, RING_AREA);
}

void ring_assert(const struct ring_place *place)
{
    static struct mgds_unit units[RING_UNITS];
    unsigned char src[RING_AREA];

    ring_assert_dst(place);
    copy(host(src), place->src, RING_AREA);
    assert_memory_equal(src, place->in, RING_AREA);
    copy(host(units), place->units, units_bytes);
    assert_memory_equal(units, place->want_units, units_bytes);
    ring_assert_same(place->plain, place->want_plain, RING_AREA);
}
