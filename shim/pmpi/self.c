/* A communicator of this process alone; see self.h. */
#include "shim/pmpi/self.h"

#include <errno.h>
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

/* The kept one: whoever has made the first stores it, fini takes it away.
 * Atomic. */
static MPI_Comm kept = MPI_COMM_NULL;

static MPI_Comm make_alone(MPI_Comm of)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group all, self;
    int rank;

    if ((int)MGDS_NEXT(Comm_rank, 2)((mgds_word)of, (mgds_word)&rank) !=
            MPI_SUCCESS ||
        (int)MGDS_NEXT(Comm_group, 2)((mgds_word)of, (mgds_word)&all) !=
            MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (mgds_below()->Group_incl(all, 1, &rank, &self) == MPI_SUCCESS) {
        if ((int)MGDS_NEXT(Comm_create_group, 4)((mgds_word)of, (mgds_word)self,
                                                 0, (mgds_word)&comm) !=
            MPI_SUCCESS)
            comm = MPI_COMM_NULL;
        mgds_below()->Group_free(&self);
    }
    mgds_below()->Group_free(&all);
    return comm;
}

static bool is_between_groups(MPI_Comm comm)
{
    int inter = 1;

    MGDS_NEXT(Comm_test_inter, 2)((mgds_word)comm, (mgds_word)&inter);
    return inter;
}

void mgds_self_keep(MPI_Comm of)
{
    MPI_Comm none = MPI_COMM_NULL, mine;

    if (mgds_self_kept() != MPI_COMM_NULL || is_between_groups(of))
        return;
    mine = make_alone(of);
    if (mine == MPI_COMM_NULL)
        return;
    MGDS_NEXT(Comm_set_errhandler, 2)
    ((mgds_word)mine, (mgds_word)MPI_ERRORS_RETURN);
    if (!__atomic_compare_exchange_n(&kept, &none, mine, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        MGDS_NEXT(Comm_free, 1)((mgds_word)&mine);
}

MPI_Comm mgds_self_kept(void)
{
    return __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
}

void mgds_self_fini(void)
{
    MPI_Comm mine = __atomic_exchange_n(&kept, MPI_COMM_NULL, __ATOMIC_ACQ_REL);

    if (mine != MPI_COMM_NULL)
        MGDS_NEXT(Comm_free, 1)((mgds_word)&mine);
}
