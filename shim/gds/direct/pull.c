/* Copies out of other processes' memory; see pull.h. */
#include "shim/gds/direct/pull.h"

#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/import.h"

/* From so many on a kernel copies what has come together. A copy engine begins
 * one copy, or two, sooner (docs/decisions.md). */
enum { SEVERAL = 3 };

enum state { BATCHED, TAKEN, READING, COPYING };

struct mgds_pull {
    struct mgds_import *import;
    struct mgds_copyqueue *queue; /* a reference */
    struct mgds_copy copy;
    unsigned refs;                  /* atomic: its holder's, and a batch's */
    unsigned state;                 /* atomic */
    uint64_t since;                 /* BATCHED, ns */
    struct mgds_pull *next;         /* in the batch */
    struct mgds_read read;          /* READING */
    struct mgds_copy_ticket ticket; /* COPYING */
    int error;                      /* COPYING: nothing was queued */
    bool asked;                     /* COPYING: whether that is over */
};

static MGDS_TLS struct {
    bool open;
    unsigned count; /* of pulls, each with a reference, for one queue */
    struct mgds_pull *first, *last;
} batch;

/* Release, acquire: what the state says of is seen. */
static void set_state(struct mgds_pull *pull, enum state state)
{
    __atomic_store_n(&pull->state, state, __ATOMIC_RELEASE);
}

/* Out of BATCHED: false if somebody else has. */
static bool take(struct mgds_pull *pull)
{
    unsigned was = BATCHED;

    return __atomic_compare_exchange_n(&pull->state, &was, TAKEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
}

/* Copy engines. */

/* The caller has TAKEN the pull, which may be polled as soon as it is COPYING.
 */
static int copy_taken(struct mgds_pull *pull)
{
    int rc = pull->error =
        mgds_copyqueue_copy(pull->queue, &pull->copy, &pull->ticket);

    set_state(pull, COPYING);
    return rc;
}

/* Kernels. */

static bool read_all(struct mgds_pull *const *pull, unsigned count)
{
    struct mgds_reads *reads = pull[0]->queue->reads;
    struct mgds_read *read[MGDS_READS_MOST];
    struct mgds_read_args args = {.count = count};

    for (unsigned i = 0; i < count; i++) {
        const struct mgds_copy *copy = &pull[i]->copy;

        read[i] = &pull[i]->read;
        args.item[i] = (struct mgds_read_item){.dst = (uintptr_t)copy->dst,
                                               .src = (uintptr_t)copy->src,
                                               .bytes = copy->width};
    }
    if (!mgds_reads_take(reads, &args, read))
        return false;
    for (unsigned i = 0; i < count; i++)
        set_state(pull[i], READING);
    mgds_reads_launch(reads, &args);
    return true;
}

/* Batches. */

/* The caller gets the batch's references. */
static unsigned empty_batch(struct mgds_pull **pull)
{
    unsigned count = 0;

    for (struct mgds_pull *at = batch.first; at; at = at->next)
        pull[count++] = at;
    batch.first = batch.last = NULL;
    batch.count = 0;
    return count;
}

/* A kernel gets those that no poll has taken meanwhile, if they are several
 * yet; else they are BATCHED as before. */
static void try_kernel(struct mgds_pull *const *pull, unsigned count)
{
    struct mgds_pull *taken[MGDS_READS_MOST];
    unsigned several = 0;

    for (unsigned i = 0; i < count; i++)
        if (take(pull[i]))
            taken[several++] = pull[i];
    if (several >= SEVERAL && read_all(taken, several))
        return;
    for (unsigned i = 0; i < several; i++)
        set_state(taken[i], BATCHED);
}

/* Pulls for a copy engine are taken one at a time: while this thread is in the
 * driver for one, polls may take the others. */
void mgds_pull_batch_flush(void)
{
    struct mgds_pull *pull[MGDS_READS_MOST];
    unsigned count = batch.first ? empty_batch(pull) : 0;

    if (count >= SEVERAL)
        try_kernel(pull, count);
    for (unsigned i = 0; i < count; i++) {
        if (take(pull[i]))
            (void)copy_taken(pull[i]);
        mgds_pull_destroy(pull[i]);
    }
}

void mgds_pull_batch_begin(void)
{
    mgds_copyqueue_batch_begin();
    batch.open = true;
}

void mgds_pull_batch_end(void)
{
    mgds_pull_batch_flush();
    batch.open = false;
    mgds_copyqueue_batch_end();
}

static bool may_batch(const struct mgds_pull *pull, bool near)
{
    return batch.open && near &&
           pull->copy.width <= mgds_ctx()->config.direct_kernel &&
           mgds_reads_may_begin(pull->queue->reads);
}

static void add_to_batch(struct mgds_pull *pull)
{
    if (batch.first && batch.first->queue != pull->queue)
        mgds_pull_batch_flush();
    pull->refs++;
    pull->since = mgds_clock_ns();
    if (batch.first)
        batch.last->next = pull;
    else
        batch.first = pull;
    batch.last = pull;
    if (++batch.count == MGDS_READS_MOST)
        mgds_pull_batch_flush();
}

/* Made, polled and ended. */

static int begin(struct mgds_pull *pull, const struct mgds_header *header,
                 const struct mgds_pull_to *to)
{
    const char *base = mgds_import_addr(pull->import);
    int rc = 0;

    pull->copy = (struct mgds_copy){
        .dst = to->dst,
        .src = base + (header->address - header->memory.base),
        .width = to->bytes,
        .rows = 1,
        .planes = 1};
    if (may_batch(pull, to->near))
        add_to_batch(pull);
    else
        rc = copy_taken(pull);
    if (rc == 0) {
        mgds_count(direct_pulls);
        mgds_stats_add(MGDS_STAT_direct_bytes, to->bytes);
    }
    return rc;
}

/* Where it is all there nothing is waited for; the batch does not wait for
 * anything else. */
static int find_memory(struct mgds_pull *pull, struct mgds_context *ctx,
                       const struct mgds_export_handle *memory)
{
    int rc;

    if (batch.first && batch.first->queue->ctx != ctx)
        mgds_pull_batch_flush();
    rc = mgds_copyqueue_of_context(&pull->queue, ctx);
    if (rc < 0 || mgds_import_find(&pull->import, ctx, memory) == 0)
        return rc;
    mgds_pull_batch_flush();
    return mgds_import_create(&pull->import, ctx, memory);
}

int mgds_pull_create(struct mgds_pull **out, struct mgds_context *ctx,
                     const struct mgds_header *header,
                     const struct mgds_pull_to *to)
{
    struct mgds_pull *pull = (struct mgds_pull *)mgds_calloc(1, sizeof(*pull));
    int rc;

    if (!pull)
        return -ENOMEM;
    pull->refs = 1;
    rc = find_memory(pull, ctx, &header->memory);
    if (rc == 0)
        rc = begin(pull, header, to);
    if (rc == 0)
        *out = pull;
    else
        mgds_pull_destroy(pull);
    return rc;
}

/* A copy engine copies what no kernel has come to. It has been asked for long
 * enough: the first poll asks the driver. */
static int give_to_engine(struct mgds_pull *pull)
{
    int rc = copy_taken(pull);

    pull->asked = true;
    if (rc == 0)
        mgds_count(direct_kernels_late);
    return rc;
}

/* Whose batch it is may sit in the driver. */
static int poll_batched(struct mgds_pull *pull)
{
    bool late = mgds_clock_ns() - pull->since >= MGDS_READS_COME_NS;

    return late && take(pull) ? give_to_engine(pull) : 0;
}

static int poll_read(struct mgds_pull *pull)
{
    int rc = mgds_read_poll(&pull->read);

    if (rc == 1)
        mgds_count(direct_kernels);
    return rc == -EAGAIN ? give_to_engine(pull) : rc;
}

/* No copy is over when it has just been queued, and the driver takes a
 * microsecond to say so: others can be begun meanwhile. */
static int poll_copy(struct mgds_pull *pull)
{
    if (pull->error < 0)
        return pull->error;
    if (!pull->asked) {
        pull->asked = true;
        return 0;
    }
    return mgds_copyqueue_poll(pull->queue, &pull->ticket);
}

int mgds_pull_poll(struct mgds_pull *pull)
{
    switch ((enum state)__atomic_load_n(&pull->state, __ATOMIC_ACQUIRE)) {
    case BATCHED:
        return poll_batched(pull);
    case READING:
        return poll_read(pull);
    case COPYING:
        return poll_copy(pull);
    case TAKEN:
        break;
    }
    return 0;
}

void mgds_pull_destroy(struct mgds_pull *pull)
{
    if (!pull || __atomic_sub_fetch(&pull->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_import_put(pull->import);
    if (pull->queue)
        mgds_copyqueue_put(pull->queue);
    free(pull);
}
