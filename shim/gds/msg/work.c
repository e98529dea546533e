/* Work items; see work.h. */
#include "shim/gds/msg/work.h"

#include "shim/base/clock.h"
#include "shim/gds/msg/worker.h"
#include "shim/gds/wire/wire.h"

enum needs { LOCK, CPU, DRIVER };

static const struct {
    enum needs needs;
    uint64_t host, late, again;
} rows[MGDS_WORK_KINDS] = {
#define MGDS_WORK(name, needs, host, late, again)                              \
    [MGDS_WORK_##name] = {needs, host, late, again},
#include "shim/gds/msg/work_kinds.def"
};

TAILQ_HEAD(works, mgds_work);

/* Items and length under the engine's lock. The times are those of the first
 * item that is QUEUED, UINT64_MAX: none is; atomic, written under the lock and
 * read without it, too. */
static struct queue {
    struct works items;
    unsigned length;
    uint64_t host, late;
    const struct mgds_work_handler *handler; /* atomic */
} queues[MGDS_WORK_KINDS];

void mgds_work_handle(enum mgds_work_kind kind,
                      const struct mgds_work_handler *handler)
{
    struct queue *queue = &queues[kind];

    mgds_engine_enter();
    if (!queue->handler) {
        TAILQ_INIT(&queue->items);
        __atomic_store_n(&queue->host, UINT64_MAX, __ATOMIC_RELAXED);
        __atomic_store_n(&queue->late, UINT64_MAX, __ATOMIC_RELAXED);
    }
    /* an empty queue, for who finds the handler without the lock */
    __atomic_store_n(&queue->handler, handler, __ATOMIC_RELEASE);
    mgds_engine_leave();
}

static const struct mgds_work_handler *handler_of(enum mgds_work_kind kind)
{
    return __atomic_load_n(&queues[kind].handler, __ATOMIC_ACQUIRE);
}

static struct mgds_work *first_queued(const struct queue *queue)
{
    struct mgds_work *work = TAILQ_FIRST(&queue->items);

    while (work && work->state != MGDS_WORK_QUEUED)
        work = TAILQ_NEXT(work, link);
    return work;
}

/* Items have come, gone or changed their state. */
static void set_times(struct queue *queue)
{
    const struct mgds_work *first = first_queued(queue);

    __atomic_store_n(&queue->host, first ? first->host : UINT64_MAX,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&queue->late, first ? first->late : UINT64_MAX,
                     __ATOMIC_RELAXED);
}

static void append_item(struct mgds_work *work, uint64_t host, uint64_t late)
{
    struct queue *queue = &queues[work->kind];
    uint64_t now = mgds_clock_ns();

    work->state = MGDS_WORK_QUEUED;
    work->host = now + host;
    work->late = now + late;
    TAILQ_INSERT_TAIL(&queue->items, work, link);
    queue->length++;
    set_times(queue);
}

static void take_out(struct mgds_work *work)
{
    struct queue *queue = &queues[work->kind];

    work->state = MGDS_WORK_NONE;
    TAILQ_REMOVE(&queue->items, work, link);
    queue->length--;
    set_times(queue);
}

void mgds_work_add(struct mgds_work *work, enum mgds_work_kind kind)
{
    work->kind = kind;
    append_item(work, rows[kind].host, rows[kind].late);
    mgds_wire_hold();
}

void mgds_work_again(struct mgds_work *work)
{
    uint64_t again = rows[work->kind].again, late = rows[work->kind].late;

    take_out(work);
    append_item(work, again, late > again ? late : again);
}

void mgds_work_done(struct mgds_work *work)
{
    take_out(work);
    mgds_wire_release();
}

bool mgds_work_cancel(struct mgds_work *work)
{
    if (work->state == MGDS_WORK_QUEUED)
        mgds_work_done(work);
    return work->state == MGDS_WORK_NONE;
}

unsigned mgds_works_count(enum mgds_work_kind kind,
                          bool (*fits)(const struct mgds_work *work,
                                       const void *arg),
                          const void *arg)
{
    const struct mgds_work *work;
    unsigned count = 0;

    if (queues[kind].length == 0)
        return 0;
    TAILQ_FOREACH(work, &queues[kind].items, link)
    {
        count += fits(work, arg);
    }
    return count;
}

void mgds_works_visit(enum mgds_work_kind kind,
                      void (*look)(struct mgds_work *work))
{
    struct mgds_work *work;

    if (queues[kind].length == 0)
        return;
    TAILQ_FOREACH(work, &queues[kind].items, link)
    {
        look(work);
    }
}

/* From when on the kind's first item is for who asks; UINT64_MAX: never, or
 * there is none. */
static uint64_t due_of(enum mgds_work_kind kind, enum mgds_work_by by)
{
    const struct queue *queue = &queues[kind];

    if (!handler_of(kind))
        return UINT64_MAX;
    if (by == MGDS_WORK_BY_WORKER)
        return rows[kind].needs == DRIVER
                   ? __atomic_load_n(&queue->late, __ATOMIC_RELAXED)
                   : UINT64_MAX;
    if ((by == MGDS_WORK_BY_WIRE && rows[kind].needs == DRIVER) ||
        (by == MGDS_WORK_BY_HURRIED && rows[kind].needs != DRIVER))
        return UINT64_MAX;
    return __atomic_load_n(&queue->host, __ATOMIC_RELAXED);
}

bool mgds_works_any(enum mgds_work_kind kind)
{
    return due_of(kind, MGDS_WORK_BY_HOST) != UINT64_MAX;
}

static bool is_due(uint64_t due)
{
    return due != UINT64_MAX && mgds_clock_ns() >= due;
}

/* The item is the caller's. */
static void take_item(struct mgds_work *work)
{
    work->state = MGDS_WORK_RUNNING;
    set_times(&queues[work->kind]);
}

/* Under the lock: the first item, if it is due, is the caller's. */
static struct mgds_work *begin_item(enum mgds_work_kind kind,
                                    enum mgds_work_by by)
{
    struct mgds_work *work;

    if (!is_due(due_of(kind, by)))
        return NULL;
    work = first_queued(&queues[kind]);
    take_item(work);
    return work;
}

/* Each item once at most: those that are to be done again are at the end. */
static void run_locked(enum mgds_work_kind kind)
{
    unsigned left = queues[kind].length;
    struct mgds_work *work;

    while (left-- > 0 && (work = begin_item(kind, MGDS_WORK_BY_HOST)) != NULL)
        if (!handler_of(kind)->run(work, MGDS_WORK_BY_HOST))
            return;
}

bool mgds_works_due(void)
{
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++)
        if (rows[kind].needs == LOCK &&
            is_due(due_of((enum mgds_work_kind)kind, MGDS_WORK_BY_HOST)))
            return true;
    return false;
}

void mgds_works_run_locked(void)
{
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++)
        if (rows[kind].needs == LOCK)
            run_locked((enum mgds_work_kind)kind);
}

void mgds_works_run_now(enum mgds_work_kind kind)
{
    unsigned left = queues[kind].length;
    struct mgds_work *work;

    while (left-- > 0 && (work = first_queued(&queues[kind])) != NULL) {
        take_item(work);
        if (!handler_of(kind)->run(work, MGDS_WORK_BY_HOST))
            return;
    }
}

/* The next item for who asks, if one is due; *left counts down from the queue's
 * length. */
static struct mgds_work *next_item(enum mgds_work_kind kind,
                                   enum mgds_work_by by, unsigned *left)
{
    struct mgds_work *work = NULL;

    mgds_engine_enter();
    if (*left > queues[kind].length)
        *left = queues[kind].length;
    if (*left > 0)
        work = begin_item(kind, by);
    mgds_engine_leave();
    (*left)--;
    return work;
}

void mgds_works_run_kind(enum mgds_work_kind kind, enum mgds_work_by by)
{
    unsigned left = UINT32_MAX;
    struct mgds_work *work;

    while (is_due(due_of(kind, by)) &&
           (work = next_item(kind, by, &left)) != NULL)
        if (!handler_of(kind)->run(work, by))
            return;
}

bool mgds_works_due_by(enum mgds_work_by by)
{
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++)
        if (rows[kind].needs != LOCK &&
            is_due(due_of((enum mgds_work_kind)kind, by)))
            return true;
    return false;
}

/* Calls of the program have left work to the worker; atomic. */
static bool hurried;

void mgds_works_run(enum mgds_work_by by)
{
    if (by == MGDS_WORK_BY_WORKER &&
        __atomic_exchange_n(&hurried, false, __ATOMIC_RELAXED))
        by = MGDS_WORK_BY_HURRIED;
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++)
        if (rows[kind].needs != LOCK)
            mgds_works_run_kind((enum mgds_work_kind)kind, by);
    if (by == MGDS_WORK_BY_WIRE && mgds_works_due_by(MGDS_WORK_BY_WORKER))
        mgds_worker_call();
}

bool mgds_works_leave(void)
{
    mgds_works_run(MGDS_WORK_BY_WIRE);
    if (!mgds_works_due_by(MGDS_WORK_BY_HURRIED))
        return true;
    __atomic_store_n(&hurried, true, __ATOMIC_RELAXED);
    return mgds_worker_call();
}

static struct mgds_work *take_any(struct queue *queue)
{
    struct mgds_work *work;

    mgds_engine_enter();
    work = queue->handler ? TAILQ_FIRST(&queue->items) : NULL;
    if (work)
        mgds_work_done(work);
    mgds_engine_leave();
    return work;
}

static void drop_item(const struct mgds_work_handler *handler,
                      struct mgds_work *work)
{
    if (handler->drop)
        handler->drop(work);
}

void mgds_works_fini(void)
{
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++) {
        struct mgds_work *work;

        while ((work = take_any(&queues[kind])) != NULL)
            drop_item(handler_of((enum mgds_work_kind)kind), work);
    }
}
