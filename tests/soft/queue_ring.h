/* What tests of PUSH and TAKE work with: one region of a ring, buffers at both
 * ends, and what must be in all of them. */
#ifndef MGDS_TEST_QUEUE_RING_H
#define MGDS_TEST_QUEUE_RING_H

#include <stdint.h>

#include "device/abi.h"
#include "device/impl/mem.h"
#include "tests/soft/queue_place.h"

/* Bytes of each buffer; units of the region. A message of MOST bytes fits
 * wherever it begins, with room behind it. */
enum {
    RING_AREA = 8192,
    RING_UNITS = 600,
    RING_MOST = 4096,
    RING_SENT = 0, /* words of the line */
    RING_TOOK = 1,
};

struct ring_place {
    CUdeviceptr gpu; /* src, dst and the units, one behind the other */
    CUdeviceptr src, dst, units;
    unsigned char *plain; /* pinned */
    uint64_t *line, *record;
    struct queue_stream *stream; /* whose words they are */
    uint64_t serial;             /* the last that was used */
    unsigned char in[RING_AREA], want[RING_AREA], want_plain[RING_AREA];
    struct mgds_unit want_units[RING_UNITS];
};

/* A message: where in the buffers, and how much of it. */
struct ring_message {
    size_t from, to;      /* in src, dst */
    size_t bytes, posted; /* sent, at most taken */
    size_t unit, plain;   /* the first unit; where in `plain` */
};

/* Known bytes everywhere: dst and plain have other ones than src. */
void ring_open(struct ring_place *place, struct queue_stream *stream);
void ring_close(struct ring_place *place);

/* The next serial; what it leads to is expected from here on. */
void ring_expect(struct ring_place *place, const struct ring_message *message);
void ring_expect_units(struct ring_place *place,
                       const struct ring_message *message);
/* The message as the wire would bring it. */
void ring_put_plain(struct ring_place *place,
                    const struct ring_message *message);
void ring_expect_dst(struct ring_place *place,
                     const struct ring_message *message);

/* Steps of the message with the last serial. */
struct mgds_command ring_push(const struct ring_place *place,
                              const struct ring_message *message);
struct mgds_command ring_take(const struct ring_place *place,
                              const struct ring_message *message);

/* A take that looks into the record. */
struct mgds_command ring_take_record(const struct ring_place *place,
                                     const struct ring_message *message);

/* Tells the record, as the receiver's CPU does when it matches. */
void ring_tell(const struct ring_place *place, uint64_t serial,
               uint64_t address, uint64_t length, uint64_t form);

/* The same of what a push brings. */
void ring_tell_units(const struct ring_place *place,
                     const struct mgds_command *push);

/* Every byte of all memory is as expected; no stream writes any more. */
void ring_assert(const struct ring_place *place);

/* As assert_memory_equal, which the thread sanitizer does not see. */
void ring_assert_same(const void *got, const void *want, size_t bytes);

/* Expected bytes of dst are what is there, all of them. */
void ring_assert_dst(const struct ring_place *place);

size_t ring_units_of(size_t bytes);

#endif
