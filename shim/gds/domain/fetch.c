/* Messages copied by kernels on a stream of ours; see fetch.h. */
#include "shim/gds/domain/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

/* How long host calls have before the wire's thread launches it, ns. */
enum { GRACE_NS = 200000 };

/* Where in op->words its flag is. */
enum { FLAG = MGDS_OP_COUNT + 1, FETCHED = 1 };

enum state { QUEUED, BUSY /* a thread is at it */, LAUNCHED };

struct fetch {
    struct fetch *next;
    struct mgds_op *op; /* a reference */
    enum state state;
    uint64_t since;
    uint64_t *line; /* its own, if the operation has no words */
    uint64_t *flag;
};

static struct fetch *fetches; /* under the engine's lock */
static unsigned count;        /* atomic: read without it, too */

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->domain->stream[op->index];
}

/* Without memory for it the receive fails; its sender waits in vain. */
void mgds_fetch_add(struct mgds_op *op)
{
    const struct mgds_message *message = op->message;
    struct fetch *fetch;
    struct fetch **last = &fetches;

    if (op->fetching || op->credited)
        return;
    op->got = message->bytes < op->bytes ? message->bytes : op->bytes;
    fetch = (struct fetch *)mgds_calloc(1, sizeof(*fetch));
    if (!fetch) {
        mgds_exchange_fetched(op, -ENOMEM);
        return;
    }
    op->fetching = true;
    op->direct = op->claim != NULL;
    fetch->op = mgds_op_get(op);
    fetch->since = mgds_clock_ns();
    while (*last)
        last = &(*last)->next;
    *last = fetch;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_hold();
}

/* Pinned memory where the kernel can put it. Without a lock. */
static int make_room(struct fetch *fetch)
{
    struct mgds_op *op = fetch->op;

    if (op->direct || op->got == 0 || (op->bounce && op->stream) || op->room)
        return 0;
    return mgds_gstream_room(&op->room, stream_of(op), op->bytes);
}

static int make_flag(struct fetch *fetch)
{
    struct mgds_op *op = fetch->op;
    int rc = 0;

    if (!op->words)
        rc = mgds_words_take(&fetch->line, mgds_gstream_words(stream_of(op)));
    if (rc == 0)
        fetch->flag = &(op->words ? op->words : fetch->line)[FLAG];
    return rc;
}

static char *place_of(const struct mgds_op *op)
{
    if (op->direct)
        return mgds_op_user(op);
    if (op->got == 0)
        return NULL;
    return (char *)(op->room ? op->room->addr : mgds_bounce_base(op->bounce));
}

static int launch(struct fetch *fetch)
{
    const struct mgds_op *op = fetch->op;
    struct mgds_step take = {.kind = MGDS_STEP_TAKE,
                             .bytes = op->got,
                             .units = (void *)(uintptr_t)mgds_op_units(op),
                             .serial = op->message->serial,
                             .length = op->message->bytes,
                             .claim = op->claim,
                             .gen = op->gen,
                             .source = op->message->source,
                             .done = op->message->done};
    int rc = make_room(fetch);

    if (rc == 0)
        rc = make_flag(fetch);
    if (rc < 0)
        return rc;
    take.user = place_of(op);
    return mgds_gstream_fetch(stream_of(op), &take, fetch->flag, FETCHED);
}

/* Under the engine's lock. */
static struct fetch *find(bool host)
{
    uint64_t now = mgds_clock_ns();
    struct fetch *fetch = fetches;

    while (fetch) {
        if (fetch->state == QUEUED && (host || now - fetch->since > GRACE_NS))
            return fetch;
        if (fetch->state == LAUNCHED &&
            __atomic_load_n(fetch->flag, __ATOMIC_ACQUIRE) == FETCHED)
            return fetch;
        fetch = fetch->next;
    }
    return NULL;
}

static void drop(struct fetch *fetch)
{
    struct fetch **at = &fetches;

    while (*at != fetch)
        at = &(*at)->next;
    *at = fetch->next;
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_release();
}

static void begin(struct fetch *fetch, bool host)
{
    int rc = launch(fetch);

    mgds_count(pull_fetches);
    if (!host)
        mgds_count(pull_late);
    mgds_engine_enter();
    fetch->state = LAUNCHED;
    if (rc == 0) {
        mgds_engine_leave();
        return;
    }
    errno = -rc;
    mgds_warn("a message of rank %u cannot be copied: %m",
              fetch->op->message->rank);
    drop(fetch);
    mgds_exchange_fetched(fetch->op, rc);
    mgds_engine_put_later(fetch->op);
    mgds_engine_leave();
    free(fetch);
}

static void end(struct fetch *fetch)
{
    struct mgds_op *op = fetch->op;

    if (op->room)
        memcpy(mgds_op_place(op), op->room->addr, op->got);
    if (fetch->line)
        mgds_words_give(mgds_gstream_words(stream_of(op)), fetch->line);
    mgds_engine_enter();
    drop(fetch);
    mgds_exchange_fetched(op, 0);
    mgds_engine_put_later(op);
    mgds_engine_leave();
    free(fetch);
}

bool mgds_fetches_run(bool host)
{
    bool any = false;

    while (__atomic_load_n(&count, __ATOMIC_RELAXED) > 0) {
        struct fetch *fetch;
        enum state state = QUEUED;

        mgds_engine_enter();
        fetch = find(host);
        if (fetch) {
            state = fetch->state;
            fetch->state = BUSY;
        }
        mgds_engine_leave();
        if (!fetch)
            return any;
        if (state == QUEUED)
            begin(fetch, host);
        else
            end(fetch);
        any = true;
    }
    return any;
}

/* Kernels may still write to what they were given: that stays. */
void mgds_fetches_fini(void)
{
    mgds_engine_enter();
    while (fetches)
        drop(fetches);
    mgds_engine_leave();
}
