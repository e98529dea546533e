/* What happens beside the program's stream: questions to it, fetches and
 * orders; see gstream.h. */
#include <errno.h>

#include "device/abi.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/stream/gstream_state.h"
#include "shim/gds/stream/commands.h"

/* The beat first: a number that comes with it is no older. */
struct mgds_stands mgds_gstream_stands(const struct mgds_gstream *stream)
{
    const struct mgds_desk *desk = mgds_gstream_desk(stream);
    struct mgds_stands stands;

    stands.beat = __atomic_load_n(&desk->beat, __ATOMIC_ACQUIRE);
    stands.stand = __atomic_load_n(&desk->stands, __ATOMIC_RELAXED);
    return stands;
}

int mgds_gstream_tell(struct mgds_gstream *stream, uint64_t *to, uint64_t *done,
                      uint64_t number)
{
    const struct mgds_gpu *gpu = stream->gpu;
    const uint64_t *passed = &mgds_gstream_own(stream)->stream.passed;
    const struct mgds_tell_args args = {.from = (uintptr_t)passed,
                                        .to = (uintptr_t)to,
                                        .done = (uintptr_t)done,
                                        .number = number};
    int rc = mgds_context_enter(gpu->ctx);

    if (rc < 0)
        return rc;
    rc = mgds_kernel_launch(gpu->tell, gpu->copyqueue->stream, 1, 1, &args);
    mgds_context_leave();
    return rc;
}

static struct mgds_claim *take_claim(struct mgds_gstream *stream, unsigned most)
{
    struct mgds_own *own = mgds_gstream_own(stream);
    int number = own ? mgds_claims_take(&stream->claims, most) : -1;

    return number < 0 ? NULL : &own->claim[number];
}

struct mgds_claim *mgds_gstream_claim(struct mgds_gstream *stream)
{
    return take_claim(stream, MGDS_GSTREAM_CLAIMS);
}

struct mgds_claim *mgds_gstream_claim_long(struct mgds_gstream *stream)
{
    return take_claim(stream, MGDS_GSTREAM_LONG_CLAIMS);
}

void mgds_gstream_unclaim(struct mgds_gstream *stream, struct mgds_claim *claim)
{
    mgds_claims_give(&stream->claims,
                     (unsigned)(claim - mgds_gstream_own(stream)->claim));
}

void mgds_gstream_serve(struct mgds_gstream *stream, int change)
{
    mgds_claims_serve(&stream->claims, change);
}

bool mgds_gstream_may_claim(const struct mgds_gstream *stream)
{
    return stream->own &&
           !__atomic_load_n(&stream->claims.hopeless, __ATOMIC_RELAXED);
}

void mgds_gstream_despair(struct mgds_gstream *stream)
{
    __atomic_store_n(&stream->claims.hopeless, true, __ATOMIC_RELAXED);
}

int mgds_gstream_fetch(struct mgds_gstream *stream,
                       const struct mgds_command *take, uint64_t *flag,
                       uint64_t value)
{
    struct mgds_own *own = mgds_gstream_own(stream);
    uint64_t turn = __atomic_fetch_add(&stream->fetched, 1, __ATOMIC_RELAXED);
    const struct mgds_commands_to to = {.gpu = stream->gpu,
                                        .stream =
                                            stream->gpu->copyqueue->stream,
                                        .desk = mgds_gstream_desk(stream),
                                        .cell = own ? &own->fetches : NULL,
                                        .longs = own ? MGDS_GSTREAM_LONG : 1,
                                        .turn = &turn};
    const struct mgds_command told = {
        .kind = MGDS_COMMAND_FLAG, .word = flag, .value = value};
    int rc = mgds_gstream_has_kernels(stream) ? 0 : -ENOTSUP;

    if (rc == 0 && (!take->serial || take->record))
        rc = -EINVAL;
    if (rc == 0)
        rc = mgds_context_enter(mgds_gstream_context(stream));
    if (rc < 0)
        return rc;
    rc = mgds_commands_fetch(&to, take, &told);
    mgds_context_leave();
    return rc;
}

/* Where nothing waits, or by the CPU's words alone, nobody would look. */
uint64_t mgds_gstream_order(struct mgds_gstream *stream,
                            const struct mgds_command *take)
{
    if (!take->claim || !take->serial || take->record ||
        !mgds_gstream_has_kernels(stream) ||
        __atomic_load_n(&stream->waits, __ATOMIC_RELAXED) <= 0)
        return 0;
    return mgds_orders_give(&stream->orders, take);
}

void mgds_gstream_order_back(struct mgds_gstream *stream)
{
    mgds_orders_take_back(&stream->orders);
}

bool mgds_gstream_served(const struct mgds_gstream *stream, uint64_t order)
{
    return mgds_orders_served(&stream->orders, order);
}

bool mgds_gstream_is_stalled(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->gpu->copyqueue->stalled, __ATOMIC_RELAXED);
}

void mgds_gstream_note_stalled(struct mgds_gstream *stream, bool stalled)
{
    __atomic_store_n(&stream->gpu->copyqueue->stalled, stalled,
                     __ATOMIC_RELAXED);
}

int mgds_gstream_check(const struct mgds_gstream *stream)
{
    const struct mgds_gpu *gpu = stream->gpu;
    int rc = mgds_context_enter(gpu->ctx);

    if (rc < 0)
        return rc;
    rc = mgds_stream_query(gpu->copyqueue->stream);
    mgds_context_leave();
    return rc == -EIO || rc == -ESHUTDOWN ? rc : 0;
}
