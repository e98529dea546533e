/* Memory told to other ends, and mapped from them; see memory.h. */
#include "shim/gds/domain/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/gds/domain/admit.h"
#include "shim/gds/domain/launcher.h"
#include "shim/gds/domain/mapping.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/queue/gstream.h"

/* What the other end needs to map memory of a process that is new to it, if it
 * makes a call now; at most. */
enum { SOON_NS = 20000000 };

/* A message is not waited for longer than staging it would take: bytes in a
 * ns. */
enum { STAGED = 2 };

/* How long the program has for a call before the launcher maps, ns. */
enum { GRACE_NS = 100000 };

/* When what was busy is told again, ns. */
enum { AGAIN_NS = 10000000 };

/* Both ends of a lane, as this one sees it. */
struct ends {
    struct mgds_domain *domain;
    unsigned rank, index; /* of the other */
    unsigned own_index;
};

static struct mgds_lane *lane_of(const struct ends *ends)
{
    const struct mgds_domain *domain = ends->domain;

    return mgds_landing_lane(domain->landing, ends->own_index,
                             domain->base[ends->rank] + ends->index);
}

static void tell(const struct ends *ends,
                 const struct mgds_export_handle *handle, bool gone)
{
    struct mgds_domain *domain = ends->domain;
    const struct mgds_exported head = {.domain = domain->id,
                                       .rank = domain->rank,
                                       .index = ends->own_index,
                                       .to_index = ends->index,
                                       .gone = gone,
                                       .handle = *handle};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_EXPORT,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (!domain->member[ends->rank].lost)
        mgds_am_post(domain->member[ends->rank].peer, &message);
}

/* It is not told twice: what the other end has not answered yet waits. */
static void tell_gone(const struct ends *ends, struct mgds_mappings *ours)
{
    uint64_t stale = mgds_exports_stale();
    struct mgds_mapping *item = ours->first;

    if (stale == ours->stale)
        return;
    ours->stale = stale;
    while (item) {
        struct mgds_mapping *next = item->next;

        if (item->state != MGDS_MAPPING_TOLD &&
            mgds_export_is_stale(item->id)) {
            if (item->state == MGDS_MAPPING_READY)
                tell(ends, &item->handle, true);
            mgds_mapping_drop(ours, item);
        }
        item = next;
    }
}

static bool is_soon(const struct mgds_mapping *item, size_t bytes)
{
    uint64_t most = bytes / STAGED < SOON_NS ? bytes / STAGED : SOON_NS;

    return mgds_clock_ns() - item->since < most;
}

static enum mgds_memory state_of(const struct mgds_mapping *item, size_t bytes)
{
    if (item->state == MGDS_MAPPING_READY)
        return MGDS_MEMORY_KNOWN;
    if (item->state == MGDS_MAPPING_REFUSED)
        return MGDS_MEMORY_REFUSED;
    return item->state == MGDS_MAPPING_TOLD && is_soon(item, bytes)
               ? MGDS_MEMORY_SOON
               : MGDS_MEMORY_TOLD;
}

static bool is_to_be_told_again(const struct mgds_mapping *item)
{
    return item->state == MGDS_MAPPING_BUSY &&
           mgds_clock_ns() - item->since > AGAIN_NS;
}

enum mgds_memory mgds_memory_look(struct mgds_domain *domain,
                                  struct mgds_lane *lane,
                                  const struct mgds_xfer *xfer, size_t bytes,
                                  const struct mgds_export_handle *handle)
{
    const struct ends ends = {domain, (unsigned)xfer->peer, xfer->to_index,
                              xfer->from_index};
    struct mgds_mappings *ours = mgds_lane_ours(lane);
    struct mgds_mapping *item;

    if (domain->member[xfer->peer].lost)
        return MGDS_MEMORY_REFUSED;
    if (mgds_lane_is_own(lane))
        return mgds_landing_takes(domain->landing, xfer->to_index)
                   ? MGDS_MEMORY_KNOWN
                   : MGDS_MEMORY_REFUSED;
    tell_gone(&ends, ours);
    item = mgds_mapping_find(ours, handle->id);
    if (item && !is_to_be_told_again(item))
        return state_of(item, bytes);
    if (!item)
        item = mgds_mapping_add(ours, handle);
    if (!item)
        return MGDS_MEMORY_REFUSED;
    item->state = MGDS_MAPPING_TOLD;
    item->since = mgds_clock_ns();
    tell(&ends, handle, false);
    return MGDS_MEMORY_SOON;
}

static enum mgds_mapping_state state_for(int error)
{
    if (error == -EBUSY)
        return MGDS_MAPPING_BUSY;
    return error ? MGDS_MAPPING_REFUSED : MGDS_MAPPING_READY;
}

static void take_imported(struct mgds_domain *domain,
                          const struct mgds_imported *imported)
{
    const struct ends ends = {domain, imported->rank, imported->index,
                              imported->to_index};
    struct mgds_lane *lane = lane_of(&ends);
    struct mgds_mappings *ours = lane ? mgds_lane_ours(lane) : NULL;
    struct mgds_mapping *item =
        ours ? mgds_mapping_find(ours, imported->export) : NULL;

    if (!item || item->state != MGDS_MAPPING_TOLD) {
        mgds_envelope_refuse(MGDS_ENVELOPE_IMPORTED, imported->rank,
                             "that rank was not told of such memory");
        return;
    }
    item->state = state_for(imported->error);
    item->since = mgds_clock_ns();
    ours->stale = 0; /* it may be gone by now */
}

static enum mgds_am_verdict on_imported(const struct mgds_am *am)
{
    enum mgds_am_verdict verdict;
    struct mgds_domain *domain = mgds_admit(am, &verdict);

    if (domain)
        take_imported(domain, &am->head.imported);
    return verdict;
}

/* What is to be mapped. */

struct job {
    struct job *next;
    struct ends ends; /* with a reference to the domain */
    struct mgds_export_handle handle;
    uint64_t since;
};

static struct job *jobs;   /* under the engine's lock */
static unsigned job_count; /* atomic: read without it, too */

static void answer(const struct ends *ends, uint64_t id, int error)
{
    struct mgds_domain *domain = ends->domain;
    const struct mgds_imported head = {.domain = domain->id,
                                       .export = id,
                                       .rank = domain->rank,
                                       .index = ends->own_index,
                                       .to_index = ends->index,
                                       .error = error};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_IMPORTED,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (!domain->member[ends->rank].lost)
        mgds_am_post(domain->member[ends->rank].peer, &message);
}

static void add_job(const struct ends *ends,
                    const struct mgds_export_handle *handle)
{
    struct job *job = (struct job *)mgds_calloc(1, sizeof(*job));

    if (!job) {
        answer(ends, handle->id, -EBUSY);
        return;
    }
    *job = (struct job){.next = jobs,
                        .ends = *ends,
                        .handle = *handle,
                        .since = mgds_clock_ns()};
    mgds_domain_get(ends->domain);
    jobs = job;
    __atomic_fetch_add(&job_count, 1, __ATOMIC_RELAXED);
    mgds_wire_hold();
}

static struct job *take_job(void)
{
    struct job *job = jobs;

    if (job) {
        jobs = job->next;
        __atomic_fetch_sub(&job_count, 1, __ATOMIC_RELAXED);
        mgds_wire_release();
    }
    return job;
}

/* Where no kernel of the stream's may stand nothing could take a message while
 * the program sits in a call of the driver. */
static void take_exported(struct mgds_domain *domain,
                          const struct mgds_exported *exported)
{
    const struct ends ends = {domain, exported->rank, exported->index,
                              exported->to_index};
    struct mgds_lane *lane = lane_of(&ends);
    struct mgds_mappings *theirs;
    struct mgds_mapping *item;

    if (!mgds_lane_pulls(lane) ||
        !mgds_landing_takes(domain->landing, exported->to_index)) {
        answer(&ends, exported->handle.id, -EXDEV);
        return;
    }
    theirs = mgds_lane_theirs(lane);
    item = mgds_mapping_find(theirs, exported->handle.id);
    if (exported->gone && item)
        mgds_mapping_drop(theirs, item);
    if (!exported->gone && !item)
        add_job(&ends, &exported->handle);
}

static enum mgds_am_verdict on_exported(const struct mgds_am *am)
{
    enum mgds_am_verdict verdict;
    struct mgds_domain *domain = mgds_admit(am, &verdict);

    if (domain)
        take_exported(domain, &am->head.exported);
    return verdict;
}

void mgds_memory_init(void)
{
    mgds_am_handle(MGDS_ENVELOPE_EXPORT, on_exported);
    mgds_am_handle(MGDS_ENVELOPE_IMPORTED, on_imported);
}

/* Under the lock: the import is the lane's. */
static int keep(struct mgds_lane *lane, const struct mgds_export_handle *handle,
                struct mgds_import *import)
{
    struct mgds_mappings *theirs = mgds_lane_theirs(lane);
    struct mgds_mapping *item = mgds_mapping_find(theirs, handle->id);

    if (!item)
        item = mgds_mapping_add(theirs, handle);
    if (!item || item->import) {
        mgds_import_put(import);
        return item ? 0 : -EBUSY;
    }
    item->import = import;
    item->state = MGDS_MAPPING_READY;
    return 0;
}

static void map(const struct job *job)
{
    const struct ends *ends = &job->ends;
    const struct mgds_gstream *stream = ends->domain->stream[ends->own_index];
    struct mgds_import *import;
    int rc =
        mgds_import_create(&import, mgds_gstream_context(stream), &job->handle);

    if (rc < 0) {
        errno = -rc;
        mgds_debug("memory of rank %u cannot be mapped: %m: its messages are "
                   "staged",
                   ends->rank);
    }
    mgds_engine_enter();
    if (rc == 0)
        rc = keep(lane_of(ends), &job->handle, import);
    answer(ends, job->handle.id, rc);
    mgds_engine_leave();
}

bool mgds_memory_to_map(void)
{
    return __atomic_load_n(&job_count, __ATOMIC_RELAXED) > 0;
}

void mgds_memory_map(void)
{
    struct job *job;

    while (mgds_memory_to_map()) {
        mgds_engine_enter();
        job = take_job();
        mgds_engine_leave();
        if (!job)
            return;
        map(job);
        mgds_domain_release(job->ends.domain);
        free(job);
    }
}

void mgds_memory_chore(void)
{
    bool late;

    if (!mgds_memory_to_map())
        return;
    mgds_engine_enter();
    late = jobs && mgds_clock_ns() - jobs->since > GRACE_NS;
    mgds_engine_leave();
    if (late)
        mgds_launcher_call();
}

void mgds_memory_fini(void)
{
    struct job *job;

    do {
        mgds_engine_enter();
        job = take_job();
        mgds_engine_leave();
        if (job)
            mgds_domain_release(job->ends.domain);
        free(job);
    } while (job);
    mgds_imports_fini();
    mgds_exports_fini();
}
