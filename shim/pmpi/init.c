/*
 * Bodies of initialisation and finalisation, of both models: the world
 * (MPI_Init .. MPI_Finalize) and sessions. They learn the rank, give CUDA room
 * for waiting streams, say once what we found, hold the job to
 * MPIX_GDS_REQUIRE, and print the summary when the last of them ends.
 */
#include <mpi.h>
#include <stdatomic.h>

#include "mpix_gds.h"
#include "shim/base/config.h"
#include "shim/base/log.h"
#include "shim/base/trace.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/comm/dump.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/coll_agree.h"
#include "shim/gds/stream/hwqueue.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/errtext.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/self.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_req.h"
#include "shim/pmpi/summary.h"
#include "shim/pmpi/types.h"
#include "shim/pmpi/untied.h"

/* How many of {the world, each session} are open in this process; and how many
 * sessions alone. */
static atomic_int epochs, sessions;

/* In MPI_COMM_WORLD; as the launcher says until, or unless, MPI does. */
static int world_rank = -1;

static void learn_rank(void)
{
    MGDS_NEXT(Comm_rank, 2)((mgds_word)MPI_COMM_WORLD, (mgds_word)&world_rank);
    mgds_log_set_rank(world_rank);
}

static void begin(void)
{
    const struct mgds_mpi_library *library = &mgds_process()->library;

    if (atomic_fetch_add(&epochs, 1) > 0)
        return;
    if (world_rank < 0)
        world_rank = mgds_config_launcher_rank();
    mgds_summary_begin(world_rank);
    mgds_trace_init();
    mgds_dump_begin();
    mgds_info("version %d.%d.%d, %s (%s), cuda %s the process",
              MPIX_GDS_VERSION_MAJOR, MPIX_GDS_VERSION_MINOR,
              MPIX_GDS_VERSION_PATCH, library->version, library->name,
              mgds_presence_scan() ? "in" : "not in");
}

bool mgds_init_seen(void)
{
    return atomic_load(&epochs) > 0;
}

bool mgds_init_has_sessions(void)
{
    return atomic_load(&sessions) > 0;
}

/* Before the library below takes its own leave: it may not come back. last:
 * nothing else is open; of threads that end the world and sessions at a time
 * one alone is told so. */
static int end(bool *last)
{
    int class;

    *last = atomic_fetch_sub(&epochs, 1) == 1;
    if (!*last)
        return MPI_SUCCESS;
    mgds_requests_fini();
    mgds_stream_reqs_fini();
    class = mgds_scomms_fini();
    mgds_dump_end();
    mgds_types_fini();
    mgds_errtext_fini();
    mgds_trace_finalize();
    mgds_summary_end(world_rank);
    return class;
}

/* Whoever looks for headers, and has kept messages, does so in what goes on
 * behind the world, too. */
static void end_direct(void)
{
    mgds_coll_agree_fini();
    mgds_kept_fini();
    mgds_direct_fini();
}

/* The end of the MPI below, or else what is owed. */
static mgds_word ended(int owed, mgds_word result)
{
    if ((int)result != MPI_SUCCESS)
        return result;
    if (atomic_load(&epochs) == 0)
        mgds_scomms_gone();
    return (mgds_word)owed;
}

/* A job whose messages must take a transport that nobody knows does not go on:
 * the error handler is told, which by default ends it. */
static int hold_to_require(MPI_Comm comm)
{
    const char *text = mgds_config_bad("REQUIRE");

    if (!text)
        return MPI_SUCCESS;
    return mgds_mpi_refuse(comm, MPI_ERR_OTHER,
                           "MPIX_GDS_REQUIRE is \"%s\", must be some of self, "
                           "p2p, ib-gpu, ib-cpu and host",
                           text);
}

static mgds_word world_begun(mgds_word result)
{
    if ((int)result != MPI_SUCCESS)
        return result;
    mgds_below_set_world(true);
    learn_rank();
    begin();
    mgds_direct_init();
    return (mgds_word)hold_to_require(MPI_COMM_WORLD);
}

mgds_word mgds_own_Init(mgds_word argc, mgds_word argv)
{
    mgds_hwqueue_prepare();
    return world_begun(MGDS_FORWARD(2)(argc, argv));
}

mgds_word mgds_own_Init_thread(mgds_word argc, mgds_word argv,
                               mgds_word required, mgds_word provided)
{
    mgds_hwqueue_prepare();
    return world_begun(MGDS_FORWARD(4)(argc, argv, required, provided));
}

mgds_word mgds_own_Finalize(void)
{
    bool last;
    int owed;

    mgds_coll_agree_leave_world();
    if (mgds_init_has_sessions())
        mgds_direct_leave_world();
    owed = end(&last);
    if (last) {
        mgds_direct_leave_world();
        end_direct();
    }
    mgds_self_fini();
    mgds_below_set_world(false);
    return ended(owed, MGDS_FORWARD(0)());
}

mgds_word mgds_own_Session_init(mgds_word info, mgds_word errhandler,
                                mgds_word session)
{
    mgds_word result;

    mgds_hwqueue_prepare();
    result = MGDS_FORWARD(3)(info, errhandler, session);
    if ((int)result != MPI_SUCCESS)
        return result;
    mgds_untied_open(*(MPI_Session *)session);
    atomic_fetch_add(&sessions, 1);
    begin();
    return (mgds_word)hold_to_require(MPI_COMM_NULL);
}

mgds_word mgds_own_Session_finalize(mgds_word session)
{
    MPI_Session *place = (MPI_Session *)session;
    MPI_Session handle = place ? *place : MPI_SESSION_NULL;
    bool last;
    int owed = end(&last);
    mgds_word result;

    if (last)
        end_direct();
    mgds_untied_close(handle);
    result = MGDS_FORWARD(1)(session);
    if ((int)result == MPI_SUCCESS)
        atomic_fetch_sub(&sessions, 1);
    if ((int)result != MPI_SUCCESS && handle != MPI_SESSION_NULL &&
        *place == handle)
        mgds_untied_open(handle);
    return ended(owed, result);
}
