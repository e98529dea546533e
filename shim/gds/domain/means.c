/* What operations need; see means.h. */
#include "shim/gds/domain/means.h"

#include <errno.h>
#include <sched.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/fault.h"
#include "shim/ctx.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/proto/rget.h"
#include "shim/gds/proto/select.h"
#include "shim/gds/domain/require.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/queue/claims.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/wire/wire.h"

/* A send of host memory up to this is copied: it ends without its receiver. */
#define SHORT ((size_t)64 << 10)

/* How long a send waits for room in a full ring: what its receiver needs for
 * many messages, staged ones too that are ahead of those in the ring. Else one
 * that is staged makes the next one miss its place, for ever (measured). */
enum { PATIENCE_NS = 2000000 };

/* Host memory goes through a copy of ours if it is not in one piece, and when a
 * send is short, so that it need not wait for its receiver. */
static bool needs_copy(const struct mgds_op *op)
{
    if (op->bytes == 0)
        return false;
    return !mgds_layout_is_dense(op->user.layout) ||
           (op->send && op->bytes <= SHORT);
}

/* What lets a stream of its own and somebody else take a message, one of them.
 */
static bool make_claim(struct mgds_op *op)
{
    op->claim = mgds_gstream_claim(op->line->stream);
    op->gen = mgds_claims_generation();
    return op->claim != NULL;
}

/* Long messages are copied so, and without it only by somebody else. */
static bool may_be_long(const struct mgds_op *op)
{
    uint64_t least = mgds_ctx()->config.pull;

    return op->taker && least != 0 && op->bytes >= least;
}

static int make_room_now(struct mgds_op *op)
{
    struct mgds_piece *piece;
    int rc =
        mgds_bounce_take_room(&piece, op->bounce, op->bytes, MGDS_POOL_HELD);

    if (rc == 0) {
        mgds_bounce_give_room(op->bounce, piece);
    } else {
        mgds_bounce_destroy(op->bounce);
        op->bounce = NULL;
    }
    return rc;
}

/* A receive that its stream takes may get room when its message turns out to
 * need it (room.h), if it has a claim. So it is posted at least, where there is
 * none now: what has the memory may depend on that. */
static int make_taker_bounce(struct mgds_op *op, struct mgds_gstream *stream)
{
    int rc = mgds_gstream_bounce_later(&op->bounce, stream, &op->user);

    if (rc < 0 || !mgds_bounce_needs_room(op->bounce))
        return rc;
    return op->claim || make_claim(op) ? 0 : make_room_now(op);
}

/* For the stream, if it is enqueued or a receive that the stream could be made
 * to wait for; if the buffer is not for it, for host calls alone. */
static int make_bounce(struct mgds_op *op, struct mgds_gstream *stream)
{
    int rc = -EXDEV;

    if (stream)
        rc = op->taker ? make_taker_bounce(op, stream)
                       : mgds_gstream_bounce(&op->bounce, stream, &op->user);
    if (rc == 0)
        op->stream = mgds_gstream_get(stream);
    if (rc == 0 || op->line)
        return rc;
    return mgds_bounce_create(&op->bounce, &op->user, MGDS_BOUNCE_PACKED);
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
    if (op->send && op->protocol->slotted)
        return 0;
    if (op->bytes == 0 && op->taker)
        op->stream = mgds_gstream_get(stream);
    if (gpu && op->bytes > 0) {
        int rc = make_bounce(op, stream);

        if (op->bounce)
            mgds_op_count_staged();
        return rc;
    }
    if (gpu || !needs_copy(op))
        return 0;
    op->copy = (char *)mgds_malloc(op->bytes);
    return op->copy ? 0 : -ENOMEM;
}

static void let_others_go_on(void)
{
    uint64_t end = mgds_clock_ns() + MGDS_MEANS_AGAIN_NS;

    do {
        mgds_op_progress();
        sched_yield();
    } while (mgds_clock_ns() < end);
}

/* Nobody got any for so long. */
static bool is_late(uint64_t begin)
{
    uint64_t given = mgds_rooms_given();
    uint64_t since = given > begin ? given : begin;

    return mgds_clock_ns() >= since + MGDS_MEANS_PATIENCE_NS;
}

/* While others have the memory that are under way, or had: what is idle goes at
 * a safe point. */
static int wait_for_room(struct mgds_op *op, bool gpu,
                         struct mgds_gstream *stream)
{
    uint64_t begin = mgds_clock_ns();
    int rc;

    mgds_domains_safe_point();
    while ((rc = make_room(op, gpu, stream)) == -ENOMEM &&
           mgds_ops_any_staged() && !is_late(begin)) {
        let_others_go_on();
        mgds_domains_safe_point();
    }
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

static unsigned select_for(const struct mgds_op *op,
                           const struct mgds_domain *domain,
                           const struct mgds_xfer *xfer)
{
    const struct mgds_config *config = &mgds_ctx()->config;
    const struct mgds_lane *lane =
        mgds_landing_lane(domain->landing, xfer->from_index,
                          domain->base[xfer->peer] + xfer->to_index);
    const struct mgds_select_facts facts = {
        .bytes = op->bytes,
        .eager_most = config->eager,
        .rget_least = config->pull,
        .fits = mgds_means_fit(op, xfer),
        .sync = xfer->sync,
        .stands_for_itself = xfer->stands && xfer->peer == (int)domain->rank &&
                             xfer->from_index == xfer->to_index,
        .slots = lane != NULL,
        .words = mgds_lane_pulls(lane)};

    return mgds_select(&facts);
}

/* True if it may help to look again for a place in the receiver's ring. */
static bool look_for_place(struct mgds_op *op, const struct mgds_domain *domain,
                           const struct mgds_xfer *xfer, bool late)
{
    const struct mgds_landing *landing = domain->landing;
    unsigned to = domain->base[xfer->peer] + xfer->to_index;
    bool full;

    op->lane = mgds_landing_place(landing, xfer->from_index, to, op->bytes,
                                  &op->place);
    if (op->lane)
        op->protocol = &mgds_eager;
    full = !op->lane &&
           mgds_landing_is_full(landing, xfer->from_index, to, op->bytes,
                                mgds_require_direct(op, xfer));
    if (full && late)
        mgds_landing_despair(landing, xfer->from_index, to);
    return full && !late;
}

/* A place in the receiver's ring, if there is one. */
static void take_place(struct mgds_op *op, const struct mgds_domain *domain,
                       const struct mgds_xfer *xfer)
{
    uint64_t patience =
        mgds_require_direct(op, xfer) ? MGDS_MEANS_INSIST_NS : PATIENCE_NS;
    uint64_t begin = 0;
    bool late = false;

    mgds_engine_enter();
    while (mgds_domain_lost(domain, xfer->peer) == 0 &&
           look_for_place(op, domain, xfer, late)) {
        mgds_engine_leave();
        if (begin == 0)
            begin = mgds_clock_ns();
        mgds_wire_progress();
        if (patience > PATIENCE_NS && xfer->idle)
            xfer->idle();
        late = mgds_clock_ns() - begin > patience;
        mgds_engine_enter();
    }
    mgds_engine_leave();
}

void mgds_means_cancel(struct mgds_op *op)
{
    if (op->protocol == &mgds_eager) {
        mgds_engine_enter();
        mgds_landing_give(op->lane, &op->place);
        mgds_engine_leave();
    }
    mgds_rget_cancel(op);
}

/* Whether kernels of the stream that its messages come to may put them in
 * place. */
static bool is_near(const struct mgds_op *op, const struct mgds_domain *domain,
                    const struct mgds_xfer *xfer,
                    const struct mgds_gstream *stream)
{
    return !op->send && stream &&
           mgds_landing_takes(domain->landing, xfer->to_index) &&
           (op->bytes == 0 ||
            (xfer->gpu && mgds_gstream_takes(stream, &op->user)));
}

int mgds_means_make(struct mgds_op *op, struct mgds_domain *domain,
                    const struct mgds_xfer *xfer)
{
    struct mgds_gstream *stream = stream_of(op, domain, xfer);
    int rc;

    op->may = op->send ? select_for(op, domain, xfer) : 0;
    if (mgds_op_might(op, MGDS_PROTOCOL_RGET) &&
        !mgds_rget_try(op, domain, xfer))
        op->may &= ~(1u << MGDS_PROTOCOL_RGET);
    op->near = is_near(op, domain, xfer, stream);
    op->taker = op->near && op->line;
    if (may_be_long(op))
        make_claim(op);
    if (mgds_op_might(op, MGDS_PROTOCOL_RGET) && !op->protocol->copied &&
        op->bytes > mgds_ctx()->config.eager && mgds_require_direct(op, xfer))
        mgds_rget_insist(op, domain, xfer);
    if (mgds_op_might(op, MGDS_PROTOCOL_EAGER) && !op->protocol->slotted)
        take_place(op, domain, xfer);
    rc = make_room(op, xfer->gpu, stream);
    if (rc == -ENOMEM && mgds_op_might(op, MGDS_PROTOCOL_RGET))
        rc = mgds_rget_insist(op, domain, xfer);
    if (rc == -ENOMEM)
        rc = wait_for_room(op, xfer->gpu, stream);
    else if (op->claim && mgds_pools_short())
        mgds_domains_safe_point(); /* for what receives will need later */
    if (xfer->gpu)
        mgds_room_explain(rc);
    return rc == 0 ? make_words(op) : rc;
}
