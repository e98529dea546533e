/* What probes take out; see kept.h. */
#include "shim/pmpi/kept.h"

#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/comm_key.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/handles.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_orphan.h"

static struct mgds_lock kept_lock = MGDS_LOCK_INIT(MGDS_LOCK_KEPT);
static struct mgds_kept_list list = TAILQ_HEAD_INITIALIZER(list);
unsigned mgds_kept_count; /* written under the lock */

static struct mgds_handles messages =
    MGDS_HANDLES_INIT((uint32_t)MPI_MESSAGE_NULL | MGDS_HANDLES_SECOND, NULL);

/* Where one thread calls MPI an error handler of the program's, which MPI runs
 * in between, may receive. */
MGDS_UNCHECKED void mgds_kept_enter(void)
{
    if (mgds_direct_is_shared())
        mgds_lock_acquire(&kept_lock);
}

MGDS_UNCHECKED void mgds_kept_leave(void)
{
    if (mgds_direct_is_shared())
        mgds_lock_release(&kept_lock);
}

struct mgds_kept *mgds_kept_look(MPI_Comm comm, int source, int tag)
{
    return mgds_kept_any() ? mgds_kept_find(&list, comm, source, tag) : NULL;
}

static void count(unsigned by)
{
    __atomic_fetch_add(&mgds_kept_count, by, __ATOMIC_RELEASE);
}

struct mgds_kept *mgds_kept_take(MPI_Comm comm, int source, int tag)
{
    struct mgds_kept *kept = mgds_kept_look(comm, source, tag);

    if (!kept)
        return NULL;
    TAILQ_REMOVE(&list, kept, link);
    count(-1u);
    return kept;
}

struct mgds_kept *mgds_kept_take_message(MPI_Message handle)
{
    return handle == MPI_MESSAGE_NULL ? NULL
                                      : mgds_handles_remove(&messages, handle);
}

/* It is as long as a header: what its status says to the program follows from
 * whether it is one. */
static int receive(struct mgds_kept *kept)
{
    MPI_Status status;
    struct mgds_header header;
    int rc = (int)MGDS_NEXT(Mrecv, 5)(
        (mgds_word)kept->bytes, MGDS_HEADER_BYTES, (mgds_word)MPI_BYTE,
        (mgds_word)&kept->message, (mgds_word)&status);

    if (rc == MPI_SUCCESS &&
        mgds_direct_decode(&header, kept->bytes, MGDS_HEADER_BYTES,
                           &kept->status))
        mgds_below_set_bytes(&kept->status, (MPI_Count)header.bytes);
    return rc;
}

/* Those of one communicator, or all. A message that nobody has received has no
 * owner who could be told. */
static void forget(const MPI_Comm *comm)
{
    struct mgds_kept *kept, *next;

    mgds_kept_enter();
    for (kept = TAILQ_FIRST(&list); kept; kept = next) {
        next = TAILQ_NEXT(kept, link);
        if (comm && kept->comm != *comm)
            continue;
        TAILQ_REMOVE(&list, kept, link);
        count(-1u);
        free(kept);
    }
    mgds_kept_leave();
}

/* MPI deletes our attribute before the handle may mean another communicator. */
static int comm_goes(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    forget(&comm);
    return MPI_SUCCESS;
}

static mgds_comm_key comm_key = MPI_KEYVAL_INVALID;

static bool is_followed(MPI_Comm comm, int keyval)
{
    void *value;
    int flag = 0;

    MGDS_NEXT(Comm_get_attr, 4)
    ((mgds_word)comm, (mgds_word)keyval, (mgds_word)&value, (mgds_word)&flag);
    return flag;
}

/* Sees to it that nothing of the communicator is kept for longer than it. Set
 * once: MPI would delete an older attribute. */
static void follow(MPI_Comm comm)
{
    int keyval = mgds_comm_key_of(&comm_key, comm_goes);

    if (keyval != MPI_KEYVAL_INVALID && !is_followed(comm, keyval))
        MGDS_NEXT(Comm_set_attr, 3)((mgds_word)comm, (mgds_word)keyval, 0);
}

static void keep(struct mgds_kept *kept)
{
    TAILQ_INSERT_TAIL(&list, kept, link);
    count(1);
    follow(kept->comm);
}

/* The next of the source, which is there. *tag: its. */
static int extract(MPI_Comm comm, int source, int *tag)
{
    struct mgds_kept *kept = mgds_calloc(1, sizeof(*kept));
    int flag = 0;
    int rc;

    if (!kept)
        return mgds_mpi_error(comm, -ENOMEM);
    kept->comm = comm;
    rc = (int)MGDS_NEXT(Improbe, 6)(
        (mgds_word)source, (mgds_word)MPI_ANY_TAG, (mgds_word)comm,
        (mgds_word)&flag, (mgds_word)&kept->message, (mgds_word)&kept->status);
    if (rc == MPI_SUCCESS && flag &&
        mgds_below_bytes(&kept->status) == MGDS_HEADER_BYTES)
        rc = receive(kept);
    if (rc != MPI_SUCCESS || !flag) {
        free(kept);
        return rc;
    }
    *tag = kept->status.MPI_TAG;
    keep(kept);
    return MPI_SUCCESS;
}

/* A message with this status waits below: it, and what is ahead of it. */
static int keep_up_to(MPI_Comm comm, const MPI_Status *status)
{
    int tag = MPI_ANY_TAG;
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && tag != status->MPI_TAG)
        rc = extract(comm, status->MPI_SOURCE, &tag);
    return rc;
}

/* A handle of ours for one that is off the list: it is the message's from here
 * on. What has no sender is as it is below. */
static int give(struct mgds_kept *kept, MPI_Message *message)
{
    int rc;

    if (kept->message != MPI_MESSAGE_NO_PROC) {
        rc = mgds_handles_add(message, &messages, kept);
        return rc < 0 ? rc : 1;
    }
    *message = kept->message;
    free(kept);
    return 1;
}

/* MPI_ERROR is left as it was, as MPI leaves it. */
static void tell(MPI_Status *status, const MPI_Status *found)
{
    int error;

    if (status == MPI_STATUS_IGNORE)
        return;
    error = status->MPI_ERROR;
    *status = *found;
    status->MPI_ERROR = error;
}

struct probe {
    MPI_Comm comm;
    int source, tag;
    MPI_Message *message;
    MPI_Status *status;
};

/* 1: the list has it; 0; or negative errno. */
static int probe_list(const struct probe *probe)
{
    struct mgds_kept *kept =
        mgds_kept_look(probe->comm, probe->source, probe->tag);
    int rc;

    if (!kept)
        return 0;
    tell(probe->status, &kept->status);
    if (!probe->message)
        return 1;
    TAILQ_REMOVE(&list, kept, link);
    rc = give(kept, probe->message);
    if (rc < 0)
        TAILQ_INSERT_HEAD(&list, kept, link);
    else
        count(-1u);
    return rc;
}

/* The message that has this status can be no header. */
static int take_below(const struct probe *probe, const MPI_Status *status,
                      int *listed)
{
    struct mgds_kept *kept;
    int flag, rc;

    tell(probe->status, status);
    if (!probe->message)
        return MPI_SUCCESS;
    kept = mgds_calloc(1, sizeof(*kept));
    if (!kept)
        return mgds_mpi_error(probe->comm, -ENOMEM);
    kept->comm = probe->comm;
    rc = (int)MGDS_NEXT(Improbe, 6)(
        (mgds_word)status->MPI_SOURCE, (mgds_word)status->MPI_TAG,
        (mgds_word)probe->comm, (mgds_word)&flag, (mgds_word)&kept->message,
        (mgds_word)&kept->status);
    *listed = rc == MPI_SUCCESS ? give(kept, probe->message) : 0;
    if (*listed <= 0)
        free(kept);
    return rc;
}

/* MPI's code; *flag as a probe's. */
static int probe_below(const struct probe *probe, int *flag, int *listed)
{
    MPI_Status status;
    int rc;

    status.MPI_ERROR = MPI_SUCCESS;
    rc = (int)MGDS_NEXT(Iprobe, 5)(
        (mgds_word)probe->source, (mgds_word)probe->tag, (mgds_word)probe->comm,
        (mgds_word)flag, (mgds_word)&status);
    if (rc != MPI_SUCCESS || !*flag)
        return rc;
    if (mgds_below_bytes(&status) != MGDS_HEADER_BYTES)
        return take_below(probe, &status, listed);
    rc = keep_up_to(probe->comm, &status);
    if (rc == MPI_SUCCESS)
        *listed = probe_list(probe);
    *flag = *listed == 1;
    return rc;
}

int mgds_kept_probe(MPI_Comm comm, int source, int tag, int *flag,
                    MPI_Message *message, MPI_Status *status)
{
    const struct probe probe = {comm, source, tag, message, status};
    int rc = MPI_SUCCESS;
    int listed;

    mgds_request_orphans_poll();
    mgds_direct_open_step(0);
    mgds_kept_enter();
    listed = probe_list(&probe);
    *flag = listed == 1;
    if (listed == 0)
        rc = probe_below(&probe, flag, &listed);
    mgds_kept_leave();
    return listed < 0 ? mgds_mpi_error(comm, listed) : rc;
}

void mgds_kept_fini(void)
{
    forget(NULL);
    mgds_comm_key_forget(&comm_key);
}
