/*
 * Rings: memory of a GPU that another process stores messages in, and the view
 * of one that this other process has.
 *
 *   unit     16 bytes: 8 of data and the serial of the message (device/abi.h).
 *            Written by the sender's stream, read by the receiver's
 *   ring     who has which place in it is the sender's business (place.h)
 *
 * What is in a new ring is whatever was there before: serials begin anywhere
 * below 2^62, so no unit has one by chance. So nothing waits for a stream here,
 * and calls return at once while waits stand.
 *
 * A ring and a view go at the next safe point (cuda/defer.h) after they were
 * destroyed. Of who tells whom that a mapping is closed, so that no memory is
 * freed that another process still has mapped: transport/ring_pair.h.
 *
 * Concurrency: any thread; each object is of one owner. Makes driver calls.
 */
#ifndef MGDS_PROTO_RING_H
#define MGDS_PROTO_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/ipc.h"

/* Units of a ring at most. */
enum { MGDS_RING_MOST = 1 << 26 };

struct mgds_ring;
struct mgds_ring_view;

/* A ring as its process tells another one of it. Plain. */
struct mgds_ring_handle {
    struct mgds_shared_name name;
    uint64_t address; /* in its process */
    uint64_t context; /* its id there */
    uint32_t units;
    uint32_t reserved;
};

/* -ENOMEM, -ESHUTDOWN, -ENOTSUP: nothing of it is left. */
int mgds_ring_create(struct mgds_ring **out, struct mgds_context *ctx,
                     uint32_t units);
/* NULL is allowed. Nobody has it mapped any more. */
void mgds_ring_destroy(struct mgds_ring *ring);

void mgds_ring_tell(const struct mgds_ring *ring, struct mgds_ring_handle *out);
uint64_t mgds_ring_address(const struct mgds_ring *ring);

/* The address of a place that begins at that unit, and has so many; 0: there is
 * no such place. */
uint64_t mgds_ring_place(const struct mgds_ring *ring, uint32_t units,
                         size_t count);

/* Bytes of all rings of the process, also of those that go at the next safe
 * point. */
uint64_t mgds_rings_bytes(void);

/* own: the ring is of this process; then it must be of the same context.
 * -EXDEV, or what the driver says: it cannot be used from here. */
int mgds_ring_view_create(struct mgds_ring_view **out, struct mgds_context *ctx,
                          const struct mgds_ring_handle *handle, bool own);
char *mgds_ring_view_address(const struct mgds_ring_view *view);

/* closed(arg) when nothing is mapped any more: at the safe point, without a
 * lock. NULL: nobody wants to know. */
void mgds_ring_view_destroy(struct mgds_ring_view *view,
                            void (*closed)(void *arg), void *arg);

#endif
