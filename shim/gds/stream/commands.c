/* Kernels, copies and memory operations for steps; see commands.h. */
#include "shim/gds/stream/commands.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/memop.h"
#include "shim/gds/stream/batch.h"
#include "shim/gds/stream/exchange.h"
#include "shim/gds/stream/reach.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"
#include "shim/gds/mem/pack.h"
#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/transfer.h"

/* From here on a copy engine is as fast as a kernel, and leaves the GPU's own
 * units to the program. An estimate, to be measured. */
enum { LARGE = 1 << 20, UNIT = 16 };

/* Of a message that is pushed: threads of a block, and blocks. */
enum { PUSH_THREADS = 512, PUSHERS = 16 };

/* Of one that copies a long message: reads of another GPU's memory take long,
 * so the more of them are under way the better; two units each. */
enum { PULL_THREADS = 1024, PULL_EACH = 2 };

static bool is_word(const struct mgds_step *step)
{
    return mgds_step_row(step)->alone == MGDS_ALONE_WORD;
}

static bool is_kernel(const struct mgds_steps_to *to,
                      const struct mgds_step *step)
{
    return to->depot->width == 0 ||
           (to->serves && step->kind == MGDS_STEP_WAIT);
}

/* In one call of the driver. */
static unsigned count_memops(const struct mgds_steps_to *to,
                             const struct mgds_step *steps, unsigned count)
{
    unsigned words = 0;

    while (words < count && words < MGDS_MEMOP_MOST / 2 &&
           is_word(&steps[words]) && !is_kernel(to, &steps[words]))
        words++;
    return words;
}

static void mark_put(struct mgds_step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        steps[i].put = true;
}

/* Where the flag just ahead of a WAIT says that the stream has come to it,
 * nothing else has to. */
static bool must_say(const struct mgds_step *steps, unsigned i)
{
    return steps[i].kind == MGDS_STEP_WAIT && steps[i].stand &&
           (i == 0 || steps[i - 1].kind != MGDS_STEP_FLAG);
}

static struct mgds_memop memop_of_stand(const struct mgds_steps_to *to,
                                        const struct mgds_step *step)
{
    return (struct mgds_memop){.word = &to->desk->stands, .value = step->stand};
}

static int queue_memops(const struct mgds_steps_to *to, struct mgds_step *steps,
                        unsigned count)
{
    struct mgds_memop ops[MGDS_MEMOP_MOST] = {{0}};
    unsigned n = 0;
    int rc;

    for (unsigned i = 0; i < count; i++) {
        if (must_say(steps, i))
            ops[n++] = memop_of_stand(to, &steps[i]);
        ops[n++] = (struct mgds_memop){.wait = steps[i].kind == MGDS_STEP_WAIT,
                                       .word = steps[i].word,
                                       .value = steps[i].value};
    }
    rc = mgds_memop_queue(to->stream, to->depot->width, ops, n);
    if (rc < 0)
        return rc;
    mark_put(steps, count);
    mgds_count(queue_batches);
    return 0;
}

/* What the word says is known to have come; of words of 32 bits nothing is. */
static uint64_t past_of(const struct mgds_steps_to *to,
                        const struct mgds_step *flag)
{
    return to->depot->width == 32
               ? 0
               : __atomic_load_n(flag->word, __ATOMIC_RELAXED);
}

/* False: no event is to be had. */
static bool queue_event(const struct mgds_steps_to *to, struct mgds_step *flag)
{
    if (!to->events ||
        mgds_events_record(to->events, to->depot->ctx, to->stream, flag->value,
                           past_of(to, flag)) < 0)
        return false;
    mark_put(flag, 1);
    mgds_count(queue_events);
    return true;
}

/* A wait and the flag behind it are two launches: one that gives up stores
 * nothing, but the flag must come. */
static int queue_flag(const struct mgds_steps_to *to, struct mgds_step *step)
{
    bool wait = step->kind == MGDS_STEP_WAIT;
    struct mgds_flag_args args = {.abort = (uintptr_t)to->desk,
                                  .stand = step->stand};
    int rc;

    if (wait) {
        args.wait = (uintptr_t)step->word;
        args.wait_value = step->value;
    } else {
        args.write = (uintptr_t)step->word;
        args.write_value = step->value;
    }
    rc = mgds_kernel_launch(to->depot->flag, to->stream, 1, 1, &args);
    if (rc < 0)
        return rc;
    mark_put(step, 1);
    mgds_count(queue_launches);
    return 0;
}

static int queue_engine(const struct mgds_steps_to *to,
                        const struct mgds_bounce *bounce)
{
    const struct mgds_copy copy = {.dst = bounce->base,
                                   .src = bounce->user,
                                   .width = bounce->layout->size,
                                   .rows = 1,
                                   .planes = 1};

    return mgds_copy_async(&copy, to->stream);
}

static int queue_dense(const struct mgds_steps_to *to,
                       const struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;
    bool up = step->kind == MGDS_STEP_UNPACK;
    struct mgds_copy_args args = {
        .dst = (uintptr_t)(up ? bounce->user : bounce->base),
        .src = (uintptr_t)(up ? bounce->base : bounce->user),
        .bytes = bounce->layout->size,
        .limit = up ? (uintptr_t)step->word : 0,
    };

    if (!up && args.bytes >= LARGE && mgds_transfer_inside(bounce))
        return queue_engine(to, bounce);
    mgds_count(queue_launches);
    return mgds_kernel_launch(to->depot->copy, to->stream,
                              mgds_pack_blocks(args.bytes / UNIT),
                              MGDS_PACK_THREADS, &args);
}

static int queue_irregular(const struct mgds_steps_to *to,
                           const struct mgds_step *step)
{
    bool up = step->kind == MGDS_STEP_UNPACK;

    mgds_count(queue_launches);
    return mgds_pack_queue(step->bounce, to->depot->copyqueue->kernel,
                           to->stream, up, up ? step->word : NULL);
}

static int queue_here(const struct mgds_steps_to *to,
                      const struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;

    return bounce->layout == &bounce->flat ? queue_dense(to, step)
                                           : queue_irregular(to, step);
}

static int queue_aside(const struct mgds_steps_to *to,
                       const struct mgds_step *step, struct mgds_side *side)
{
    const struct mgds_steps_to there = {.depot = side->depot,
                                        .stream = side->stream};
    int rc = mgds_side_begin(side, to->stream);

    if (rc < 0)
        return rc;
    mgds_count(queue_aside);
    return mgds_side_end(side, to->stream, queue_here(&there, step));
}

/* Where kernels of the stream do not reach the memory, by the side of those
 * that do: mgds_gstream_adopt has made it. */
static int queue_somewhere(const struct mgds_steps_to *to,
                           const struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;
    struct mgds_side *side;

    if (bounce->queue->ctx == to->depot->ctx ||
        mgds_reach_check(bounce, to->depot) == 0)
        return queue_here(to, step);
    side = mgds_side_find(to->sides, bounce->queue->ctx);
    return side ? queue_aside(to, step, side) : -EXDEV;
}

/* The memory is looked at again: a buffer may have been freed since the call
 * that it was given to. */
static int queue_copy(const struct mgds_steps_to *to, struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;
    int rc = 0;

    if (bounce->layout->size > 0)
        rc = mgds_bounce_check(bounce);
    if (rc == 0 && bounce->layout->size > 0)
        rc = queue_somewhere(to, step);
    if (rc == 0)
        mark_put(step, 1);
    return rc;
}

static int queue_push(const struct mgds_steps_to *to,
                      const struct mgds_step *step,
                      const struct mgds_step *flag)
{
    const struct mgds_push_args args = {.src = (uintptr_t)step->user,
                                        .bytes = step->bytes,
                                        .units = (uintptr_t)step->units,
                                        .serial = step->serial,
                                        .cell = (uintptr_t)to->cell,
                                        .flag = (uintptr_t)flag->word,
                                        .value = flag->value};
    const struct mgds_step_shape most = {to->cell ? PUSHERS : 1, PUSH_THREADS};
    struct mgds_step_shape shape = mgds_step_shape(step->bytes, most, 1);

    return mgds_kernel_launch(to->depot->push, to->stream, shape.blocks,
                              shape.threads, &args);
}

static int queue_post(const struct mgds_steps_to *to,
                      const struct mgds_step *step,
                      const struct mgds_step *flag)
{
    const struct mgds_post_args args = mgds_step_post(step, flag);

    return mgds_kernel_launch(to->depot->post, to->stream, 1, 1, &args);
}

static struct mgds_take_args take_args(const struct mgds_steps_to *to,
                                       const struct mgds_step *step,
                                       const struct mgds_step *came,
                                       const struct mgds_step *flag)
{
    return (struct mgds_take_args){.dst = (uintptr_t)step->user,
                                   .bytes = step->bytes,
                                   .units = (uintptr_t)step->units,
                                   .serial = step->serial,
                                   .length = step->length,
                                   .record = (uintptr_t)step->record,
                                   .abort = (uintptr_t)to->desk,
                                   .came = (uintptr_t)came->word,
                                   .came_value = came->value,
                                   .cell = (uintptr_t)to->cell,
                                   .turn = ++*to->turn,
                                   .flag =
                                       flag->quiet ? 0 : (uintptr_t)flag->word,
                                   .value = flag->value,
                                   .stand = step->stand};
}

static int launch_take(const struct mgds_steps_to *to,
                       const struct mgds_take_args *args)
{
    const struct mgds_step_shape most = {to->blocks, MGDS_TAKE_THREADS};
    struct mgds_step_shape shape =
        mgds_step_shape(args->bytes, most, MGDS_TAKE_AHEAD);

    return mgds_kernel_launch(to->depot->take, to->stream, shape.blocks,
                              shape.threads, args);
}

static int launch_pull(const struct mgds_steps_to *to,
                       const struct mgds_take_args *take,
                       const struct mgds_step *step)
{
    const struct mgds_pull_args args = {.take = *take,
                                        .source = step->source,
                                        .done = step->done,
                                        .claim = (uintptr_t)step->claim,
                                        .gen = step->gen,
                                        .joins = step->joins && !take->came,
                                        .delivers =
                                            step->delivers && step->claim};
    const struct mgds_step_shape most = {to->longs, PULL_THREADS};
    struct mgds_step_shape shape =
        mgds_step_shape(take->bytes, most, PULL_EACH);

    return mgds_kernel_launch(to->depot->pull, to->stream, shape.blocks,
                              shape.threads, &args);
}

/* Without its memory, which the program freed, the message is thrown away. */
static int queue_take(const struct mgds_steps_to *to,
                      const struct mgds_step *step,
                      const struct mgds_step *came,
                      const struct mgds_step *flag)
{
    int lost = mgds_step_check(step);
    struct mgds_take_args args = take_args(to, step, came, flag);
    int rc;

    if (lost < 0)
        args.bytes = 0;
    rc = mgds_step_is_long(step) ? launch_pull(to, &args, step)
                                 : launch_take(to, &args);
    return rc < 0 ? rc : lost;
}

int mgds_steps_fetch(const struct mgds_steps_to *to,
                     const struct mgds_step *take, const struct mgds_step *flag)
{
    static const struct mgds_step none;
    int rc = queue_take(to, take, &none, flag);

    if (rc == 0 || rc == -EFAULT)
        mgds_count(queue_launches);
    return rc;
}

static bool is_kind(const struct mgds_step *steps, unsigned i, unsigned count,
                    enum mgds_step_kind kind)
{
    return i < count && steps[i].kind == kind;
}

/* A flag that its take stores, if it has to. */
static bool is_call(const struct mgds_step *steps, unsigned count)
{
    return steps->kind == MGDS_STEP_FLAG && steps->quiet &&
           is_kind(steps, 1, count, MGDS_STEP_TAKE);
}

/* A message, with the flag behind it, and before a take the one ahead of it, in
 * one launch. */
static int queue_message(const struct mgds_steps_to *to,
                         struct mgds_step *steps, unsigned count,
                         unsigned *done)
{
    static const struct mgds_step none;
    unsigned at = is_call(steps, count);
    bool flagged = is_kind(steps, at + 1, count, MGDS_STEP_FLAG);
    const struct mgds_step *flag = flagged ? &steps[at + 1] : &none;
    int rc;

    if (steps[at].kind == MGDS_STEP_PUSH)
        rc = queue_push(to, &steps[at], flag);
    else if (steps[at].kind == MGDS_STEP_POST)
        rc = queue_post(to, &steps[at], flag);
    else
        rc = queue_take(to, &steps[at], at ? steps : &none, flag);
    *done = at + 1 + flagged;
    if (rc < 0 && rc != -EFAULT)
        return rc;
    mark_put(steps, *done);
    mgds_count(queue_launches);
    return rc;
}

static bool is_message(const struct mgds_step *steps, unsigned count)
{
    return mgds_step_row(steps)->alone == MGDS_ALONE_LAUNCH ||
           is_call(steps, count);
}

static int queue_some(const struct mgds_steps_to *to, struct mgds_step *steps,
                      unsigned count, unsigned *done)
{
    unsigned batch = mgds_batch_count(to, steps, count);

    *done = mgds_exchange_count(to, steps, count);
    if (*done > batch)
        return mgds_exchange_queue(to, steps, *done);
    *done = batch > 0 ? batch : 1;
    if (batch > 0)
        return mgds_batch_queue(to, steps, batch);
    if (is_message(steps, count))
        return queue_message(to, steps, count, done);
    if (!is_word(steps))
        return queue_copy(to, steps);
    if (steps->asked && queue_event(to, steps))
        return 0;
    if (is_kernel(to, steps))
        return queue_flag(to, steps);
    *done = count_memops(to, steps, count);
    return queue_memops(to, steps, *done);
}

/* A step whose memory the program has freed is left out; any other error ends
 * the list. */
int mgds_steps_queue(const struct mgds_steps_to *to, struct mgds_step *steps,
                     unsigned count)
{
    int first = 0;
    unsigned done;

    for (unsigned i = 0; i < count; i++)
        steps[i].joins = false;
    for (unsigned i = 0; i < count; i += done) {
        int rc;

        steps[i].joins =
            i > 0 && steps[i - 1].put && mgds_step_is_long(&steps[i - 1]);
        rc = queue_some(to, steps + i, count - i, &done);

        if (rc < 0 && first == 0)
            first = rc;
        if (rc < 0 && (rc != -EFAULT || steps[i].kind == MGDS_STEP_PACK))
            break;
    }
    return first;
}
