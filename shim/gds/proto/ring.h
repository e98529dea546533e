/*
 * Rings: memory of a GPU that is divided into regions of units, one region for
 * each sender; and the view of a region that a sender in the same or another
 * process has.
 *
 *   unit     16 bytes: 8 of data and the serial of the message (device/abi.h).
 *            Written by the sender's stream, read by the receiver's
 *   region   who has which place is the sender's business (place.h)
 *
 * Memory is not given back before mgds_rings_fini: others may still have it
 * mapped. It is kept for the next ring of its size, and zeroed then. Likewise
 * mappings.
 *
 * Concurrency: any thread; lists under a lock (REGISTRY), never held across a
 * driver call. Makes driver calls that allocate, import and wait for a stream
 * of ours: not on a path that a wait in a stream depends on.
 */
#ifndef MGDS_PROTO_RING_H
#define MGDS_PROTO_RING_H

#include <stdint.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/ipc.h"

struct mgds_ring;
struct mgds_ring_view;

/* What a member tells the others of a ring. Plain; all 0: there is none. */
struct mgds_ring_handle {
    struct mgds_shared_name name;
    struct mgds_gpu_id gpu;
    uint64_t address; /* in its process */
    uint64_t context; /* its id there */
    uint32_t regions;
    uint32_t units; /* of a region */
};

/* -ENOMEM, -ESHUTDOWN, -ENOTSUP; -EBUSY: no hardware queue is free, nothing of
 * it is left. */
int mgds_ring_create(struct mgds_ring **out, struct mgds_context *ctx,
                     uint32_t regions, uint32_t units);
void mgds_ring_destroy(struct mgds_ring *ring);

void mgds_ring_tell(const struct mgds_ring *ring, struct mgds_ring_handle *out);

/* Of a region. */
uint32_t mgds_ring_units(const struct mgds_ring *ring);

/* The first unit of a region. */
char *mgds_ring_region(const struct mgds_ring *ring, uint32_t region);

/* own: the ring is of this process; then it must be of the same context.
 * -EXDEV, or what the driver says: it cannot be used from here. */
int mgds_ring_view_create(struct mgds_ring_view **out, struct mgds_context *ctx,
                          const struct mgds_ring_handle *handle, bool own);
void mgds_ring_view_destroy(struct mgds_ring_view *view);
char *mgds_ring_view_region(const struct mgds_ring_view *view, uint32_t region);

/* Closes the mappings that nobody has. */
void mgds_ring_views_fini(void);

/* And gives all memory back that nobody has. No peer has it mapped any more. */
void mgds_rings_fini(void);

#endif
