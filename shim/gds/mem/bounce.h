/*
 * A staged buffer: GPU memory of the program, and host memory that stands for
 * it in a call into the MPI below.
 *
 *   send      create, down, wait, call below with base; destroy when it is done
 *   receive   create, call below with base; when it is done up(0, bytes that
 *             came), poll until 1, destroy
 *   persistent, partitioned: one bounce, down and up as often as need be
 *
 * Packed bytes are the bytes of count elements in typemap order, from 0 on;
 * first and bytes below mean those in both forms, so up(0, n) touches what a
 * message of n bytes fills, and nothing else.
 *
 * Copies run on a stream of our own, not ordered with the program's streams:
 * a buffer given to MPI is ready, as MPI says of every buffer.
 *
 * Errors are negative errno and leave the bounce as it was, fit to be
 * destroyed:
 *   -EFAULT     the program freed the memory, or it does not cover the buffer
 *   -ESHUTDOWN  its context was destroyed or reset
 *   -ENOMEM     no memory, neither pinned nor ordinary
 *   -EOVERFLOW  sizes beyond 64 bits
 *   -EIO        the device failed (an error of the program's own kernels too:
 *               CUDA keeps such for all later calls); other ones as the
 *               driver's results are translated
 *
 * A bounce is used by one thread at a time; any thread, and the last one may
 * be another. No lock is needed or held. No function touches the caller's
 * current context.
 */
#ifndef MGDS_MEM_BOUNCE_H
#define MGDS_MEM_BOUNCE_H

#include <stddef.h>

#include "shim/gds/cuda/ptr.h"
#include "shim/gds/mem/layout.h"
#include "shim/gds/mem/pool.h"

struct mgds_bounce;

/* A buffer as the program gave it to a call: borrowed by create. */
struct mgds_buffer {
    void *addr; /* NULL with a layout of absolute addresses */
    size_t count;
    struct mgds_layout *layout;
    struct mgds_ptr ptr; /* the GPU memory that the data lies in; if in several
                            allocations, any one of them */
};

enum mgds_bounce_form {
    /* Data bytes only, in typemap order: a contiguous buffer of
     * mgds_bounce_bytes bytes. */
    MGDS_BOUNCE_PACKED,
    /* As in the user's memory: to be given to the call below with the user's
     * count and datatype. Gaps are undefined, and cost memory. */
    MGDS_BOUNCE_MIRROR,
    /* Packed, and fit for a stream of the program's: pinned (else -ENOMEM),
     * with a table for the pack kernel unless the buffer is dense. */
    MGDS_BOUNCE_STREAM,
    /* The same for a dense buffer that can do without memory: it has none if a
     * quarter of what may be pinned is in use so. Then there is no base, and
     * nothing can be copied. */
    MGDS_BOUNCE_LATER,
    /* The same without memory in any case. */
    MGDS_BOUNCE_BARE,
};

/* Makes one; nothing is copied. Allocates, in the driver too when pools are
 * cold, so only in a call that starts something, never in one that waits. ptr
 * must be the answer to a look made in this call. Takes a reference to the
 * layout. A buffer without bytes is allowed, its copies do nothing. */
int mgds_bounce_create(struct mgds_bounce **out, const struct mgds_buffer *user,
                       enum mgds_bounce_form form);

/* Has it no memory, though it has bytes? Takes memory away, of any form, that
 * nothing uses any more: where nobody else looks at the bounce. */
bool mgds_bounce_needs_room(const struct mgds_bounce *bounce);
void mgds_bounce_drop_room(struct mgds_bounce *bounce);

/* Whether the memory is still the one that was looked at: 0, or -EFAULT. Where
 * a buffer is used in a later call than it was given in. */
int mgds_bounce_check(const struct mgds_bounce *bounce);
/* Whether it is of a pool (cuMemAllocAsync). */
bool mgds_bounce_is_pooled(const struct mgds_bounce *bounce);

/* What stands for the user's addr in the call below. Constant. For MIRROR the
 * address where element 0 would begin, which may lie outside of the memory if
 * the layout begins elsewhere (lb, absolute addresses); for buffers without
 * bytes some address that is not NULL. */
void *mgds_bounce_base(const struct mgds_bounce *bounce);

/* Packed bytes of the whole buffer, in both forms. */
size_t mgds_bounce_bytes(const struct mgds_bounce *bounce);

/* Whether a message of so many bytes would end inside an element of a PACKED
 * buffer (mgds_layout_tears). False in the other forms: whoever takes the
 * message knows the datatype, and looks. */
bool mgds_bounce_tears(const struct mgds_bounce *bounce, size_t bytes);

/*
 * Queue the copy of packed bytes [first, first + bytes) from GPU to bounce, or
 * from bounce to GPU; what lies beyond mgds_bounce_bytes is left out, so
 * (0, SIZE_MAX) is all. Several may be queued one after the other; they are
 * done in order. Nothing of the driver is made or allocated. At most four
 * driver copies, or one kernel (counters stage_copies, stage_launches).
 * With a piece of ordinary memory (pool.h) they may take as long as the copy.
 */
int mgds_bounce_down(struct mgds_bounce *bounce, size_t first, size_t bytes);
int mgds_bounce_up(struct mgds_bounce *bounce, size_t first, size_t bytes);

/* 1 if all queued copies are done, or none ever was; 0 not yet; or the error
 * of the work, told once: then nothing is under way any more. Where many are
 * polled in turn, what the driver says to one serves all of them (clock.h); the
 * same one that polls twice gets an answer of its own. */
int mgds_bounce_poll(struct mgds_bounce *bounce);

/* Polls briefly, then sleeps, until they are done: 0, or the error. idle, if
 * not NULL, is called now and then while it polls. */
int mgds_bounce_wait(struct mgds_bounce *bounce, void (*idle)(void));

/* Gives all back. Never blocks: if copies are still under way the memory is
 * used again only after they are done. The call below must be done with it.
 * NULL is allowed. */
void mgds_bounce_destroy(struct mgds_bounce *bounce);

#endif
