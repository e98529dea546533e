/* What operations need; see means.h. */
#include "shim/gds/domain/means.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/pull.h"
#include "shim/gds/queue/gstream.h"

/* A send of host memory up to this is copied: it ends without its receiver. */
#define SHORT ((size_t)64 << 10)

/* How long a send waits for memory that earlier ones have: a sender whose
 * stream is never made to wait is soon ahead of its receiver by all there is.
 */
#define ROOM_NS 10000000000u

/* Sends whose bytes have memory of ours; atomic. */
static unsigned staged;

void mgds_means_give(struct mgds_op *op)
{
    mgds_bounce_destroy(op->bounce);
    if (op->send && op->bounce)
        __atomic_fetch_sub(&staged, 1, __ATOMIC_RELAXED);
    if (op->words)
        mgds_words_give(mgds_gstream_words(op->stream), op->words);
    if (op->claim)
        mgds_gstream_unclaim(op->line->stream, op->claim);
    if (op->stream)
        mgds_gstream_release(op->stream);
    free(op->copy);
}

/* Host memory goes through a copy of ours if it is not in one piece, and when a
 * send is short, so that it need not wait for its receiver. */
static bool needs_copy(const struct mgds_op *op)
{
    if (op->bytes == 0)
        return false;
    return !mgds_layout_is_dense(op->user.layout) ||
           (op->send && op->bytes <= SHORT);
}

/* For the stream, if it is enqueued or a receive that the stream could be made
 * to wait for; if the buffer is not for it, for host calls alone. One that may
 * be copied out of its sender's memory gets room when that is not so. */
static int make_bounce(struct mgds_op *op, struct mgds_gstream *stream)
{
    int rc = -EXDEV;

    if (stream)
        rc = (op->claim ? mgds_gstream_bounce_later
                        : mgds_gstream_bounce)(&op->bounce, stream, &op->user);
    if (rc == 0)
        op->stream = mgds_gstream_get(stream);
    if (rc == 0 || op->line)
        return rc;
    return mgds_bounce_create(&op->bounce, &op->user, MGDS_BOUNCE_PACKED);
}

/* What lets a stream of its own and somebody else take a long message, one of
 * them. Without it only somebody else does. */
static void make_claim(struct mgds_op *op)
{
    static uint64_t gens;
    uint64_t least = mgds_ctx()->config.pull;

    if (!op->taker || least == 0 || op->bytes < least)
        return;
    op->claim = mgds_gstream_claim(op->line->stream);
    op->gen = __atomic_add_fetch(&gens, 1, __ATOMIC_RELAXED);
}

/* A record and a count for the stream. */
static int make_words(struct mgds_op *op)
{
    if (op->send || !op->stream)
        return 0;
    return mgds_words_take(&op->words, mgds_gstream_words(op->stream));
}

static int make_room(struct mgds_op *op, bool gpu, struct mgds_gstream *stream)
{
    if (op->pull)
        return 0;
    if (op->bytes == 0 && op->taker)
        op->stream = mgds_gstream_get(stream);
    if (gpu && op->bytes > 0) {
        int rc = make_bounce(op, stream);

        if (op->send && op->bounce)
            __atomic_fetch_add(&staged, 1, __ATOMIC_RELAXED);
        return rc;
    }
    if (gpu || !needs_copy(op))
        return 0;
    op->copy = (char *)mgds_malloc(op->bytes);
    return op->copy ? 0 : -ENOMEM;
}

/* For a send whose memory others have that are under way, or had: what is idle
 * was given up for it, and goes at a safe point. */
static int wait_for_room(struct mgds_op *op, bool gpu,
                         struct mgds_gstream *stream)
{
    uint64_t end = mgds_clock_ns() + ROOM_NS;
    bool again;
    int rc;

    do {
        unsigned others = __atomic_load_n(&staged, __ATOMIC_RELAXED);

        mgds_domains_safe_point();
        rc = make_room(op, gpu, stream);
        again = rc == -ENOMEM && others > 0;
        while (again && mgds_clock_ns() < end &&
               __atomic_load_n(&staged, __ATOMIC_RELAXED) == others) {
            mgds_wire_progress();
            sched_yield();
        }
    } while (again && mgds_clock_ns() < end);
    return rc;
}

bool mgds_means_fit(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return op->line &&
           (op->bytes == 0 ||
            (xfer->gpu && mgds_gstream_takes(op->line->stream, &op->user)));
}

/* That it is enqueued on, or that could be made to wait for it. */
static struct mgds_gstream *stream_of(const struct mgds_op *op,
                                      const struct mgds_domain *domain,
                                      const struct mgds_xfer *xfer)
{
    if (op->line)
        return op->line->stream;
    return op->send || domain->streams == 0 ? NULL
                                            : domain->stream[xfer->to_index];
}

int mgds_means_explain(int rc)
{
    if (rc == -ENOMEM)
        mgds_warn_once("an operation on a stream needs pinned memory and could "
                       "not get it: MPIX_GDS_STAGE_POOL allows more");
    return rc;
}

int mgds_means_make(struct mgds_op *op, struct mgds_domain *domain,
                    const struct mgds_xfer *xfer)
{
    struct mgds_gstream *stream = stream_of(op, domain, xfer);
    bool may_pull = op->send && mgds_pull_try(op, domain, xfer);
    int rc;

    op->taker = !op->send && mgds_means_fit(op, xfer) &&
                mgds_landing_takes(domain->landing, xfer->to_index);
    make_claim(op);
    rc = make_room(op, xfer->gpu, stream);
    if (rc == -ENOMEM && may_pull)
        rc = mgds_pull_insist(op, domain, xfer);
    if (rc == -ENOMEM && op->send)
        rc = wait_for_room(op, xfer->gpu, stream);
    if (xfer->gpu)
        mgds_means_explain(rc);
    return rc == 0 ? make_words(op) : rc;
}
