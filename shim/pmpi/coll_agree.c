/* Whether a collective is direct, by votes; see coll_agree.h. */
#include "shim/pmpi/coll_agree.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/stats.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/comm_key.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/world_handler.h"

enum { VOTE_EVERY = 64 };

static mgds_comm_key comm_key = MPI_KEYVAL_INVALID;

/* Communicators of ours that there are. */
static atomic_int owns;

static void destroy(struct mgds_coll_agreed *agreed)
{
    if (agreed->own != MPI_COMM_NULL) {
        MGDS_NEXT(Comm_free, 1)((mgds_word)&agreed->own);
        atomic_fetch_sub(&owns, 1);
    }
    free(agreed->neighbors);
    free(agreed);
}

static int comm_goes(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    destroy((struct mgds_coll_agreed *)value);
    return MPI_SUCCESS;
}

/* True for all members, or for none. */
static bool may_vote(MPI_Comm comm)
{
    return !mgds_scomm_of((mgds_word)comm) && mgds_direct_is_local(comm);
}

/* To go on without would be another decision than that of the other members. */
static int make(struct mgds_coll_agreed **out, const struct mgds_coll_row *row,
                MPI_Comm comm, int key)
{
    struct mgds_coll_agreed *agreed =
        (struct mgds_coll_agreed *)mgds_calloc(1, sizeof(*agreed));
    int rc;

    if (!agreed)
        return mgds_mpi_error(comm, -ENOMEM);
    agreed->own = MPI_COMM_NULL;
    agreed->votes = may_vote(comm);
    rc = mgds_coll_ask(&agreed->facts, row, (mgds_word)comm);
    if (rc == MPI_SUCCESS)
        rc = (int)MGDS_NEXT(Comm_set_attr, 3)((mgds_word)comm, (mgds_word)key,
                                              (mgds_word)agreed);
    if (rc == MPI_SUCCESS)
        *out = agreed;
    else
        destroy(agreed);
    return rc;
}

int mgds_coll_agreed_of(struct mgds_coll_agreed **out,
                        const struct mgds_coll_row *row, MPI_Comm comm)
{
    int key = mgds_comm_key_of(&comm_key, comm_goes);
    struct mgds_coll_agreed *agreed = NULL;
    int flag = 0, rc;

    *out = NULL;
    if (key == MPI_KEYVAL_INVALID)
        return mgds_mpi_error(comm, -ENOMEM);
    rc = (int)MGDS_NEXT(Comm_get_attr, 4)((mgds_word)comm, (mgds_word)key,
                                          (mgds_word)&agreed, (mgds_word)&flag);
    if (rc == MPI_SUCCESS && !flag)
        rc = make(&agreed, row, comm, key);
    if (rc == MPI_SUCCESS && agreed->votes)
        *out = agreed;
    return rc;
}

int mgds_coll_agreed_neighbors(struct mgds_coll_agreed *agreed,
                               const struct mgds_coll_row *row, MPI_Comm comm)
{
    struct mgds_coll_facts facts;
    int *neighbors, rc;

    if (agreed->neighbors)
        return MPI_SUCCESS;
    rc = mgds_coll_ask(&facts, row, (mgds_word)comm);
    if (rc != MPI_SUCCESS)
        return rc;
    neighbors = (int *)mgds_calloc((size_t)facts.in + (size_t)facts.out + 1,
                                   sizeof(*neighbors));
    if (!neighbors)
        return mgds_mpi_error(comm, -ENOMEM);
    rc = mgds_coll_neighbors(neighbors, neighbors + facts.in, &facts, comm);
    if (rc != MPI_SUCCESS) {
        free(neighbors);
        return rc;
    }
    agreed->facts = facts;
    agreed->neighbors = neighbors;
    return rc;
}

bool mgds_coll_vote_is_due(struct mgds_coll_agreed *agreed, unsigned row)
{
    unsigned calls = ++agreed->row[row].calls;

    return (calls & (calls - 1)) == 0 || calls % VOTE_EVERY == 0;
}

/* A program that has no communicator left for us is to go on without one: all
 * members find the same. Out of MPI_COMM_WORLD, since MPICH 4.0.2 crashes with
 * a duplicate. */
static int make_own(MPI_Comm *own, MPI_Comm comm, int tag)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler handler;
    int rc;

    MGDS_NEXT(Comm_group, 2)((mgds_word)comm, (mgds_word)&group);
    handler = mgds_world_handler_set_aside();
    rc = (int)MGDS_NEXT(Comm_create_group, 4)((mgds_word)MPI_COMM_WORLD,
                                              (mgds_word)group, (mgds_word)tag,
                                              (mgds_word)own);
    mgds_world_handler_take_up(handler);
    mgds_below()->Group_free(&group);
    return rc;
}

static bool has_own(struct mgds_coll_agreed *agreed, MPI_Comm comm, int tag)
{
    if (agreed->own != MPI_COMM_NULL || agreed->failed)
        return !agreed->failed;
    agreed->failed = make_own(&agreed->own, comm, tag) != MPI_SUCCESS;
    if (agreed->failed)
        return false;
    atomic_fetch_add(&owns, 1);
    MGDS_NEXT(Comm_set_errhandler, 2)
    ((mgds_word)agreed->own, (mgds_word)MPI_ERRORS_RETURN);
    return true;
}

static bool stands_against(const struct mgds_coll_agreed *agreed)
{
    return !mgds_direct_may_carry() || (agreed->own == MPI_COMM_NULL &&
                                        atomic_load(&owns) >= MGDS_AGREED_MOST);
}

/* By which the members make a communicator while others of them, in other
 * threads, make others: the first one's place in the host is part of it. Far
 * from those that programs take. */
static int fresh_tag(void)
{
    enum { LAST = 32767, AT_A_TIME = 64, PLACES = LAST / AT_A_TIME };
    static atomic_uint last;
    unsigned number = atomic_fetch_add(&last, 1) % AT_A_TIME;

    return (int)(LAST - mgds_direct_place() % PLACES * AT_A_TIME - number);
}

/* Headers that this thread has begun to receive, or to send, are served
 * meanwhile. MPI's code. */
static int count_votes(struct mgds_coll_ballot *ballot, MPI_Comm comm)
{
    int rc = (int)MGDS_NEXT(Iallreduce, 7)(
        (mgds_word)ballot->mine, (mgds_word)ballot->all, MGDS_BALLOT_WORDS,
        (mgds_word)MPI_INT, (mgds_word)MPI_MAX, (mgds_word)comm,
        (mgds_word)&ballot->request);

    mgds_count(direct_votes);
    return rc == MPI_SUCCESS
               ? mgds_direct_wait(&ballot->request, MPI_STATUS_IGNORE)
               : rc;
}

int mgds_coll_vote(struct mgds_coll_agreed *agreed, MPI_Comm comm, unsigned row,
                   bool wants)
{
    struct mgds_coll_ballot *ballot = &agreed->ballot;
    const int *all = ballot->all;
    int rc;

    ballot->mine[MGDS_BALLOT_WANTS] = wants;
    ballot->mine[MGDS_BALLOT_AGAINST] = stands_against(agreed);
    ballot->mine[MGDS_BALLOT_TAG] = agreed->facts.rank == 0 ? fresh_tag() : 0;
    rc = count_votes(ballot, comm);
    if (rc == MPI_SUCCESS)
        agreed->row[row].direct = all[MGDS_BALLOT_WANTS] &&
                                  !all[MGDS_BALLOT_AGAINST] &&
                                  has_own(agreed, comm, all[MGDS_BALLOT_TAG]);
    return rc;
}

/* That of MPI_COMM_WORLD, which nobody frees. */
void mgds_coll_agree_leave_world(void)
{
    int key = mgds_comm_key_known(&comm_key);
    void *value;
    int flag = 0;

    if (key == MPI_KEYVAL_INVALID)
        return;
    MGDS_NEXT(Comm_get_attr, 4)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)key, (mgds_word)&value,
     (mgds_word)&flag);
    if (flag)
        MGDS_NEXT(Comm_delete_attr, 2)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)key);
}

void mgds_coll_agree_fini(void)
{
    mgds_comm_key_forget(&comm_key);
}
