/* The table of stream communicators, and their end. */
#include "shim/pmpi/stream_comm.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/comm_key.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/self.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_roll.h"

/* FINALIZE_SECONDS: without MPIX_GDS_TIMEOUT. */
enum { BUCKETS = 64, FINALIZE_SECONDS = 60 };

unsigned mgds_scomms_alive;

static struct mgds_lock scomms_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static struct mgds_scomm *buckets[BUCKETS] MGDS_GUARDED_BY(scomms_lock);
static mgds_comm_key comm_key = MPI_KEYVAL_INVALID;
static unsigned taken = 1; /* atomic: how many have left the table, and 1 */

/* The last one that this thread has found, which is still there if none has
 * left since. A handle leaves before the MPI below may give it to another. */
static MGDS_TLS struct {
    struct mgds_scomm *scomm;
    MPI_Comm handle;
    unsigned taken; /* as it was then; 0: none was found yet */
} last_found;

static bool used; /* atomic */
static int owed;  /* atomic: by communicators that were freed */

bool mgds_scomms_used(void)
{
    return __atomic_load_n(&used, __ATOMIC_SEQ_CST);
}

void mgds_scomms_begin(void)
{
    if (__atomic_exchange_n(&used, true, __ATOMIC_SEQ_CST))
        return;
    mgds_frame_close_for_streams();
}

static struct mgds_scomm **place_of(MPI_Comm handle)
{
    uint32_t mixed = (uint32_t)handle * 2654435761u;
    struct mgds_scomm **place = &buckets[mixed >> 26];

    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}

static struct mgds_scomm *look_up(MPI_Comm handle)
{
    struct mgds_scomm *scomm;

    mgds_lock_acquire(&scomms_lock);
    scomm = *place_of(handle);
    if (scomm) {
        mgds_scomm_get(scomm);
        last_found.scomm = scomm;
        last_found.handle = handle;
        last_found.taken = __atomic_load_n(&taken, __ATOMIC_RELAXED);
    }
    mgds_lock_release(&scomms_lock);
    return scomm;
}

struct mgds_scomm *mgds_scomm_find(MPI_Comm handle)
{
    if (last_found.handle != handle ||
        last_found.taken != __atomic_load_n(&taken, __ATOMIC_ACQUIRE))
        return look_up(handle);
    mgds_scomm_get(last_found.scomm);
    return last_found.scomm;
}

static void insert(struct mgds_scomm *scomm)
{
    struct mgds_scomm **place;

    mgds_lock_acquire(&scomms_lock);
    place = place_of(scomm->handle);
    scomm->next = *place;
    *place = scomm;
    mgds_lock_release(&scomms_lock);
    __atomic_fetch_add(&mgds_scomms_alive, 1, __ATOMIC_RELAXED);
}

/* Off the table, with the program's reference; NULL if it is not there. */
static struct mgds_scomm *take(struct mgds_scomm *(*next)(void *arg), void *arg)
{
    struct mgds_scomm *scomm;

    mgds_lock_acquire(&scomms_lock);
    scomm = next(arg);
    if (scomm) {
        *place_of(scomm->handle) = scomm->next;
        /* before its handle may mean another, and before it is freed */
        __atomic_fetch_add(&taken, 1, __ATOMIC_RELEASE);
    }
    mgds_lock_release(&scomms_lock);
    if (scomm)
        __atomic_fetch_sub(&mgds_scomms_alive, 1, __ATOMIC_RELAXED);
    return scomm;
}

static struct mgds_scomm *of_handle(void *arg)
{
    return *place_of(*(MPI_Comm *)arg);
}

static struct mgds_scomm *any_left(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < BUCKETS; i++)
        if (buckets[i])
            return buckets[i];
    return NULL;
}

void mgds_scomm_get(struct mgds_scomm *scomm)
{
    __atomic_fetch_add(&scomm->refs, 1, __ATOMIC_RELAXED);
}

void mgds_scomm_put(struct mgds_scomm *scomm)
{
    if (!scomm || __atomic_sub_fetch(&scomm->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_comm_put(scomm->domain);
    for (unsigned i = 0; i < scomm->stream_count; i++)
        mgds_stream_put(scomm->streams[i]);
    mgds_roll_put(scomm->roll);
    free(scomm->streams);
    free(scomm);
}

static void owe(int *debt, int class)
{
    int none = MPI_SUCCESS;

    __atomic_compare_exchange_n(debt, &none, class, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

static int pay(int *debt)
{
    return __atomic_exchange_n(debt, MPI_SUCCESS, __ATOMIC_RELAXED);
}

static void raise_strays(void)
{
    struct mgds_failure failure;

    while (mgds_comms_take_error(&failure) < 0)
        owe(&owed, mgds_mpi_raise_failure(MPI_COMM_NULL, &failure));
}

void mgds_scomm_raise(struct mgds_scomm *scomm)
{
    struct mgds_failure failure;

    if (!mgds_comm_owes(scomm->domain))
        return;
    while (mgds_comm_take_error(scomm->domain, &failure) < 0)
        owe(&scomm->owed,
            mgds_mpi_raise_failure(mgds_scomm_teller(scomm), &failure));
    raise_strays();
}

/* Errors of freed communicators have no handler of their own any more. */
static void release(struct mgds_scomm *scomm)
{
    mgds_groups_flush();
    mgds_scomm_raise(scomm);
    owe(&owed, pay(&scomm->owed));
    __atomic_store_n(&scomm->freed, true, __ATOMIC_RELEASE);
    mgds_comm_go_astray(scomm->domain);
    mgds_scomm_put(scomm);
    mgds_comms_note_freed();
}

/* MPI_Comm_free, and whatever else ends a communicator below. */
static int comm_goes(MPI_Comm comm, int key, void *value, void *extra)
{
    struct mgds_scomm *scomm = take(of_handle, &comm);

    (void)key;
    (void)value;
    (void)extra;
    if (scomm)
        release(scomm);
    return MPI_SUCCESS;
}

static int mark_below(MPI_Comm handle)
{
    int key = mgds_comm_key_of(&comm_key, comm_goes);

    if (key == MPI_KEYVAL_INVALID ||
        (int)MGDS_NEXT(Comm_set_attr, 3)((mgds_word)handle, (mgds_word)key,
                                         0) != MPI_SUCCESS)
        return -ENOMEM;
    return 0;
}

static int domain_of(struct mgds_scomm *scomm, struct mgds_gstream *gpu[])
{
    const struct mgds_scomm_roll *roll = scomm->roll;
    struct mgds_comm_spec spec = {
        .id = scomm->id,
        .rank = (unsigned)roll->rank,
        .size = (unsigned)roll->size,
        .remote_size = roll->inter ? (unsigned)roll->peers : 0,
        .inter = roll->inter,
        .streams = gpu,
        .stream_count = scomm->stream_count,
        .members = roll->members,
        .tag_ub = roll->tag_ub,
        .channels = roll->channels,
    };

    for (unsigned i = 0; i < scomm->stream_count; i++)
        gpu[i] = scomm->streams[i] ? scomm->streams[i]->gpu : NULL;
    return mgds_comm_create(&scomm->domain, &spec);
}

static void take_streams(struct mgds_scomm *scomm,
                         const struct mgds_scomm_spec *spec)
{
    scomm->stream_count = spec->stream_count;
    for (unsigned i = 0; i < spec->stream_count; i++) {
        scomm->streams[i] = spec->streams[i];
        if (spec->streams[i])
            mgds_stream_get(spec->streams[i]);
    }
}

static struct mgds_scomm *scomm_of(const struct mgds_scomm_spec *spec)
{
    struct mgds_scomm *scomm = mgds_calloc(1, sizeof(*scomm));

    if (!scomm)
        return NULL;
    scomm->streams =
        mgds_calloc(spec->stream_count, sizeof(struct mgds_stream *));
    if (!scomm->streams) {
        free(scomm);
        return NULL;
    }
    scomm->refs = 1;
    scomm->handle = spec->handle;
    scomm->id = spec->id;
    scomm->roll = spec->roll;
    mgds_roll_get(spec->roll);
    take_streams(scomm, spec);
    return scomm;
}

int mgds_scomm_create(struct mgds_scomm **out,
                      const struct mgds_scomm_spec *spec)
{
    struct mgds_gstream **gpu =
        mgds_calloc(spec->stream_count, sizeof(struct mgds_gstream *));
    struct mgds_scomm *scomm = gpu ? scomm_of(spec) : NULL;
    int rc = -ENOMEM;

    if (!scomm)
        goto free_gpu;
    rc = domain_of(scomm, gpu);
    if (rc == 0)
        rc = mark_below(spec->handle);
    if (rc < 0) {
        mgds_scomm_put(scomm);
        goto free_gpu;
    }
    insert(scomm);
    *out = scomm;
free_gpu:
    free(gpu);
    return rc;
}

/* Lines of ours name the communicator by our own record: the threads that write
 * them must not call MPI. */
mgds_word mgds_own_Comm_set_name(mgds_word comm, mgds_word name)
{
    mgds_word result = MGDS_FORWARD(2)(comm, name);
    struct mgds_scomm *scomm =
        (int)result == MPI_SUCCESS && name ? mgds_scomm_of(comm) : NULL;

    if (scomm)
        mgds_comm_set_name(scomm->domain, (const char *)name);
    mgds_scomm_put(scomm);
    return result;
}

/* Without MPIX_GDS_TIMEOUT as long as it takes: what has no partner hangs, as
 * MPI says, and is named after a while. */
static int wait_for_all(struct mgds_scomm *scomm)
{
    const struct mgds_drain_rule rule = {.call = "MPI_Comm_disconnect",
                                         .timeout =
                                             (double)mgds_ctx()->config.timeout,
                                         .patient = true,
                                         .idle = mgds_below_progress};
    unsigned left = 0;
    int rc = mgds_comm_drain(scomm->domain, &rule, &left);

    if (rc < 0)
        mgds_warn("MPI_Comm_disconnect: %u operations are not complete after "
                  "%g seconds (MPIX_GDS_TIMEOUT): it fails",
                  left, rule.timeout);
    return rc;
}

/* The MPI below waits for what it knows. Ours comes first: what was freed while
 * it was under way, and all of a stream communicator. */
mgds_word mgds_own_Comm_disconnect(mgds_word comm)
{
    const MPI_Comm *handle = (const MPI_Comm *)comm;
    struct mgds_scomm *scomm =
        handle ? mgds_scomm_of((mgds_word)*handle) : NULL;
    int rc = 0;

    if (scomm) {
        rc = wait_for_all(scomm);
        mgds_scomm_raise(scomm);
    }
    mgds_scomm_put(scomm);
    if (rc < 0)
        return (mgds_word)mgds_mpi_error(*handle, rc);
    if (handle)
        mgds_request_orphans_wait(*handle);
    return MGDS_FORWARD(1)(comm);
}

MPI_Comm mgds_scomm_teller(const struct mgds_scomm *scomm)
{
    return __atomic_load_n(&scomm->freed, __ATOMIC_ACQUIRE) ? MPI_COMM_NULL
                                                            : scomm->handle;
}

int mgds_scomm_peers(const struct mgds_scomm *scomm)
{
    return scomm->roll->peers;
}

int mgds_scomm_tag_ub(const struct mgds_scomm *scomm)
{
    return scomm->roll->tag_ub;
}

unsigned mgds_scomm_peer_streams(const struct mgds_scomm *scomm, int peer)
{
    unsigned streams = scomm->roll->members[peer].streams;

    return streams > 0 ? streams : 1;
}

struct mgds_gstream *mgds_scomm_gpu(const struct mgds_scomm *scomm)
{
    return scomm->streams[0] ? scomm->streams[0]->gpu : NULL;
}

static bool has(const struct mgds_scomm *scomm,
                const struct mgds_stream *stream)
{
    for (unsigned i = 0; i < scomm->stream_count; i++)
        if (!stream || scomm->streams[i] == stream)
            return true;
    return false;
}

/* The n-th that has the stream, with a reference: others may come and go
 * while a handler runs. */
static struct mgds_scomm *nth_of(const struct mgds_stream *stream, unsigned n)
{
    struct mgds_scomm *found = NULL;

    mgds_lock_acquire(&scomms_lock);
    for (unsigned i = 0; i < BUCKETS && !found; i++)
        for (struct mgds_scomm *at = buckets[i]; at && !found; at = at->next)
            if (has(at, stream) && n-- == 0)
                found = at;
    if (found)
        mgds_scomm_get(found);
    mgds_lock_release(&scomms_lock);
    return found;
}

int mgds_scomms_raise(const struct mgds_stream *stream)
{
    struct mgds_scomm *scomm;
    int first = MPI_SUCCESS;

    for (unsigned n = 0; (scomm = nth_of(stream, n)); n++) {
        mgds_scomm_raise(scomm);
        owe(&first, pay(&scomm->owed));
        mgds_scomm_put(scomm);
    }
    raise_strays();
    if (!stream)
        owe(&first, pay(&owed));
    return first;
}

/* All that was on streams is over; of the last end. */
static bool drained;

int mgds_scomms_fini(void)
{
    uint64_t timeout = mgds_ctx()->config.timeout;
    const struct mgds_drain_rule rule = {.call = "MPI_Finalize",
                                         .timeout = timeout ? (double)timeout
                                                            : FINALIZE_SECONDS,
                                         .patient = timeout == 0,
                                         .idle = mgds_below_progress};
    struct mgds_scomm *scomm;
    int class = MPI_SUCCESS;
    unsigned left = 0;
    int rc;

    if (!mgds_scomms_used())
        return MPI_SUCCESS;
    mgds_groups_fini();
    rc = mgds_op_drain(NULL, &rule, &left);
    if (rc < 0)
        mgds_warn("MPI_Finalize: %u operations of stream communicators are not "
                  "complete after %g seconds (MPIX_GDS_TIMEOUT): they are "
                  "given up",
                  left, rule.timeout);
    /* codes go with the MPI below */
    mgds_below()->Error_class(mgds_scomms_raise(NULL), &class);
    if (class != MPI_SUCCESS)
        mgds_warn("MPI_Finalize: an operation of a stream communicator failed "
                  "and no call has returned that: see MPIX_Stream_synchronize");
    while ((scomm = take(any_left, NULL)))
        release(scomm);
    mgds_comm_key_forget(&comm_key);
    mgds_self_fini();
    mgds_comms_fini();
    drained = rc == 0;
    if (drained)
        mgds_comms_safe_point();
    return class;
}

void mgds_scomms_gone(void)
{
    if (!mgds_scomms_used() || !drained)
        return;
    mgds_comms_gone();
    mgds_comms_safe_point();
}
