/*
 * What staging has in each context: a stream and its clock, a pool of pinned
 * memory, the pack kernels, and bounces that are used again. Made when the
 * engine first meets a context, so that later nothing of the driver is made.
 *
 * Concurrency. All stages are in one list under stages_lock (REGISTRY), found
 * by the context's object; the list holds one reference. A stage's idle and
 * unfinished bounces are under its own lock (LEAF). No lock is held across a
 * driver call.
 */
#ifndef MGDS_STAGE_STAGE_H
#define MGDS_STAGE_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/lock.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/stage/clock.h"
#include "shim/gds/stage/pool.h"
#include "shim/gds/stage/uploads.h"

struct mgds_bounce;

struct mgds_stage {
    struct mgds_context *ctx;
    void *stream;
    struct mgds_clock clock; /* of the stream */
    struct mgds_uploads uploads;
    struct mgds_pool *pool;
    void *kernel;  /* of pack.h; NULL: none could be loaded */
    unsigned refs; /* atomic */
    struct mgds_lock lock;
    /* under lock */
    struct mgds_bounce *idle;
    struct mgds_bounce *late; /* destroyed while copies were under way */
    bool closed;              /* nobody will look after late ones any more */
    struct mgds_stage *next;  /* under stages_lock */
};

/* The stage of the context that this memory is copied in, with a reference.
 * -ENOMEM, -ESHUTDOWN, -ENODEV and what the driver says. */
int mgds_stage_of(struct mgds_stage **out, const struct mgds_ptr *ptr);

/* The same for a context itself. */
int mgds_stage_of_context(struct mgds_stage **out, struct mgds_context *ctx);

struct mgds_stage *mgds_stage_get(struct mgds_stage *stage);
void mgds_stage_put(struct mgds_stage *stage);

/* For stages.c: makes one, which takes over the reference to ctx if that
 * succeeds; gives several references back. */
int mgds_stage_create(struct mgds_stage **out, struct mgds_context *ctx);
void mgds_stage_drop(struct mgds_stage *stage, unsigned refs);

/* Frees the bounces that are idle. */
void mgds_stage_drop_idle(struct mgds_stage *stage);

/* Gives up what is idle in all contexts: pinned memory goes at the next safe
 * point (defer.h). Any thread, any time. */
void mgds_stage_trim(void);

/* Forgets all stages, for MPI_Finalize and tests; those that bounces still use
 * go with the last one. The engine may be used again. */
void mgds_stage_fini(void);

#endif
