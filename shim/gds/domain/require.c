/* Transports that messages may take; see require.h. */
#include "shim/gds/domain/require.h"

#include "shim/base/config.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

static const char no_ring[] =
    "there is no ring here to take it from: MPIX_GDS_EAGER is 0, or GPU memory "
    "or hardware queues are short";
static const char no_place[] =
    "the ring for such messages was full for ten seconds: MPIX_GDS_RING allows "
    "more";
static const char no_mapping[] =
    "the receiver cannot map its memory (cuMemAllocAsync and cuMemMap give "
    "none that can be), or MPIX_GDS_PULL leaves it out";
static const char in_its_own_way[] =
    "a stream that stands at a send to itself, or memory that cannot be "
    "mapped, has no other way";
static const char no_take[] =
    "its buffer has gaps, or is of a GPU that the stream's does not reach";
static const char left_out[] = "that is the way between the two";

/* Of the thread's last call that was refused. */
static MGDS_TLS struct mgds_refusal refusal;

static bool allows(enum mgds_path path)
{
    unsigned set = mgds_ctx()->config.require;

    if (path == MGDS_PATH_HOST && set & 1u << MGDS_PATH_UCX)
        return true;
    return set == 0 || set & 1u << path;
}

static bool concerns(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return mgds_ctx()->config.require != 0 && xfer->enqueued && xfer->gpu &&
           op->bytes > 0 && xfer->peer != MGDS_PROC_NULL;
}

bool mgds_require_direct(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return concerns(op, xfer) && !allows(MGDS_PATH_HOST);
}

/* The two ends, as lanes have them. */
struct ends {
    unsigned mine, theirs;
};

static struct ends ends_of(const struct mgds_op *op,
                           const struct mgds_xfer *xfer)
{
    unsigned base = op->domain->base[xfer->peer];

    if (op->send)
        return (struct ends){xfer->from_index, base + xfer->to_index};
    return (struct ends){xfer->to_index, base + xfer->from_index};
}

/* NULL: it is from anybody, or there is none. */
static struct mgds_lane *lane_of(const struct mgds_op *op,
                                 const struct mgds_xfer *xfer)
{
    struct ends ends;

    if (xfer->peer < 0)
        return NULL;
    ends = ends_of(op, xfer);
    return mgds_landing_lane(op->domain->landing, ends.mine, ends.theirs);
}

static const char *why_no_lane(const struct mgds_op *op,
                               const struct mgds_xfer *xfer)
{
    struct ends ends = ends_of(op, xfer);

    return mgds_landing_why(op->domain->landing, ends.mine, ends.theirs);
}

static const char *why_no_place(const struct mgds_op *op,
                                const struct mgds_lane *lane)
{
    if (op->bytes <= mgds_ctx()->config.eager)
        return no_place;
    return mgds_lane_is_own(lane) ? in_its_own_way : no_mapping;
}

/* Why it would be staged; NULL: it would not. */
static const char *why_staged(const struct mgds_op *op,
                              const struct mgds_xfer *xfer,
                              const struct mgds_lane *lane)
{
    if (!mgds_gstream_takes(op->line->stream, &op->user))
        return no_take;
    if (!lane && xfer->peer >= 0)
        return why_no_lane(op, xfer);
    if (op->send && !op->lane && !op->pull)
        return why_no_place(op, lane);
    if (!op->send && !op->taker)
        return no_ring;
    return NULL;
}

/* Of a receive from anybody it is not known who that will be: one that may. */
static enum mgds_path path_of(const struct mgds_lane *lane)
{
    if (lane)
        return mgds_lane_is_own(lane) ? MGDS_PATH_SELF : MGDS_PATH_P2P;
    if (allows(MGDS_PATH_SELF))
        return MGDS_PATH_SELF;
    return allows(MGDS_PATH_HOST) ? MGDS_PATH_HOST : MGDS_PATH_P2P;
}

bool mgds_require_refuses(const struct mgds_op *op,
                          const struct mgds_xfer *xfer)
{
    const struct mgds_lane *lane;
    enum mgds_path path = MGDS_PATH_HOST;

    if (!concerns(op, xfer) || mgds_lost_rank(op->domain, xfer->peer) < 0)
        return false;
    lane = lane_of(op, xfer);
    refusal.why = why_staged(op, xfer, lane);
    if (!refusal.why) {
        path = path_of(lane);
        refusal.why = left_out;
    }
    refusal.transport = mgds_path_names[path];
    return !allows(path);
}

struct mgds_refusal mgds_require_reason(void)
{
    return refusal;
}
