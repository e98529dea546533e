/* Commands into driver calls, for gstream.c. */
#ifndef MGDS_STREAM_COMMANDS_H
#define MGDS_STREAM_COMMANDS_H

#include "device/abi.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/stream/gpu.h"
#include "shim/gds/stream/events.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/stream/side.h"

/* Where commands go. */
struct mgds_commands_to {
    const struct mgds_gpu *gpu;
    void *stream;            /* of the GPU's context, which is current */
    struct mgds_desk *desk;  /* of the stream: for waits */
    struct mgds_side *sides; /* where copies go that it cannot do itself */
    struct mgds_cell *cell;  /* in GPU memory, or NULL: one block for each */
    struct mgds_exchange_cells *cells; /* the same, of launches of several */
    unsigned blocks;                   /* at most, for one that waits */
    unsigned longs;                    /* the same, if what it takes is long */
    uint64_t *turn;                    /* of the last TAKE */
    struct mgds_events *events;        /* for FLAGs that are asked, or NULL */
    /* of the stream; or NULL. If there are any somebody may order what they
     * are of, and WAITs are kernels: while the program sits in a call of the
     * driver only they can take a message that was ordered */
    const struct mgds_claims *claims;
};

/* The most threads of a kernel that takes: it stands, and must find room on a
 * GPU that is nearly full. Each loads several units at a time instead. */
enum { MGDS_TAKE_THREADS = 128 };

/* Queues them in order, neighbours that can be in one call; sets put of each
 * that is queued. The first error ends it. */
int mgds_commands_queue(const struct mgds_commands_to *to,
                        struct mgds_command *commands, unsigned count);

/* Queues a long TAKE with a flag behind it. -EFAULT: it is queued, and throws
 * the message away; any other error: it is not. */
int mgds_commands_fetch(const struct mgds_commands_to *to,
                        const struct mgds_command *take,
                        const struct mgds_command *flag);

#endif
