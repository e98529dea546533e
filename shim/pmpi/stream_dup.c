/*
 * Duplicates of stream communicators. All members make them in the same order,
 * as of all collective calls, so each can tell the id by itself; what is agreed
 * on is that all could.
 *
 *   dup    below; mine; agree on the new one
 *   idup   below; mine; a reduction on the old one is started. The program's
 *          request is complete when both are, without another step of any
 *          member: a member that is somewhere else in MPI holds up nobody.
 */
#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_call.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_roll.h"

static uint64_t id_of_dup(struct mgds_scomm *scomm)
{
    uint64_t mixed = scomm->id + ++scomm->dups * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

/* The call below has made handle of scomm's. Negative errno. */
static int inherit(struct mgds_scomm *scomm, MPI_Comm handle)
{
    struct mgds_scomm_spec spec = {handle, scomm->streams, scomm->stream_count,
                                   scomm->roll, id_of_dup(scomm)};
    struct mgds_scomm *dup;

    return mgds_scomm_create(&dup, &spec);
}

static void drop(MPI_Comm *handle)
{
    MGDS_NEXT(Comm_free, 1)((mgds_word)handle);
    *handle = MPI_COMM_NULL;
}

/* One member that fails alone would leave the others talking to nobody. */
static int inherit_together(struct mgds_scomm *scomm, MPI_Comm *handle)
{
    int mine = inherit(scomm, *handle);
    uint64_t failed = mine < 0;
    int rc = mgds_agree(*handle, &failed, 1);

    if (rc == MPI_SUCCESS)
        rc = mgds_agreed(mgds_mpi_code_of(mine), failed);
    if (rc != MPI_SUCCESS)
        drop(handle);
    return rc;
}

static mgds_word dup_ended(mgds_word comm, mgds_word newcomm, mgds_word result)
{
    struct mgds_scomm *scomm =
        (int)result == MPI_SUCCESS ? mgds_scomm_of(comm) : NULL;

    if (!scomm)
        return result;
    result = (mgds_word)mgds_mpi_raise(
        mgds_scomm_teller(scomm), inherit_together(scomm, (MPI_Comm *)newcomm));
    mgds_scomm_put(scomm);
    return result;
}

mgds_word mgds_own_Comm_dup(MGDS_PARAMS_2)
{
    return dup_ended(a, b, MGDS_FORWARD(2)(MGDS_ARGS_2));
}

mgds_word mgds_own_Comm_dup_with_info(MGDS_PARAMS_3)
{
    return dup_ended(a, c, MGDS_FORWARD(3)(MGDS_ARGS_3));
}

enum { DUP, REDUCTION, REQUESTS };

/* A member's part in an idup that is under way. */
struct idup {
    struct mgds_scomm *scomm; /* the old one */
    MPI_Comm *newcomm;        /* where the program has the new one */
    MPI_Comm made;
    MPI_Request below[REQUESTS];
    int mine;        /* 0, or negative errno */
    int failed, any; /* I; somebody */
};

/* Its request; what MPI writes into is a record of its own. */
struct idup_request {
    struct mgds_request request; /* first */
    struct idup *idup;
};

static struct idup *idup_of(const struct mgds_request *request)
{
    return ((const struct idup_request *)request)->idup;
}

/* The request that MPI writes into must stay: the record of one that the
 * program frees, which MPI forbids of collective ones, is never given back. */
static void release(struct mgds_request *request)
{
    struct idup *idup = idup_of(request);

    mgds_scomm_put(idup->scomm);
    if (idup->below[DUP] == MPI_REQUEST_NULL &&
        idup->below[REDUCTION] == MPI_REQUEST_NULL)
        free(idup);
}

/* As errors of operations are told: negative errno. */
static int end(struct idup *idup)
{
    if (idup->mine == 0 && !idup->any)
        return 0;
    drop(&idup->made);
    *idup->newcomm = MPI_COMM_NULL;
    return idup->mine < 0 ? idup->mine : -EREMOTEIO;
}

static int test(struct mgds_request *request, MPI_Status *status, int *error)
{
    struct idup *idup = idup_of(request);
    int done = 0;
    int rc = (int)MGDS_NEXT(Testall, 4)(REQUESTS, (mgds_word)idup->below,
                                        (mgds_word)&done,
                                        (mgds_word)MPI_STATUSES_IGNORE);

    if (rc != MPI_SUCCESS)
        idup->any = done = 1;
    if (!done)
        return 0;
    mgds_stream_status_empty(status);
    *error = end(idup);
    return 1;
}

static MPI_Comm teller(const struct mgds_request *request)
{
    return mgds_scomm_teller(idup_of(request)->scomm);
}

static const struct mgds_request_ops idup_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED,
    .release = release,
    .test = test,
    .teller = teller,
};

/* The largest that any member has. A class of MPI's. */
static int start_reduction(MPI_Comm comm, const int *failed, int *any,
                           MPI_Request *request)
{
    if ((int)MGDS_NEXT(Iallreduce, 7)((mgds_word)failed, (mgds_word)any, 1,
                                      (mgds_word)MPI_INT, (mgds_word)MPI_MAX,
                                      (mgds_word)comm,
                                      (mgds_word)request) == MPI_SUCCESS)
        return MPI_SUCCESS;
    *request = MPI_REQUEST_NULL;
    return MPI_ERR_OTHER;
}

/* The words of a call, with info or without. */
struct idup_words {
    mgds_word comm, info, newcomm, request;
    bool has_info;
};

static int dup_below(const struct idup_words *words, MPI_Request *request)
{
    if (words->has_info)
        return (int)MGDS_FORWARD(4)(words->comm, words->info, words->newcomm,
                                    (mgds_word)request);
    return (int)MGDS_FORWARD(3)(words->comm, words->newcomm,
                                (mgds_word)request);
}

/* Without memory for a record: the others must hear of it. Both operations end
 * by themselves, or with MPI_Finalize; nobody asks for them. */
static int take_part_and_fail(struct mgds_scomm *scomm,
                              const struct idup_words *words)
{
    static const int failed = 1;
    static int nowhere;
    MPI_Request request;
    int rc = dup_below(words, &request);

    if (rc != MPI_SUCCESS)
        return rc;
    id_of_dup(scomm);
    start_reduction(scomm->handle, &failed, &nowhere, &request);
    *(MPI_Comm *)words->newcomm = MPI_COMM_NULL;
    return mgds_mpi_error(mgds_scomm_teller(scomm), -ENOMEM);
}

/* NULL without memory. */
static struct idup_request *start_request(struct mgds_scomm *scomm)
{
    struct idup_request *made =
        mgds_request_new(sizeof(*made), &idup_ops, scomm->handle);
    struct idup *idup = made ? mgds_calloc(1, sizeof(*idup)) : NULL;

    if (!idup) {
        free(made);
        return NULL;
    }
    mgds_scomm_get(scomm);
    idup->scomm = scomm;
    idup->below[DUP] = idup->below[REDUCTION] = MPI_REQUEST_NULL;
    made->idup = idup;
    return mgds_grequest_start(&made->request) == 0 ? made : NULL;
}

static int start(struct mgds_scomm *scomm, const struct idup_words *words)
{
    struct idup_request *made = start_request(scomm);
    struct idup *idup;
    int rc;

    if (!made)
        return take_part_and_fail(scomm, words);
    idup = made->idup;
    rc = dup_below(words, &idup->below[DUP]);
    if (rc != MPI_SUCCESS) {
        mgds_grequest_drop(&made->request);
        return rc;
    }
    idup->newcomm = (MPI_Comm *)words->newcomm;
    idup->made = *idup->newcomm;
    idup->mine = inherit(scomm, idup->made);
    idup->failed = idup->mine < 0;
    rc = start_reduction(scomm->handle, &idup->failed, &idup->any,
                         &idup->below[REDUCTION]);
    if (rc != MPI_SUCCESS)
        idup->mine = -EREMOTEIO;
    mgds_grequest_begin(&made->request, (MPI_Request *)words->request);
    return MPI_SUCCESS;
}

/* Between groups one reduction tells of the other group alone, and a second one
 * could be started only when a member comes by. */
static int refuse_inter(struct mgds_scomm *scomm)
{
    return mgds_mpi_refuse(mgds_scomm_teller(scomm),
                           MPI_ERR_UNSUPPORTED_OPERATION,
                           "of a stream communicator between two groups it is "
                           "not there: use MPI_Comm_dup");
}

static mgds_word idup(const struct idup_words *words)
{
    struct mgds_scomm *scomm = mgds_scomm_of(words->comm);
    int rc;

    if (!scomm || !words->newcomm || !words->request) {
        mgds_scomm_put(scomm);
        return (mgds_word)dup_below(words, (MPI_Request *)words->request);
    }
    mgds_request_orphans_poll();
    rc = scomm->roll->inter ? refuse_inter(scomm) : start(scomm, words);
    mgds_scomm_put(scomm);
    return (mgds_word)rc;
}

mgds_word mgds_own_Comm_idup(MGDS_PARAMS_3)
{
    const struct idup_words words = {.comm = a, .newcomm = b, .request = c};

    return idup(&words);
}

mgds_word mgds_own_Comm_idup_with_info(MGDS_PARAMS_4)
{
    const struct idup_words words = {a, b, c, d, true};

    return idup(&words);
}
