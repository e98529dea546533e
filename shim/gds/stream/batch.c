/* Many steps in one launch; see batch.h. */
#include "shim/gds/stream/batch.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"
#include "shim/gds/mem/pack.h"
#include "shim/gds/mem/bounce_state.h"

enum {
    UNIT = 16,          /* bytes that a thread copies at once */
    MOST_BLOCKS = 1024, /* of copies: none of them waits */
    SHORT = 4096        /* bytes of a take that is worth less than a launch */
};

/* A longer one has blocks of its own. */
static bool is_take(const struct mgds_steps_to *to,
                    const struct mgds_step *step)
{
    (void)to;
    return step->kind == MGDS_STEP_TAKE && !mgds_step_is_long(step) &&
           mgds_step_length(step) <= SHORT;
}

static bool is_await(const struct mgds_steps_to *to,
                     const struct mgds_step *step)
{
    (void)to;
    return step->kind == MGDS_STEP_AWAIT;
}

/* Into memory of the stream's own context: that of others may be reached in
 * another way. */
static bool is_dense_unpack(const struct mgds_steps_to *to,
                            const struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;

    return step->kind == MGDS_STEP_UNPACK && bounce->layout->size > 0 &&
           bounce->layout == &bounce->flat &&
           bounce->queue->ctx == to->depot->ctx;
}

typedef bool is_of_batch(const struct mgds_steps_to *to,
                         const struct mgds_step *step);

static unsigned run_of(const struct mgds_steps_to *to,
                       const struct mgds_step *steps, unsigned count,
                       is_of_batch *is)
{
    unsigned n = 0;

    while (n < count && is(to, &steps[n]))
        n++;
    return n;
}

struct batch {
    is_of_batch *is;
    unsigned least, most;
    bool flag; /* goes with it */
};

/* By `fused` of the kind's row. */
static const struct batch batches[] = {
    [MGDS_FUSED_COPIES] = {is_dense_unpack, 2, MGDS_COPIES_MOST, false},
    [MGDS_FUSED_TAKES] = {is_take, 2, MGDS_TAKES_MOST, true},
    [MGDS_FUSED_AWAITS] = {is_await, 1, MGDS_AWAIT_MOST, true},
};

/* A send that its stream waits for at once: its POST and the FLAG of that. */
static unsigned posts_ahead(const struct mgds_step *steps, unsigned count)
{
    return count > 2 && steps[0].kind == MGDS_STEP_POST &&
                   steps[1].kind == MGDS_STEP_FLAG &&
                   steps[2].kind == MGDS_STEP_AWAIT
               ? 2
               : 0;
}

unsigned mgds_batch_count(const struct mgds_steps_to *to,
                          const struct mgds_step *steps, unsigned count)
{
    unsigned ahead = posts_ahead(steps, count), n;
    const struct batch *batch;

    steps += ahead;
    count -= ahead;
    batch = &batches[mgds_step_row(steps)->fused];
    if (!batch->is)
        return 0;
    n = run_of(to, steps, count < batch->most ? count : batch->most, batch->is);
    if (n < batch->least)
        return 0;
    return ahead + n +
           (batch->flag && n < count && steps[n].kind == MGDS_STEP_FLAG);
}

static unsigned warps_for(uint64_t work)
{
    unsigned threads = MGDS_STEP_WARP;

    while (threads < work && threads < MGDS_TAKE_THREADS)
        threads *= 2;
    return threads;
}

static void mark_put(struct mgds_step *steps, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        steps[i].put = true;
}

static int queue_awaits(const struct mgds_steps_to *to, struct mgds_step *steps,
                        unsigned count)
{
    struct mgds_kernel_handle *kernel = to->depot->awaits.many;
    unsigned ahead = posts_ahead(steps, count);
    struct mgds_await_args args = {
        .head = {.abort = (uintptr_t)to->desk, .stand = steps[ahead].stand}};
    int rc;

    if (ahead > 0)
        args.head.post = mgds_step_post(&steps[0], &steps[1]);
    for (unsigned i = ahead; i < count; i++) {
        if (is_await(to, &steps[i])) {
            args.item[args.head.count++] = (struct mgds_await_item){
                (uintptr_t)steps[i].word, steps[i].value};
        } else {
            args.head.flag = (uintptr_t)steps[i].word;
            args.head.value = steps[i].value;
        }
    }
    if (args.head.count <= MGDS_AWAIT_FEW)
        kernel = to->depot->awaits.few;
    rc = mgds_kernel_launch(kernel, to->stream, 1, warps_for(args.head.count),
                            &args);
    if (rc < 0)
        return rc;
    mark_put(steps, count);
    mgds_count(queue_launches);
    return 0;
}

/* A thread for a unit of a ring, as far as that goes. */
static unsigned threads_for(const struct mgds_takes_args *args)
{
    uint64_t units = 0;

    for (unsigned i = 0; i < args->head.count; i++) {
        const struct mgds_takes_item *item = &args->item[i];

        units += 1 + (item->serial ? item->length : item->bytes) / 8;
    }
    return warps_for(units);
}

/* A message whose memory the program has freed is thrown away. */
static int add_take(struct mgds_takes_args *args, const struct mgds_step *step)
{
    int lost = mgds_step_check(step);
    struct mgds_takes_item *item = &args->item[args->head.count++];

    *item = (struct mgds_takes_item){.dst = (uintptr_t)step->user,
                                     .bytes = lost < 0 ? 0 : step->bytes,
                                     .units = (uintptr_t)step->record,
                                     .length = step->length};
    if (!step->record) {
        item->units = (uintptr_t)step->units;
        item->serial = step->serial;
    }
    return lost;
}

static int queue_takes(const struct mgds_steps_to *to, struct mgds_step *steps,
                       unsigned count)
{
    struct mgds_kernel_handle *kernel = to->depot->takes.many;
    struct mgds_takes_args args = {.head = {.abort = (uintptr_t)to->desk,
                                            .cell = (uintptr_t)to->cell,
                                            .stand = steps[0].stand}};
    int lost = 0;
    int rc;

    for (unsigned i = 0; i < count; i++) {
        if (is_take(to, &steps[i])) {
            rc = add_take(&args, &steps[i]);
            lost = rc < 0 ? rc : lost;
        } else {
            args.head.flag = steps[i].quiet ? 0 : (uintptr_t)steps[i].word;
            args.head.value = steps[i].value;
        }
    }
    if (args.head.count <= MGDS_TAKES_FEW)
        kernel = to->depot->takes.few;
    rc = mgds_kernel_launch(kernel, to->stream, 1, threads_for(&args), &args);
    if (rc < 0)
        return rc;
    mark_put(steps, count);
    mgds_count(queue_launches);
    return lost;
}

static void add_copy(struct mgds_copies_args *args,
                     const struct mgds_step *step)
{
    const struct mgds_bounce *bounce = step->bounce;

    args->item[args->count++] =
        (struct mgds_copies_item){.dst = (uintptr_t)bounce->user,
                                  .src = (uintptr_t)bounce->base,
                                  .bytes = bounce->layout->size,
                                  .limit = (uintptr_t)step->word};
}

/* Each has as many as the longest needs. */
static unsigned blocks_for(const struct mgds_copies_args *args)
{
    unsigned count = (unsigned)args->count;
    unsigned most = MOST_BLOCKS / count;
    uint64_t bytes = 0;
    unsigned each;

    for (unsigned i = 0; i < count; i++)
        if (args->item[i].bytes > bytes)
            bytes = args->item[i].bytes;
    each = mgds_pack_blocks(bytes / UNIT);
    return count * (each < most ? each : most);
}

static int queue_copies(const struct mgds_steps_to *to, struct mgds_step *steps,
                        unsigned count)
{
    struct mgds_copies_args args = {.count = 0};
    int lost = 0;
    int rc = 0;

    for (unsigned i = 0; i < count; i++) {
        rc = mgds_bounce_check(steps[i].bounce);
        steps[i].put = rc == 0;
        if (rc == 0)
            add_copy(&args, &steps[i]);
        else
            lost = rc;
    }
    if (args.count == 0)
        return lost;
    rc = mgds_kernel_launch(to->depot->copies, to->stream, blocks_for(&args),
                            MGDS_PACK_THREADS, &args);
    if (rc < 0) {
        for (unsigned i = 0; i < count; i++)
            steps[i].put = false;
        return rc;
    }
    mgds_count(queue_launches);
    return lost;
}

int mgds_batch_queue(const struct mgds_steps_to *to, struct mgds_step *steps,
                     unsigned count)
{
    if (is_await(to, steps) || posts_ahead(steps, count) > 0)
        return queue_awaits(to, steps, count);
    return is_take(to, steps) ? queue_takes(to, steps, count)
                              : queue_copies(to, steps, count);
}
