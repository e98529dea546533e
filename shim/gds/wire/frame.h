/* What goes over the wire before the body: the header of a UCX active message.
 * It ends behind the head, and so says how long that is. */
#ifndef MGDS_GDS_WIRE_FRAME_H
#define MGDS_GDS_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/wire/wire.h"

struct mgds_wire_frame {
    uint64_t tag;    /* over all of it, and who it is for (seal.h) */
    uint64_t from;   /* the process (address.h) that sends it */
    uint64_t number; /* of its frames to this receiver: 1, 2, ... */
    uint64_t shape;  /* in one word, since each takes time to seal */
    char head[MGDS_WIRE_HEAD_BYTES];
};

enum { MGDS_WIRE_BODY_BITS = 56 };

#define MGDS_WIRE_MOST_BODY ((UINT64_C(1) << MGDS_WIRE_BODY_BITS) - 1)

static inline size_t mgds_wire_frame_bytes(size_t head_bytes)
{
    return offsetof(struct mgds_wire_frame, head) + head_bytes;
}

/* kind and body_bytes fit. */
static inline uint64_t mgds_wire_shape(unsigned kind, size_t body_bytes)
{
    return (uint64_t)kind << MGDS_WIRE_BODY_BITS | body_bytes;
}

static inline unsigned mgds_wire_kind(const struct mgds_wire_frame *frame)
{
    return (unsigned)(frame->shape >> MGDS_WIRE_BODY_BITS);
}

static inline uint64_t mgds_wire_body(const struct mgds_wire_frame *frame)
{
    return frame->shape & MGDS_WIRE_MOST_BODY;
}

#endif
