/* Streams, tickets and turns; see gstream.h. */
#include "shim/gds/queue/gstream.h"

#include <errno.h>
#include <stdlib.h>

#include "device/abi.h"
#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/queue/depot.h"
#include "shim/gds/queue/gate.h"
#include "shim/gds/queue/reach.h"
#include "shim/gds/queue/steps.h"
#include "shim/gds/stage/shell.h"

/* Of a kernel that waits for a message: what 64 KiB gain by more was measured
 * to be nothing. */
enum { BLOCKS = 8 };

struct mgds_gstream {
    void *native;
    pthread_t maker; /* the thread that a per-thread stream is of */
    struct mgds_depot *depot;
    struct mgds_shared *own; /* GPU memory: a struct mgds_cell; or NULL */
    unsigned blocks;         /* granted to kernels that wait; 0: one each */
    uint64_t *line;          /* [0]: the abort word */
    uint64_t ticket;         /* atomic: the next to be given */
    unsigned refs;           /* atomic */
    unsigned waits;          /* atomic: put and not passed */
    int error;               /* atomic */
    struct mgds_lock launch;
    pthread_cond_t turned;
    /* under launch */
    uint64_t turn;
    uint64_t take; /* turn of the last TAKE */
};

struct mgds_context *mgds_gstream_context(const struct mgds_gstream *stream)
{
    return stream->depot->ctx;
}

/* Without memory of its own a stream tells all in host memory, and each of its
 * kernels is one block. */
static void equip(struct mgds_gstream *stream)
{
    struct mgds_context *ctx = stream->depot->ctx;
    int rc;

    if (!mgds_gstream_has_kernels(stream))
        return;
    rc = mgds_shared_create(&stream->own, ctx, sizeof(struct mgds_cell));
    if (rc == 0) {
        stream->blocks =
            mgds_gate_grant(ctx->device, BLOCKS, mgds_kernel_processors(ctx));
        return;
    }
    errno = -rc;
    mgds_debug("a stream has no memory of its own on the GPU: %m");
}

static int init(struct mgds_gstream *stream, void *native)
{
    struct mgds_context *ctx;
    int rc = mgds_context_of_stream(&ctx, native);

    if (rc < 0)
        return rc;
    rc = mgds_depot_of(&stream->depot, ctx);
    mgds_context_put(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_words_take(&stream->line, stream->depot->words);
    if (rc < 0)
        goto put_depot;
    rc = mgds_lock_init(&stream->launch, MGDS_LOCK_LAUNCH);
    if (rc < 0)
        goto give_line;
    rc = -pthread_cond_init(&stream->turned, NULL);
    if (rc < 0)
        goto fini_lock;
    stream->native = native;
    stream->maker = pthread_self();
    stream->refs = 1;
    equip(stream);
    return 0;
fini_lock:
    mgds_lock_fini(&stream->launch);
give_line:
    mgds_words_give(stream->depot->words, stream->line);
put_depot:
    mgds_depot_put(stream->depot);
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
    rc = init(stream, native);
    if (rc < 0) {
        free(stream);
        return rc;
    }
    mgds_gate_tell();
    *out = stream;
    return 0;
}

struct mgds_gstream *mgds_gstream_get(struct mgds_gstream *stream)
{
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
    return stream;
}

void mgds_gstream_release(struct mgds_gstream *stream)
{
    unsigned waits;

    if (__atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    waits = __atomic_load_n(&stream->waits, __ATOMIC_RELAXED);
    if (waits > 0)
        mgds_gstream_passed(stream, waits);
    mgds_gate_return(mgds_gstream_context(stream)->device, stream->blocks);
    if (stream->own)
        mgds_shared_destroy(stream->own);
    pthread_cond_destroy(&stream->turned);
    mgds_lock_fini(&stream->launch);
    mgds_words_give(stream->depot->words, stream->line);
    mgds_depot_put(stream->depot);
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

struct mgds_words *mgds_gstream_words(struct mgds_gstream *stream)
{
    return stream->depot->words;
}

int mgds_gstream_bounce(struct mgds_bounce **out, struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer)
{
    struct mgds_bounce *bounce;
    int rc = mgds_bounce_create(&bounce, buffer, MGDS_BOUNCE_STREAM);

    if (rc < 0)
        return rc;
    rc = mgds_reach_check(bounce, mgds_gstream_context(stream));
    if (rc < 0)
        mgds_bounce_destroy(bounce);
    else
        *out = bounce;
    return rc;
}

int mgds_gstream_reaches(const struct mgds_gstream *stream,
                         const struct mgds_bounce *bounce)
{
    return mgds_reach_check(bounce, mgds_gstream_context(stream));
}

uint64_t mgds_gstream_ticket(struct mgds_gstream *stream)
{
    return __atomic_fetch_add(&stream->ticket, 1, __ATOMIC_RELAXED);
}

static bool stands(const struct mgds_step *step)
{
    return step->kind == MGDS_STEP_WAIT || step->kind == MGDS_STEP_TAKE;
}

static unsigned count_waits(const struct mgds_step *steps, unsigned count,
                            bool put)
{
    unsigned waits = 0;

    for (unsigned i = 0; i < count; i++)
        waits += stands(&steps[i]) && steps[i].put == put;
    return waits;
}

/* Counted before they are queued: a report that one is over comes later. */
static void expect_waits(struct mgds_gstream *stream, unsigned waits)
{
    if (waits == 0)
        return;
    if (__atomic_fetch_add(&stream->waits, waits, __ATOMIC_RELAXED) == 0)
        mgds_gate_enter(mgds_gstream_context(stream)->device);
}

void mgds_gstream_passed(struct mgds_gstream *stream, unsigned waits)
{
    if (waits == 0)
        return;
    if (__atomic_sub_fetch(&stream->waits, waits, __ATOMIC_RELAXED) == 0)
        mgds_gate_leave(mgds_gstream_context(stream)->device);
}

static struct mgds_cell *cell_of(const struct mgds_gstream *stream)
{
    return stream->own ? (struct mgds_cell *)stream->own->addr : NULL;
}

static int queue_steps(struct mgds_gstream *stream, struct mgds_step *steps,
                       unsigned count) MGDS_REQUIRES(stream->launch)
{
    const struct mgds_steps_to to = {stream->depot,
                                     stream->native,
                                     stream->line,
                                     cell_of(stream),
                                     stream->blocks ? stream->blocks : 1,
                                     &stream->take};
    int rc = mgds_context_enter(mgds_gstream_context(stream));

    if (rc < 0)
        return rc;
    rc = mgds_steps_queue(&to, steps, count);
    mgds_context_leave();
    return rc;
}

static void await_turn(struct mgds_gstream *stream, uint64_t ticket)
    MGDS_REQUIRES(stream->launch)
{
    while (stream->turn != ticket)
        pthread_cond_wait(&stream->turned, &stream->launch.mutex);
}

int mgds_gstream_put(struct mgds_gstream *stream, uint64_t ticket,
                     struct mgds_step *steps, unsigned count)
{
    int rc = 0;

    for (unsigned i = 0; i < count; i++)
        steps[i].put = false;
    mgds_lock_acquire(&stream->launch);
    await_turn(stream, ticket);
    expect_waits(stream, count_waits(steps, count, false));
    if (count > 0)
        rc = queue_steps(stream, steps, count);
    stream->turn++;
    pthread_cond_broadcast(&stream->turned);
    mgds_lock_release(&stream->launch);
    mgds_gstream_passed(stream, count_waits(steps, count, false));
    if (rc < 0)
        mgds_gstream_fail(stream, rc);
    return rc;
}

bool mgds_gstream_can_be_quiet(const struct mgds_gstream *stream)
{
    return stream->own != NULL;
}

int mgds_gstream_tell(struct mgds_gstream *stream, uint64_t *to, uint64_t *done,
                      uint64_t number)
{
    const struct mgds_depot *depot = stream->depot;
    const struct mgds_tell_args args = {.from =
                                            (uintptr_t)&cell_of(stream)->passed,
                                        .to = (uintptr_t)to,
                                        .done = (uintptr_t)done,
                                        .number = number};
    int rc = mgds_context_enter(depot->ctx);

    if (rc < 0)
        return rc;
    rc = mgds_kernel_launch(depot->tell, depot->stage->stream, 1, 1, &args);
    mgds_context_leave();
    return rc;
}

void mgds_gstream_abort(struct mgds_gstream *stream)
{
    __atomic_store_n(stream->line, 1, __ATOMIC_RELEASE);
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

bool mgds_gstream_by_memop(const struct mgds_gstream *stream)
{
    return stream->depot->width > 0;
}
