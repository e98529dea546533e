/* Probes on stream communicators, and the messages that they take out. */
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/handles.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/stream_call.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_msg.h"
#include "shim/pmpi/watched.h"

static struct mgds_handles messages =
    MGDS_HANDLES_INIT((uint32_t)MPI_MESSAGE_NULL, NULL);

int mgds_messages_add(MPI_Message *handle,
                      const struct mgds_stream_message *message)
{
    struct mgds_stream_message *kept = mgds_malloc(sizeof(*kept));
    int rc = -ENOMEM;

    if (kept) {
        *kept = *message; /* complete before anybody can find it */
        rc = mgds_handles_add(handle, &messages, kept);
    }
    if (rc < 0)
        free(kept);
    return rc;
}

bool mgds_messages_take(struct mgds_stream_message *out, MPI_Message handle)
{
    struct mgds_stream_message *kept =
        handle == MPI_MESSAGE_NULL ? NULL
                                   : mgds_handles_remove(&messages, handle);

    if (!kept)
        return false;
    *out = *kept;
    free(kept);
    return true;
}

/* A probe, whichever of the four. */
struct probe {
    struct mgds_scomm *scomm;
    bool takes; /* the message, too */
    struct mgds_probe what;
    MPI_Message *message;
    MPI_Status *status;
};

/* flag: where a probe says what it found, or what stands for it. */
static int begin(struct probe *probe, mgds_word source, mgds_word tag,
                 const void *flag)
{
    struct mgds_stream_call call = {.scomm = probe->scomm,
                                    .type = MPI_BYTE,
                                    .peer = (int)source,
                                    .tag = (int)tag,
                                    .receives = true,
                                    .fills = "status",
                                    .filled = probe->status};

    probe->what = (struct mgds_probe){.peer = call.peer, .tag = call.tag};
    if (!flag || (probe->takes && !probe->message)) {
        call.fills = flag ? "message" : "flag";
        call.filled = NULL;
    }
    mgds_scomm_raise(probe->scomm);
    return mgds_stream_call_check(&call);
}

/* Whether it is there; negative errno. */
static int look(struct probe *probe)
{
    struct mgds_stream_message message = {.scomm = probe->scomm};
    struct mgds_comm *domain = probe->scomm->domain;
    struct mgds_op_status status;
    int rc;

    if (probe->takes && probe->what.peer != MPI_PROC_NULL)
        rc = mgds_comm_mprobe(&message.engine, domain, &probe->what, &status);
    else
        rc = mgds_comm_probe(domain, &probe->what, &status);
    if (rc != 1)
        return rc;
    if (probe->status != MPI_STATUS_IGNORE)
        mgds_stream_status(probe->status, &status);
    if (!probe->takes)
        return 1;
    *probe->message = MPI_MESSAGE_NO_PROC;
    if (!message.engine)
        return 1;
    mgds_scomm_get(probe->scomm);
    rc = mgds_messages_add(probe->message, &message);
    if (rc < 0)
        mgds_scomm_put(probe->scomm);
    return rc < 0 ? rc : 1;
}

static mgds_word end(struct probe *probe, int rc)
{
    mgds_word result =
        (mgds_word)mgds_mpi_error(mgds_scomm_teller(probe->scomm), rc);

    mgds_scomm_put(probe->scomm);
    return result;
}

/* A probe that waits. */
static mgds_word wait_for(struct probe *probe, mgds_word source, mgds_word tag)
{
    int rc = begin(probe, source, tag, probe);

    if (rc != MPI_SUCCESS) {
        mgds_scomm_put(probe->scomm);
        return (mgds_word)rc;
    }
    probe->what.waits = true;
    mgds_watched_begin("MPI_Probe");
    while ((rc = look(probe)) == 0) {
        mgds_below_progress();
        sched_yield();
    }
    mgds_watched_end();
    return end(probe, rc);
}

/* One that does not: MPI goes on, too, as it does in a probe of its own. */
static mgds_word ask(struct probe *probe, mgds_word source, mgds_word tag,
                     int *flag)
{
    int rc = begin(probe, source, tag, flag);

    if (rc != MPI_SUCCESS) {
        mgds_scomm_put(probe->scomm);
        return (mgds_word)rc;
    }
    rc = look(probe);
    if (rc == 0)
        mgds_below_progress();
    *flag = rc == 1;
    return end(probe, rc);
}

/* On other communicators of an armed rank: a probe may find a header. */

static mgds_word ask_kept(const struct probe *probe, const mgds_word *words,
                          int *flag)
{
    if (!flag || (probe->takes && !probe->message) || !probe->status)
        return (mgds_word)mgds_mpi_refuse_null(
            (MPI_Comm)words[2], flag ? "message or status" : "flag");
    return (mgds_word)mgds_kept_probe((MPI_Comm)words[2], (int)words[0],
                                      (int)words[1], flag, probe->message,
                                      probe->status);
}

static mgds_word wait_for_kept(const struct probe *probe,
                               const mgds_word *words)
{
    mgds_word rc = MPI_SUCCESS;
    int flag = 0;

    mgds_watched_begin("MPI_Probe");
    while ((int)rc == MPI_SUCCESS && !flag) {
        rc = ask_kept(probe, words, &flag);
        if (!flag)
            sched_yield();
    }
    mgds_watched_end();
    return rc;
}

/* source, tag, comm, status */
mgds_word mgds_own_Probe(MGDS_PARAMS_4)
{
    struct probe probe = {.scomm = mgds_scomm_of(c), .status = (MPI_Status *)d};

    if (!probe.scomm && mgds_direct_armed())
        return wait_for_kept(&probe, (mgds_word[]){a, b, c});
    if (!probe.scomm)
        return MGDS_FORWARD(4)(MGDS_ARGS_4);
    return wait_for(&probe, a, b);
}

/* source, tag, comm, message, status */
mgds_word mgds_own_Mprobe(MGDS_PARAMS_5)
{
    struct probe probe = {.scomm = mgds_scomm_of(c),
                          .takes = true,
                          .message = (MPI_Message *)d,
                          .status = (MPI_Status *)e};

    if (!probe.scomm && mgds_direct_armed())
        return wait_for_kept(&probe, (mgds_word[]){a, b, c});
    if (!probe.scomm)
        return MGDS_FORWARD(5)(MGDS_ARGS_5);
    return wait_for(&probe, a, b);
}

/* source, tag, comm, flag, status */
mgds_word mgds_own_Iprobe(MGDS_PARAMS_5)
{
    struct probe probe = {.scomm = mgds_scomm_of(c), .status = (MPI_Status *)e};

    if (!probe.scomm && mgds_direct_armed())
        return ask_kept(&probe, (mgds_word[]){a, b, c}, (int *)d);
    if (!probe.scomm)
        return MGDS_FORWARD(5)(MGDS_ARGS_5);
    return ask(&probe, a, b, (int *)d);
}

/* source, tag, comm, flag, message, status */
mgds_word mgds_own_Improbe(MGDS_PARAMS_6)
{
    struct probe probe = {.scomm = mgds_scomm_of(c),
                          .takes = true,
                          .message = (MPI_Message *)e,
                          .status = (MPI_Status *)f};

    if (!probe.scomm && mgds_direct_armed())
        return ask_kept(&probe, (mgds_word[]){a, b, c}, (int *)d);
    if (!probe.scomm)
        return MGDS_FORWARD(6)(MGDS_ARGS_6);
    return ask(&probe, a, b, (int *)d);
}
