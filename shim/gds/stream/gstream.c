/* Streams, tickets and turns; see gstream.h. */
#include "shim/gds/stream/gstream.h"

#include <errno.h>
#include <stdlib.h>

#include "device/abi.h"
#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/stream/gpu.h"
#include "shim/gds/stream/hwqueue.h"
#include "shim/gds/stream/gstream_state.h"
#include "shim/gds/stream/order.h"
#include "shim/gds/stream/quits.h"
#include "shim/gds/stream/own.h"
#include "shim/gds/stream/reach.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"
#include "shim/gds/stream/commands.h"
#include "shim/gds/mem/bounce_state.h"

/* Of a kernel that waits for a message in a ring: what 64 KiB gain by more was
 * measured to be nothing. One that copies a long message fills the link. */
enum { BLOCKS = 8, LONG_BLOCKS = MGDS_GSTREAM_LONG };

struct mgds_context *mgds_gstream_context(const struct mgds_gstream *stream)
{
    return stream->gpu->ctx;
}

uint64_t mgds_gstream_name(const struct mgds_gstream *stream)
{
    return (uintptr_t)stream->native;
}

/* Fewer where other streams have most of what there is. */
static unsigned grant_blocks(const struct mgds_context *ctx)
{
    unsigned processors = mgds_kernel_processors(ctx);
    unsigned blocks = mgds_hwqueue_grant(ctx->device, LONG_BLOCKS, processors);

    return blocks ? blocks
                  : mgds_hwqueue_grant(ctx->device, BLOCKS, processors);
}

/* Without memory of its own a stream tells all in host memory, and each of its
 * kernels is one block. */
static void equip_stream(struct mgds_gstream *stream)
{
    struct mgds_context *ctx = stream->gpu->ctx;
    int rc;

    if (!mgds_gstream_has_kernels(stream))
        return;
    rc = mgds_own_create(&stream->own, stream->gpu);
    if (rc == 0) {
        mgds_orders_cell(&stream->orders,
                         &((struct mgds_own *)stream->own->addr)->stream);
        stream->blocks = grant_blocks(ctx);
        if (stream->blocks < LONG_BLOCKS)
            mgds_count(streams_few_blocks);
        return;
    }
    errno = -rc;
    mgds_debug("a stream has no memory of its own on the GPU: %m");
}

static int init_stream(struct mgds_gstream *stream, void *native)
{
    struct mgds_context *ctx;
    int rc = mgds_context_of_stream(&ctx, native);

    if (rc < 0)
        return rc;
    rc = mgds_gpu_of(&stream->gpu, ctx);
    mgds_context_put(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_syncwords_take(&stream->line, stream->gpu->words);
    if (rc < 0)
        goto put_gpu;
    mgds_quits_init(&stream->quits, stream->line);
    rc = mgds_orders_init(&stream->orders, stream->gpu->words, stream->line);
    if (rc < 0)
        goto give_line;
    rc = mgds_lock_init(&stream->launch, MGDS_LOCK_LAUNCH);
    if (rc < 0)
        goto fini_orders;
    rc = -pthread_cond_init(&stream->turned, NULL);
    if (rc < 0)
        goto fini_lock;
    stream->ticket = stream->turn = stream->take = MGDS_COUNT_FROM;
    stream->fetched = MGDS_COUNT_FROM;
    stream->native = native;
    stream->maker = pthread_self();
    stream->refs = 1;
    equip_stream(stream);
    return 0;
fini_lock:
    mgds_lock_fini(&stream->launch);
fini_orders:
    mgds_orders_fini(&stream->orders, stream->gpu->words);
give_line:
    mgds_syncwords_give(stream->gpu->words, stream->line);
put_gpu:
    mgds_gpu_put(stream->gpu);
    return rc;
}

int mgds_gstream_create(struct mgds_gstream **out, void *native)
{
    struct mgds_gstream *stream;
    int rc = mgds_driver_require();

    if (rc < 0)
        return rc;
    stream = (struct mgds_gstream *)mgds_calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    rc = init_stream(stream, native);
    if (rc < 0) {
        free(stream);
        return rc;
    }
    mgds_gpu_meet(stream->gpu);
    mgds_hwqueue_tell();
    *out = stream;
    return 0;
}

struct mgds_gstream *mgds_gstream_get(struct mgds_gstream *stream)
{
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
    return stream;
}

/* The timeline, for who finds it without the engine's lock. */
void mgds_gstream_set_timeline(struct mgds_gstream *stream,
                               struct mgds_timeline *timeline)
{
    __atomic_store_n(&stream->timeline, timeline, __ATOMIC_RELEASE);
}

struct mgds_timeline *mgds_gstream_timeline(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->timeline, __ATOMIC_ACQUIRE);
}

static void end_sides(struct mgds_side *side)
{
    while (side) {
        struct mgds_side *next = side->next;

        mgds_side_destroy(side);
        side = next;
    }
}

static unsigned alone; /* atomic: how often one reference was left */

unsigned mgds_gstreams_alone(void)
{
    return __atomic_load_n(&alone, __ATOMIC_ACQUIRE);
}

bool mgds_gstream_is_alone(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->refs, __ATOMIC_ACQUIRE) == 1;
}

/* Of the stream and its sides. */
static void tell_hwqueue(const struct mgds_gstream *stream, uint64_t beside,
                         void (*tell)(int device))
{
    tell(mgds_gstream_context(stream)->device);
    for (; beside; beside &= beside - 1)
        tell(__builtin_ctzll(beside));
}

/* Below zero while a report that a wait is over is ahead of its put: what it
 * waits for is known as soon as its thread has let go of the engine. */
static void count_standing(struct mgds_gstream *stream, int more)
{
    uint64_t beside = __atomic_load_n(&stream->beside, __ATOMIC_RELAXED);
    int before = __atomic_fetch_add(&stream->waits, more, __ATOMIC_RELAXED);

    if (before <= 0 && before + more > 0) {
        __atomic_store_n(&stream->gated, beside, __ATOMIC_RELAXED);
        tell_hwqueue(stream, beside, mgds_hwqueue_enter);
    } else if (before > 0 && before + more <= 0) {
        beside = __atomic_load_n(&stream->gated, __ATOMIC_RELAXED);
        tell_hwqueue(stream, beside, mgds_hwqueue_leave);
    }
}

void mgds_gstream_release(struct mgds_gstream *stream)
{
    unsigned refs;
    int waits;

    refs = __atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL);
    if (refs == 1)
        __atomic_fetch_add(&alone, 1, __ATOMIC_RELEASE);
    if (refs > 0)
        return;
    waits = __atomic_load_n(&stream->waits, __ATOMIC_RELAXED);
    if (waits > 0)
        count_standing(stream, -waits);
    mgds_hwqueue_return(mgds_gstream_context(stream)->device, stream->blocks);
    if (stream->own)
        mgds_own_give(stream->own, stream->gpu);
    end_sides(stream->sides);
    mgds_events_fini(&stream->events);
    pthread_cond_destroy(&stream->turned);
    mgds_lock_fini(&stream->launch);
    mgds_orders_fini(&stream->orders, stream->gpu->words);
    mgds_quits_fini(&stream->quits, stream->gpu->words);
    mgds_syncwords_give(stream->gpu->words, stream->line);
    mgds_gpu_put(stream->gpu);
    free(stream);
}

/* In another thread the handle means another stream. */
static int check_thread(const struct mgds_gstream *stream)
{
    if (!mgds_stream_is_per_thread(stream->native) ||
        pthread_equal(stream->maker, pthread_self()))
        return 0;
    mgds_warn_once("the per-thread stream was used in another thread than the "
                   "one that made it an MPIX_Stream, where it is another "
                   "stream: make one in each thread, or use streams of your "
                   "own");
    return -EPERM;
}

int mgds_gstream_capturing(struct mgds_gstream *stream)
{
    const struct mgds_context *ctx = mgds_gstream_context(stream);
    int rc = check_thread(stream);

    if (rc < 0)
        return rc;
    if (!mgds_stream_is_current(stream->native))
        return mgds_context_lives(ctx) ? mgds_stream_capturing(stream->native)
                                       : -ESHUTDOWN;
    rc = mgds_context_enter(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_stream_capturing(stream->native);
    mgds_context_leave();
    return rc;
}

struct mgds_syncwords *mgds_gstream_words(struct mgds_gstream *stream)
{
    return stream->gpu->words;
}

static struct mgds_side *first_side(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->sides, __ATOMIC_ACQUIRE);
}

/* Puts the side in, unless another thread was faster: the one that is in. */
static struct mgds_side *insert_side(struct mgds_gstream *stream,
                                     struct mgds_side *fresh)
{
    const struct mgds_context *ctx = fresh->gpu->ctx;
    struct mgds_side *found;

    fresh->next = first_side(stream);
    do {
        found = mgds_side_find(fresh->next, ctx);
        if (found) {
            mgds_side_destroy(fresh);
            return found;
        }
    } while (!__atomic_compare_exchange_n(&stream->sides, &fresh->next, fresh,
                                          false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    if (ctx->device < MGDS_HWQUEUE_DEVICES)
        __atomic_or_fetch(&stream->beside, 1ULL << ctx->device,
                          __ATOMIC_RELAXED);
    return fresh;
}

/* 0 if a side of the stream reaches all of the buffer. Without the launch lock,
 * which is held where a full stream blocks. */
static int adopt_aside(struct mgds_gstream *stream,
                       const struct mgds_bounce *bounce)
{
    struct mgds_context *ctx = bounce->queue->ctx;
    struct mgds_side *side = mgds_side_find(first_side(stream), ctx);
    int rc = ctx == stream->gpu->ctx ? -EXDEV : 0;

    if (rc == 0 && !side) {
        rc = mgds_side_create(&side, stream->gpu->ctx, ctx);
        if (rc == 0)
            side = insert_side(stream, side);
    }
    return rc < 0 ? rc : mgds_reach_check(bounce, side->gpu);
}

int mgds_gstream_adopt(struct mgds_gstream *stream,
                       const struct mgds_bounce *bounce)
{
    int rc = mgds_reach_check(bounce, stream->gpu);

    if (rc == -EXDEV)
        rc = adopt_aside(stream, bounce);
    if (rc == -EXDEV)
        mgds_warn("a buffer that lies on several GPUs, or in several contexts, "
                  "was given to a stream of GPU %d: let them access each "
                  "other's memory (cuCtxEnablePeerAccess), or send what lies "
                  "on each in a message of its own",
                  stream->gpu->ctx->device);
    return rc;
}

bool mgds_gstream_takes(const struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer)
{
    return mgds_layout_is_dense(buffer->layout) &&
           mgds_reach_ptr(&buffer->ptr, stream->gpu) == 0;
}

int mgds_gstream_bounce(struct mgds_bounce **out, struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer)
{
    struct mgds_bounce *bounce;
    int rc = mgds_bounce_create(&bounce, buffer, MGDS_BOUNCE_STREAM);

    if (rc < 0)
        return rc;
    rc = mgds_gstream_adopt(stream, bounce);
    if (rc < 0)
        mgds_bounce_destroy(bounce);
    else
        *out = bounce;
    return rc;
}

struct mgds_stock *mgds_gstream_stock(struct mgds_gstream *stream, bool out)
{
    return out ? &stream->gpu->out : &stream->gpu->in;
}

uint64_t mgds_gstream_ticket(struct mgds_gstream *stream)
{
    return __atomic_fetch_add(&stream->ticket, 1, __ATOMIC_RELAXED);
}

static void clear_results(struct mgds_command *commands, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        commands[i].put = commands[i].joins = false;
}

/* Those at which the stream may stand, and that are not on it. */
static unsigned count_waits(const struct mgds_command *commands, unsigned count)
{
    unsigned waits = 0;

    for (unsigned i = 0; i < count; i++)
        waits += mgds_command_row(&commands[i])->blocks != MGDS_BLOCKS_NEVER &&
                 !commands[i].put;
    return waits;
}

void mgds_gstream_passed(struct mgds_gstream *stream, unsigned waits)
{
    if (waits > 0)
        count_standing(stream, -(int)waits);
}

static int queue_commands(struct mgds_gstream *stream,
                          struct mgds_command *commands, unsigned count)
    MGDS_REQUIRES(stream->launch)
{
    struct mgds_own *own = mgds_gstream_own(stream);
    unsigned blocks = stream->blocks ? stream->blocks : 1;
    const struct mgds_commands_to to = {.gpu = stream->gpu,
                                        .stream = stream->native,
                                        .desk = mgds_gstream_desk(stream),
                                        .sides = first_side(stream),
                                        .cell = own ? &own->stream : NULL,
                                        .cells = own ? &own->exchange : NULL,
                                        .blocks =
                                            blocks < BLOCKS ? blocks : BLOCKS,
                                        .longs = blocks,
                                        .turn = &stream->take,
                                        .events = &stream->events,
                                        .claims = &stream->claims};
    int rc = mgds_context_enter(mgds_gstream_context(stream));

    if (rc < 0)
        return rc;
    rc = mgds_commands_queue(&to, commands, count);
    mgds_context_leave();
    return rc;
}

static void await_turn(struct mgds_gstream *stream, uint64_t ticket)
    MGDS_REQUIRES(stream->launch)
{
    while (stream->turn != ticket)
        pthread_cond_wait(&stream->turned, &stream->launch.mutex);
}

/* Kernels that stand where no kernel may. */
static int check_commands(const struct mgds_gstream *stream,
                          const struct mgds_command *commands, unsigned count)
{
    if (mgds_gstream_has_kernels(stream))
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (commands[i].kind == MGDS_COMMAND_POST ||
            commands[i].kind == MGDS_COMMAND_AWAIT ||
            mgds_command_is_long(&commands[i]))
            return -ENOTSUP;
    return 0;
}

int mgds_gstream_put(struct mgds_gstream *stream, uint64_t ticket,
                     struct mgds_command *commands, unsigned count)
{
    int rc = check_commands(stream, commands, count);
    unsigned waits;

    clear_results(commands, count);
    waits = count_waits(commands, count);
    mgds_lock_acquire(&stream->launch);
    await_turn(stream, ticket);
    if (waits > 0)
        count_standing(stream, (int)waits);
    if (count > 0 && rc == 0)
        rc = queue_commands(stream, commands, count);
    stream->turn++;
    pthread_cond_broadcast(&stream->turned);
    mgds_lock_release(&stream->launch);
    if (rc < 0) { /* else all are put */
        mgds_gstream_passed(stream, count_waits(commands, count));
        mgds_gstream_fail(stream, rc);
    }
    return rc;
}

uint64_t mgds_gstream_come(struct mgds_gstream *stream, uint64_t from)
{
    return mgds_events_come(&stream->events, from);
}

bool mgds_gstream_can_be_quiet(const struct mgds_gstream *stream)
{
    return stream->own != NULL;
}

struct mgds_quits *mgds_gstream_quits(struct mgds_gstream *stream)
{
    return &stream->quits;
}

void mgds_gstream_abort(struct mgds_gstream *stream)
{
    mgds_quits_all(&stream->quits);
}

void mgds_gstream_fail(struct mgds_gstream *stream, int error)
{
    int none = 0;

    __atomic_compare_exchange_n(&stream->error, &none, error, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int mgds_gstream_error(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->error, __ATOMIC_RELAXED);
}

bool mgds_gstream_has_kernels(const struct mgds_gstream *stream)
{
    (void)stream;
    return mgds_ctx()->config.trigger != MGDS_TRIGGER_MEMOP;
}

bool mgds_gstream_is_narrow(const struct mgds_gstream *stream)
{
    return stream->gpu->width == 32;
}

bool mgds_gstream_by_memop(const struct mgds_gstream *stream)
{
    return stream->gpu->width > 0;
}
