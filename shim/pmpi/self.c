/* A communicator of this process alone; see self.h. */
#include "shim/pmpi/self.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/next.h"

/* MPI_COMM_SELF is there in the world model only. */
bool mgds_has_world(void)
{
    int begun = 0, ended = 0;

    MGDS_NEXT(Initialized, 1)((mgds_word)&begun);
    MGDS_NEXT(Finalized, 1)((mgds_word)&ended);
    return begun && !ended;
}

static int open_in_world(struct mgds_self *self)
{
    self->session = MPI_SESSION_NULL;
    if ((int)MGDS_NEXT(Comm_dup, 2)((mgds_word)MPI_COMM_SELF,
                                    (mgds_word)&self->comm) != MPI_SUCCESS)
        return -EIO;
    MGDS_NEXT(Comm_set_errhandler, 2)
    ((mgds_word)self->comm, (mgds_word)MPI_ERRORS_RETURN);
    return 0;
}

/* Threads that make one at the same time need names of their own. */
static int make_comm(struct mgds_self *self, MPI_Group group)
{
    static atomic_uint made;
    char name[64];

    snprintf(name, sizeof(name), "mpix-gds.self.%u",
             atomic_fetch_add(&made, 1));
    return (int)MGDS_NEXT(Comm_create_from_group, 5)(
        (mgds_word)group, (mgds_word)name, (mgds_word)MPI_INFO_NULL,
        (mgds_word)MPI_ERRORS_RETURN, (mgds_word)&self->comm);
}

static int open_in_session(struct mgds_self *self)
{
    MPI_Group group;
    int rc = (int)MGDS_NEXT(Session_init, 3)((mgds_word)MPI_INFO_NULL,
                                             (mgds_word)MPI_ERRORS_RETURN,
                                             (mgds_word)&self->session);

    if (rc != MPI_SUCCESS)
        return -EIO;
    rc = (int)MGDS_NEXT(Group_from_session_pset, 3)(
        (mgds_word)self->session, (mgds_word) "mpi://SELF", (mgds_word)&group);
    if (rc == MPI_SUCCESS) {
        rc = make_comm(self, group);
        mgds_below()->Group_free(&group);
    }
    if (rc == MPI_SUCCESS)
        return 0;
    MGDS_NEXT(Session_finalize, 1)((mgds_word)&self->session);
    return -EIO;
}

int mgds_self_open(struct mgds_self *self)
{
    return mgds_has_world() ? open_in_world(self) : open_in_session(self);
}

void mgds_self_close(struct mgds_self *self)
{
    MGDS_NEXT(Comm_free, 1)((mgds_word)&self->comm);
    if (self->session != MPI_SESSION_NULL)
        MGDS_NEXT(Session_finalize, 1)((mgds_word)&self->session);
}

/* The kept one, and who may touch it:
 *
 *   NONE -> MAKING -> READY, or NONE if it could not be made
 *
 *   MAKING  the thread that moved it there; others wait
 *   READY   anybody reads; fini, by when no other thread uses MPI
 */
enum { NONE, MAKING, READY };

static int state; /* atomic: READY is stored behind what kept is */
static struct mgds_self kept;

MPI_Comm mgds_self_kept(void)
{
    int now = NONE;

    while (!__atomic_compare_exchange_n(&state, &now, MAKING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        if (now == READY)
            return kept.comm;
        sched_yield();
        now = NONE;
    }
    now = mgds_self_open(&kept) == 0 ? READY : NONE;
    __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    return now == READY ? kept.comm : MPI_COMM_NULL;
}

void mgds_self_fini(void)
{
    if (__atomic_exchange_n(&state, NONE, __ATOMIC_ACQUIRE) == READY)
        mgds_self_close(&kept);
}
