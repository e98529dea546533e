/* Memory told to other ends, and mapped from them; see memory.h. */
#include "shim/gds/proto/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/gds/comm/admit.h"
#include "shim/gds/proto/mapping.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/stream/gstream.h"

/* What the other end needs to map memory of a process that is new to it, if it
 * makes a call now; at most. */
enum { SOON_NS = 20000000 };

/* A message is not waited for longer than staging it would take: bytes in a
 * ns. */
enum { STAGED = 2 };

/* When what was busy is told again, ns. */
enum { AGAIN_NS = 10000000 };

/* Both ends of a channel, as this one sees it. */
struct ends {
    struct mgds_comm *comm;
    unsigned rank, index; /* of the other */
    unsigned own_index;
};

static struct mgds_channel *channel_of(const struct ends *ends)
{
    return mgds_comm_channel(ends->comm, ends->own_index, ends->rank,
                             ends->index);
}

static void tell_exported(const struct ends *ends,
                          const struct mgds_export_handle *handle, bool gone)
{
    struct mgds_comm *comm = ends->comm;
    const struct mgds_exported head = {.comm = comm->id,
                                       .rank = comm->rank,
                                       .index = ends->own_index,
                                       .to_index = ends->index,
                                       .gone = gone,
                                       .handle = *handle};

    if (!comm->member[ends->rank].lost)
        mgds_am_tell(comm->member[ends->rank].peer, MGDS_ENVELOPE_EXPORT, &head,
                     sizeof(head));
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
                tell_exported(ends, &item->handle, true);
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

static enum mgds_exposure state_of(const struct mgds_mapping *item,
                                   size_t bytes)
{
    if (item->state == MGDS_MAPPING_READY)
        return MGDS_EXPOSURE_KNOWN;
    if (item->state == MGDS_MAPPING_REFUSED)
        return MGDS_EXPOSURE_REFUSED;
    return item->state == MGDS_MAPPING_TOLD && is_soon(item, bytes)
               ? MGDS_EXPOSURE_SOON
               : MGDS_EXPOSURE_TOLD;
}

static bool is_to_be_told_again(const struct mgds_mapping *item)
{
    return item->state == MGDS_MAPPING_BUSY &&
           mgds_clock_ns() - item->since > AGAIN_NS;
}

enum mgds_exposure mgds_memory_expose(const struct mgds_exposing *exposing)
{
    struct mgds_comm *comm = exposing->comm;
    const struct mgds_xfer *xfer = exposing->xfer;
    const struct mgds_export_handle *handle = &exposing->handle;
    const struct ends ends = {comm, (unsigned)xfer->peer, xfer->to_index,
                              xfer->from_index};
    struct mgds_mappings *ours = mgds_channel_ours(exposing->channel);
    struct mgds_mapping *item;

    if (comm->member[xfer->peer].lost)
        return MGDS_EXPOSURE_REFUSED;
    tell_gone(&ends, ours);
    item = mgds_mapping_find(ours, handle->id);
    if (item && !is_to_be_told_again(item))
        return state_of(item, exposing->bytes);
    if (!item)
        item = mgds_mapping_add(ours, handle);
    if (!item)
        return MGDS_EXPOSURE_REFUSED;
    item->state = MGDS_MAPPING_TOLD;
    item->since = mgds_clock_ns();
    tell_exported(&ends, handle, false);
    return MGDS_EXPOSURE_SOON;
}

static enum mgds_mapping_state state_for(int error)
{
    if (error == -EBUSY)
        return MGDS_MAPPING_BUSY;
    return error ? MGDS_MAPPING_REFUSED : MGDS_MAPPING_READY;
}

static void take_imported(struct mgds_comm *comm,
                          const struct mgds_imported *imported)
{
    const struct ends ends = {comm, imported->rank, imported->index,
                              imported->to_index};
    struct mgds_channel *channel = channel_of(&ends);
    struct mgds_mappings *ours = channel ? mgds_channel_ours(channel) : NULL;
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
    struct mgds_comm *comm = mgds_admit(am, &verdict);

    if (comm)
        take_imported(comm, &am->head.imported);
    return verdict;
}

/* What is to be mapped. */

struct job {
    struct mgds_work work;
    struct ends ends; /* with a reference to the communicator */
    struct mgds_export_handle handle;
};

static void answer_exported(const struct ends *ends, uint64_t id, int error)
{
    struct mgds_comm *comm = ends->comm;
    const struct mgds_imported head = {.comm = comm->id,
                                       .export = id,
                                       .rank = comm->rank,
                                       .index = ends->own_index,
                                       .to_index = ends->index,
                                       .error = error};

    if (!comm->member[ends->rank].lost)
        mgds_am_tell(comm->member[ends->rank].peer, MGDS_ENVELOPE_IMPORTED,
                     &head, sizeof(head));
}

static void add_job(const struct ends *ends,
                    const struct mgds_export_handle *handle)
{
    struct job *job = (struct job *)mgds_calloc(1, sizeof(*job));

    if (!job) {
        answer_exported(ends, handle->id, -EBUSY);
        return;
    }
    *job = (struct job){.ends = *ends, .handle = *handle};
    mgds_comm_get(ends->comm);
    mgds_work_add(&job->work, MGDS_WORK_IMPORT);
}

/* Where no kernel of the stream's may stand nothing could take a message while
 * the program sits in a call of the driver. */
static void take_exported(struct mgds_comm *comm,
                          const struct mgds_exported *exported)
{
    const struct ends ends = {comm, exported->rank, exported->index,
                              exported->to_index};
    struct mgds_channel *channel = channel_of(&ends);
    struct mgds_mappings *theirs;
    struct mgds_mapping *item;

    if (!mgds_channel_can_get(channel) ||
        !mgds_channels_can_take(comm->channels, exported->to_index)) {
        answer_exported(&ends, exported->handle.id, -EXDEV);
        return;
    }
    theirs = mgds_channel_theirs(channel);
    item = mgds_mapping_find(theirs, exported->handle.id);
    if (exported->gone && item)
        mgds_mapping_drop(theirs, item);
    if (!exported->gone && !item)
        add_job(&ends, &exported->handle);
}

static enum mgds_am_verdict on_exported(const struct mgds_am *am)
{
    enum mgds_am_verdict verdict;
    struct mgds_comm *comm = mgds_admit(am, &verdict);

    if (comm)
        take_exported(comm, &am->head.exported);
    return verdict;
}

/* Under the lock: the import is the channel's. */
static int keep_import(struct mgds_channel *channel,
                       const struct mgds_export_handle *handle,
                       struct mgds_import *import)
{
    struct mgds_mappings *theirs = mgds_channel_theirs(channel);
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

static int import_memory(const struct job *job, struct mgds_import **out)
{
    const struct ends *ends = &job->ends;
    const struct mgds_gstream *stream = ends->comm->stream[ends->own_index];
    int rc =
        mgds_import_create(out, mgds_gstream_context(stream), &job->handle);

    if (rc < 0) {
        errno = -rc;
        mgds_debug("memory of rank %u cannot be mapped: %m: its messages are "
                   "staged",
                   ends->rank);
    }
    return rc;
}

static void drop_job(struct mgds_work *work)
{
    struct job *job = MGDS_CONTAINER_OF(work, struct job, work);

    mgds_comm_release(job->ends.comm);
    free(job);
}

static bool run_job(struct mgds_work *work, enum mgds_work_by by)
{
    const struct job *job = MGDS_CONTAINER_OF(work, struct job, work);
    struct mgds_import *import;
    int rc = import_memory(job, &import);

    (void)by;
    mgds_engine_enter();
    if (rc == 0)
        rc = keep_import(channel_of(&job->ends), &job->handle, import);
    answer_exported(&job->ends, job->handle.id, rc);
    mgds_work_done(work);
    mgds_engine_leave();
    drop_job(work);
    return true;
}

void mgds_memory_init(void)
{
    static const struct mgds_work_handler import = {run_job, drop_job};

    mgds_work_handle(MGDS_WORK_IMPORT, &import);
    mgds_am_handle(MGDS_ENVELOPE_EXPORT, on_exported);
    mgds_am_handle(MGDS_ENVELOPE_IMPORTED, on_imported);
}

void mgds_memory_fini(void)
{
    mgds_imports_fini();
    mgds_exports_fini();
}
