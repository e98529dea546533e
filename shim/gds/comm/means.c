/* What operations need; see means.h. */
#include "shim/gds/comm/means.h"

#include <errno.h>
#include <sched.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/fault.h"
#include "shim/ctx.h"
#include "shim/gds/comm/group.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/rget.h"
#include "shim/gds/proto/select.h"
#include "shim/gds/comm/require.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/mem/stock.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/wire/wire.h"

/* A send of host memory up to this is copied: it ends without its receiver. */
#define SHORT ((size_t)64 << 10)

/* How long a send waits for room in a full ring: what its receiver needs for
 * many messages, staged ones too that are ahead of those in the ring. Else one
 * that is staged makes the next one miss its place, for ever (measured). */
enum { PATIENCE_NS = 2000000 };

/* How long a call waits for what a long message needs, which a caller that is
 * ahead of its stream gets when the stream goes on. Long messages take longer
 * than short ones, and longer still where they are staged. */
enum { LONG_PATIENCE_NS = 10000000 };

/* Host memory goes through a copy of ours if it is not in one piece, and when a
 * send is short, or buffered, so that it need not wait for its receiver. */
static bool needs_copy(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    if (op->call->bytes == 0)
        return false;
    return !mgds_layout_is_dense(op->call->user.layout) ||
           (op->send && (op->call->bytes <= SHORT || xfer->buffered));
}

/* What a long message needs may come back meanwhile: true if this has lasted
 * too long. begin: 0 the first time. */
static bool has_waited(uint64_t *begin)
{
    if (*begin == 0)
        *begin = mgds_clock_ns();
    mgds_groups_relieve();
    mgds_op_progress();
    sched_yield();
    return mgds_clock_ns() - *begin > LONG_PATIENCE_NS;
}

/* What lets a stream of its own and somebody else take a message, one of them.
 * The generation is later than that of whoever had the claim before. */
static bool make_claim(struct mgds_op *op)
{
    struct mgds_gstream *stream = op->timeline->stream;
    uint64_t begin = 0;

    while (!(op->recv->claim = mgds_gstream_claim_long(stream)) &&
           mgds_gstream_may_claim(stream))
        if (has_waited(&begin))
            mgds_gstream_despair(stream);
    op->recv->gen = mgds_claims_generation();
    return op->recv->claim != NULL;
}

/* Long messages are copied so, and without it only by somebody else. */
static bool may_be_long(const struct mgds_op *op)
{
    uint64_t least = mgds_ctx()->config.pull;

    return mgds_op_can_take(op) && least != 0 && op->call->bytes >= least;
}

/* Kernels copy between it and fragments, of which there are some. */
static bool may_flow(const struct mgds_op *op, struct mgds_gstream *stream)
{
    return mgds_gstream_stock(stream, op->send != NULL)->bytes > 0 &&
           mgds_gstream_has_kernels(stream) &&
           (mgds_op_is_near(op) || mgds_gstream_takes(stream, &op->call->user));
}

/* Kernels that its stream stands in serve orders. */
static void make_serving(struct mgds_op *op)
{
    if (!op->timeline)
        return;
    op->call->is |= MGDS_OP_SERVES;
    mgds_gstream_serve(op->timeline->stream, 1);
}

/* Its bytes go in parts if that turns out to be needed (proto/flow.h). If they
 * cannot, they are staged in ordinary memory: of a send when it is asked for
 * (proto/fallback.h), of a receive at once (proto/lift.h). */
static int make_lean(struct mgds_op *op, bool flows, bool whole)
{
    const struct mgds_buffer *user = &op->call->user;
    int rc = 0;

    if (op->recv && !flows) {
        op->call->is |= MGDS_OP_ORDINARY;
        return mgds_bounce_create(&op->bounce, user, MGDS_BOUNCE_PACKED);
    }
    if (flows)
        rc = mgds_bounce_create(&op->bounce, user,
                                whole ? MGDS_BOUNCE_LATER : MGDS_BOUNCE_BARE);
    if (rc < 0 || (op->bounce && !mgds_bounce_needs_room(op->bounce)))
        return rc;
    op->call->is |= MGDS_OP_LEAN;
    if (op->bounce)
        make_serving(op);
    return 0;
}

/* Behind a call that is over without its receiver, or that stands ahead of the
 * receive itself. */
static bool must_not_wait(const struct mgds_op *op,
                          const struct mgds_comm *comm,
                          const struct mgds_xfer *xfer)
{
    return op->send &&
           (xfer->buffered || (xfer->stands && xfer->peer == (int)comm->rank));
}

/* Fragments of a long message are copied while the wire has others, and are in
 * a cache still when they are used again; but such a send ends when its
 * receiver has it. Where processes share a GPU each copy would wait for its
 * turn. */
static bool is_better_whole(const struct mgds_op *op,
                            const struct mgds_comm *comm,
                            const struct mgds_xfer *xfer)
{
    return op->call->bytes <= mgds_ctx()->config.whole ||
           must_not_wait(op, comm, xfer) ||
           mgds_channels_share_gpu(comm->channels, mgds_op_own_index(op));
}

/* Memory for all of it, if that is better and there is some at hand. One that
 * its stream takes may never need it. */
static int make_stream_bounce(struct mgds_op *op, struct mgds_gstream *stream,
                              bool whole)
{
    bool flows = may_flow(op, stream);
    int rc = -ENOMEM;

    if (!flows || (whole && !mgds_op_can_take(op)))
        rc = mgds_gstream_bounce(&op->bounce, stream, &op->call->user);
    return rc == -ENOMEM ? make_lean(op, flows, whole) : rc;
}

/* For the stream, if it is enqueued or a receive that the stream could be made
 * to wait for; if the buffer is not for it, for host calls alone. */
static int make_bounce(struct mgds_op *op, struct mgds_gstream *stream,
                       bool whole)
{
    int rc = -EXDEV;

    if (stream)
        rc = make_stream_bounce(op, stream, whole);
    if (rc == 0)
        op->stream = mgds_gstream_get(stream);
    if (rc == 0 || op->timeline)
        return rc;
    return mgds_bounce_create(&op->bounce, &op->call->user, MGDS_BOUNCE_PACKED);
}

/* A send that must not wait, and has no memory of ours, goes to ordinary memory
 * when its stream comes to it. */
static int make_gpu_room(struct mgds_op *op, const struct mgds_comm *comm,
                         const struct mgds_xfer *xfer,
                         struct mgds_gstream *stream)
{
    int rc = make_bounce(op, stream, is_better_whole(op, comm, xfer));

    if (rc == 0 && op->call->is & MGDS_OP_SERVES &&
        must_not_wait(op, comm, xfer))
        op->call->is |= MGDS_OP_ORDINARY;
    return rc;
}

/* A record and a count for the stream. */
static int make_words(struct mgds_op *op)
{
    if (op->send || !op->stream)
        return 0;
    return mgds_syncwords_take(&op->recv->words,
                               mgds_gstream_words(op->stream));
}

static int make_room(struct mgds_op *op, const struct mgds_comm *comm,
                     const struct mgds_xfer *xfer, struct mgds_gstream *stream)
{
    if (op->send && op->send->protocol->slotted)
        return 0;
    if (op->call->bytes == 0 && mgds_op_can_take(op))
        op->stream = mgds_gstream_get(stream);
    if (xfer->gpu && op->call->bytes > 0)
        return make_gpu_room(op, comm, xfer, stream);
    if (xfer->gpu || !needs_copy(op, xfer))
        return 0;
    op->copy = (char *)mgds_malloc(op->call->bytes);
    return op->copy ? 0 : -ENOMEM;
}

/* Kernels of the stream read or write all of the buffer, in a row. */
static bool is_reached(const struct mgds_op *op, const struct mgds_xfer *xfer,
                       const struct mgds_gstream *stream)
{
    return op->call->bytes == 0 ||
           (xfer->gpu && mgds_gstream_takes(stream, &op->call->user));
}

bool mgds_means_fit(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return op->timeline && is_reached(op, xfer, op->timeline->stream);
}

/* That it is enqueued on, or that could be made to wait for it. */
static struct mgds_gstream *stream_of(const struct mgds_op *op,
                                      const struct mgds_comm *comm,
                                      const struct mgds_xfer *xfer)
{
    if (op->timeline)
        return op->timeline->stream;
    return op->send || comm->streams == 0 ? NULL : comm->stream[xfer->to_index];
}

static unsigned select_for(const struct mgds_op *op,
                           const struct mgds_comm *comm,
                           const struct mgds_xfer *xfer)
{
    const struct mgds_config *config = &mgds_ctx()->config;
    const struct mgds_channel *channel = mgds_comm_channel(
        comm, xfer->from_index, (unsigned)xfer->peer, xfer->to_index);
    const struct mgds_select_facts facts = {
        .bytes = op->call->bytes,
        .eager_most = config->eager,
        .rget_least = xfer->buffered ? 0 : config->pull,
        .fits = mgds_means_fit(op, xfer),
        .sync = xfer->sync,
        .stands_for_itself = xfer->stands && xfer->peer == (int)comm->rank &&
                             xfer->from_index == xfer->to_index,
        .slots = channel != NULL,
        .words = mgds_channel_can_get(channel)};

    return mgds_select(&facts);
}

/* All of the channel's that may come back is what this thread's own group has
 * collected. Of a ring that is full of other channels' messages some may. */
static bool is_own_alone(const struct mgds_channel *channel)
{
    unsigned held = mgds_groups_hold(channel);

    return held > 0 && mgds_channel_out(channel) <= held;
}

/* True if it may help to try again to get a slot in the receiver's ring. */
static bool try_slot(struct mgds_op *op, const struct mgds_comm *comm,
                     const struct mgds_xfer *xfer, bool late)
{
    struct mgds_channel *channel = mgds_comm_channel(
        comm, xfer->from_index, (unsigned)xfer->peer, xfer->to_index);
    bool direct, full;

    if (mgds_channel_take_slot(channel, op->call->bytes, &op->ring->slot)) {
        op->send->protocol = &mgds_eager;
        op->send->transport = mgds_channel_transport(channel);
        op->ring->channel = channel;
        return false;
    }
    direct = mgds_require_direct(op, xfer);
    if (mgds_channel_is_coming(channel, op->call->bytes, direct && !late))
        return true;
    full = mgds_channel_is_full(channel, op->call->bytes, direct) &&
           !is_own_alone(channel);
    if (full && late)
        mgds_channel_despair(channel);
    return full && !late;
}

/* The same of the words for a message that its receiver copies. */
static bool may_get_words(const struct mgds_comm *comm,
                          const struct mgds_xfer *xfer, bool late)
{
    struct mgds_channel *channel = mgds_comm_channel(
        comm, xfer->from_index, (unsigned)xfer->peer, xfer->to_index);
    bool lost, coming, spent;

    mgds_engine_enter();
    lost = mgds_comm_lost(comm, xfer->peer) < 0;
    coming = !lost && mgds_channel_words_are_coming(channel, false);
    spent = !lost && mgds_channel_is_spent(channel) && !is_own_alone(channel);
    if (spent && late)
        mgds_channel_despair(channel);
    mgds_engine_leave();
    return coming || (spent && !late);
}

/* What the sender of a long message needs, or the message goes another way. */
static void take_words(struct mgds_op *op, struct mgds_comm *comm,
                       const struct mgds_xfer *xfer)
{
    uint64_t begin = 0;
    bool late = false;

    while (!mgds_rget_try(op, comm, xfer)) {
        if (!may_get_words(comm, xfer, late)) {
            op->send->may &= ~(1u << MGDS_PROTOCOL_RGET);
            return;
        }
        late = has_waited(&begin);
    }
}

/* True if this has lasted too long. begin: 0 the first time. */
static bool has_waited_for_slot(const struct mgds_op *op,
                                const struct mgds_xfer *xfer, uint64_t *begin)
{
    bool insists = mgds_require_direct(op, xfer);

    if (*begin == 0)
        *begin = mgds_clock_ns();
    mgds_groups_relieve();
    mgds_wire_progress();
    mgds_works_run_kind(MGDS_WORK_MAKE_RING, MGDS_WORK_BY_HOST);
    mgds_works_run_kind(MGDS_WORK_MAP_RING, MGDS_WORK_BY_HOST);
    if (insists && xfer->idle)
        xfer->idle();
    return mgds_clock_ns() - *begin >
           (insists ? MGDS_MEANS_INSIST_NS : PATIENCE_NS);
}

/* A slot in the receiver's ring, if there is one. */
static void take_slot(struct mgds_op *op, const struct mgds_comm *comm,
                      const struct mgds_xfer *xfer)
{
    uint64_t begin = 0;
    bool late = false;

    mgds_engine_enter();
    while (mgds_comm_lost(comm, xfer->peer) == 0 &&
           try_slot(op, comm, xfer, late)) {
        mgds_engine_leave();
        late = has_waited_for_slot(op, xfer, &begin);
        mgds_engine_enter();
    }
    mgds_engine_leave();
}

void mgds_means_cancel(struct mgds_op *op)
{
    if (!op->ring || !op->ring->channel)
        return;
    mgds_engine_enter();
    mgds_channel_give_slot(op->ring->channel, &op->ring->slot);
    mgds_rget_cancel(op);
    mgds_engine_leave();
}

/* Whether kernels of the stream that its messages come to may put them in
 * place. */
static bool is_near(const struct mgds_op *op, const struct mgds_comm *comm,
                    const struct mgds_xfer *xfer,
                    const struct mgds_gstream *stream)
{
    return !op->send && stream &&
           mgds_channels_can_take(comm->channels, xfer->to_index) &&
           is_reached(op, xfer, stream);
}

int mgds_means_make(struct mgds_op *op, struct mgds_comm *comm,
                    const struct mgds_xfer *xfer)
{
    struct mgds_gstream *stream = stream_of(op, comm, xfer);
    int rc;

    if (op->send)
        op->send->may = select_for(op, comm, xfer);
    if (mgds_op_might(op, MGDS_PROTOCOL_RGET))
        take_words(op, comm, xfer);
    if (is_near(op, comm, xfer, stream))
        op->call->is |= MGDS_OP_NEAR;
    if (may_be_long(op))
        make_claim(op);
    if (mgds_op_might(op, MGDS_PROTOCOL_RGET) && !op->send->protocol->copied &&
        op->call->bytes > mgds_ctx()->config.eager &&
        mgds_require_direct(op, xfer))
        mgds_rget_insist(op, comm, xfer);
    if (mgds_op_might(op, MGDS_PROTOCOL_EAGER) && !op->send->protocol->slotted)
        take_slot(op, comm, xfer);
    rc = make_room(op, comm, xfer, stream);
    return rc == 0 ? make_words(op) : rc;
}
