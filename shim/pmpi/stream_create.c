/*
 * Making stream communicators, which is collective: whatever one member lacks,
 * all take part in every step and agree on the outcome, so that nobody waits
 * for one who has left.
 *
 *   dup below   from here on the members talk on the new communicator
 *   agree       does anybody fail? room for the longest address; the id
 *   roll call   who is there
 *   domain      each its own; agree again
 */
#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

#include "shim/base/alloc.h"
#include "shim/base/host.h"
#include "shim/base/log.h"
#include "shim/gds/domain/domain.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_roll.h"

/* A member's part, while it takes place. */
struct making {
    MPI_Comm comm; /* the new one */
    struct mgds_stream **streams;
    unsigned count;
    struct mgds_member mine;
    struct mgds_scomm_roll *roll;
    struct mgds_scomm *scomm;
};

static uint64_t random_word(void)
{
    uint64_t word = 0;

    while (word == 0)
        if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
            word = 0;
    return word;
}

/* The same in all calls of the process. */
static uint64_t process_id(void)
{
    static uint64_t id; /* atomic */
    uint64_t none = 0;
    uint64_t fresh;

    if (__atomic_load_n(&id, __ATOMIC_ACQUIRE) == 0) {
        fresh = random_word();
        __atomic_compare_exchange_n(&id, &none, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    }
    return __atomic_load_n(&id, __ATOMIC_ACQUIRE);
}

static void put_streams(struct mgds_stream **streams, unsigned count)
{
    for (unsigned i = 0; streams && i < count; i++)
        mgds_stream_put(streams[i]);
    free(streams);
}

/* A class of MPI's, so that what is wrong with arguments stays tellable. A
 * member without a stream has index 0 as others do. */
static int find_streams(struct making *making, int count,
                        const MPIX_Stream handles[])
{
    unsigned n = count > 0 ? (unsigned)count : 1;

    if (count < 0 || (count > 0 && !handles))
        return MPI_ERR_ARG;
    making->streams = mgds_calloc(n, sizeof(struct mgds_stream *));
    if (!making->streams)
        return MPI_ERR_NO_MEM;
    making->count = n;
    for (int i = 0; i < count; i++) {
        making->streams[i] = mgds_stream_find(handles[i]);
        if (!making->streams[i] && handles[i] != MPIX_STREAM_NULL)
            return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

static bool has_gpu(const struct making *making)
{
    for (unsigned i = 0; i < making->count; i++)
        if (making->streams[i] && making->streams[i]->gpu)
            return true;
    return false;
}

static int find_address(struct making *making)
{
    int rc =
        mgds_domains_open(&making->mine.address, &making->mine.address_bytes);

    making->mine.process = process_id();
    making->mine.streams = making->count;
    making->mine.host = has_gpu(making) ? mgds_host_number() : 0;
    return rc < 0 ? mgds_mpi_class(rc) : MPI_SUCCESS;
}

/* Mine, or what is to be said of another's. */
static int outcome(int mine, uint64_t failed)
{
    if (mine != MPI_SUCCESS)
        return mine;
    if (failed)
        mgds_warn("a stream communicator was not made, for another member of "
                  "it could not do its part: its lines say why");
    return failed ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int make_domain(struct making *making, uint64_t id)
{
    struct mgds_scomm_spec spec = {making->comm, making->streams, making->count,
                                   making->roll, id};
    int mine = mgds_mpi_class(mgds_scomm_create(&making->scomm, &spec));
    uint64_t failed = mine != MPI_SUCCESS;
    int rc = mgds_agree(making->comm, &failed, 1);

    return rc == MPI_SUCCESS ? outcome(mine, failed) : rc;
}

static int share_rings(struct making *making)
{
    struct mgds_gstream **gpu =
        mgds_calloc(making->count, sizeof(struct mgds_gstream *));
    uint64_t short_of_memory = !gpu;
    int rc = mgds_agree(making->comm, &short_of_memory, 1);

    if (rc == MPI_SUCCESS && (short_of_memory || !gpu))
        rc = -ENOMEM;
    for (unsigned i = 0; gpu && i < making->count; i++)
        gpu[i] = making->streams[i] ? making->streams[i]->gpu : NULL;
    if (rc == MPI_SUCCESS)
        rc = mgds_roll_share(making->roll, making->comm, gpu, making->count);
    free(gpu);
    return rc;
}

/* found: how looking for streams and address went. */
static int make(struct making *making, int found)
{
    uint64_t agreed[MGDS_AGREE_MOST] = {
        found != MPI_SUCCESS, making->mine.address_bytes, random_word() >> 1};
    int rc = mgds_agree(making->comm, agreed, MGDS_AGREE_MOST);

    if (rc == MPI_SUCCESS)
        rc = outcome(found, agreed[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = mgds_roll_call(&making->roll, making->comm, &making->mine,
                        mgds_roll_slot(agreed[1]));
    if (rc == MPI_SUCCESS)
        rc = share_rings(making);
    if (rc < 0)
        return MPI_ERR_NO_MEM;
    return rc == MPI_SUCCESS ? make_domain(making, agreed[2]) : rc;
}

static int create(MPI_Comm comm, int count, const MPIX_Stream handles[],
                  MPI_Comm *newcomm)
{
    struct making making = {.count = 0};
    int rc =
        (int)MGDS_NEXT(Comm_dup, 2)((mgds_word)comm, (mgds_word)&making.comm);
    int found;

    if (rc != MPI_SUCCESS)
        return rc;
    mgds_scomms_begin();
    found = find_streams(&making, count, handles);
    if (found == MPI_SUCCESS)
        found = find_address(&making);
    if (found == MPI_SUCCESS && !newcomm)
        found = MPI_ERR_ARG;
    rc = make(&making, found);
    if (rc == MPI_SUCCESS && newcomm)
        *newcomm = making.comm;
    else
        MGDS_NEXT(Comm_free, 1)((mgds_word)&making.comm);
    mgds_roll_put(making.roll);
    put_streams(making.streams, making.count);
    return mgds_mpi_raise(comm, rc);
}

int mgds_mpix_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream,
                                 MPI_Comm *newcomm)
{
    return create(comm, 1, &stream, newcomm);
}

int mgds_mpix_Stream_comm_create_multiplex(MPI_Comm comm, int count,
                                           MPIX_Stream streams[],
                                           MPI_Comm *newcomm)
{
    return create(comm, count, streams, newcomm);
}

int mgds_mpix_Comm_get_stream(MPI_Comm comm, int index, MPIX_Stream *stream)
{
    struct mgds_scomm *scomm = mgds_scomm_of((mgds_word)comm);
    int rc = MPI_SUCCESS;

    if (!stream || index < 0 ||
        (unsigned)index >= (scomm ? scomm->stream_count : 1))
        rc = mgds_mpi_raise(comm, MPI_ERR_ARG);
    else
        *stream = scomm && scomm->streams[index] ? scomm->streams[index]->handle
                                                 : MPIX_STREAM_NULL;
    mgds_scomm_put(scomm);
    return rc;
}

/*
 * Duplicates. All members make them in the same order, as of all collective
 * calls, so each can tell the id by itself; what is agreed on is that all
 * could.
 */
static uint64_t id_of_dup(struct mgds_scomm *scomm)
{
    uint64_t mixed = scomm->id + ++scomm->dups * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

/* The call below has made *handle of scomm's. A class of MPI's. */
static int inherit(struct mgds_scomm *scomm, MPI_Comm *handle)
{
    struct mgds_scomm_spec spec = {*handle, scomm->streams, scomm->stream_count,
                                   scomm->roll, id_of_dup(scomm)};
    struct mgds_scomm *dup;

    return mgds_mpi_class(mgds_scomm_create(&dup, &spec));
}

/* One member that fails alone would leave the others talking to nobody. */
static int inherit_together(struct mgds_scomm *scomm, MPI_Comm *handle)
{
    int mine = inherit(scomm, handle);
    uint64_t failed = mine != MPI_SUCCESS;
    int rc = mgds_agree(*handle, &failed, 1);

    if (rc == MPI_SUCCESS)
        rc = outcome(mine, failed);
    if (rc != MPI_SUCCESS) {
        MGDS_NEXT(Comm_free, 1)((mgds_word)handle);
        *handle = MPI_COMM_NULL;
    }
    return rc;
}

static mgds_word dup_ended(mgds_word comm, mgds_word newcomm, mgds_word result,
                           int (*inherit_by)(struct mgds_scomm *, MPI_Comm *))
{
    struct mgds_scomm *scomm =
        (int)result == MPI_SUCCESS ? mgds_scomm_of(comm) : NULL;

    if (!scomm)
        return result;
    result = (mgds_word)mgds_mpi_raise(mgds_scomm_teller(scomm),
                                       inherit_by(scomm, (MPI_Comm *)newcomm));
    mgds_scomm_put(scomm);
    return result;
}

mgds_word mgds_own_Comm_dup(MGDS_PARAMS_2)
{
    return dup_ended(a, b, MGDS_FORWARD(2)(MGDS_ARGS_2), inherit_together);
}

mgds_word mgds_own_Comm_dup_with_info(MGDS_PARAMS_3)
{
    return dup_ended(a, c, MGDS_FORWARD(3)(MGDS_ARGS_3), inherit_together);
}

/* The handle is there at once; what may be done with it, until the request is
 * complete, is to name it. Nothing can be agreed on in a call that waits for
 * nobody. */
mgds_word mgds_own_Comm_idup(MGDS_PARAMS_3)
{
    return dup_ended(a, b, MGDS_FORWARD(3)(MGDS_ARGS_3), inherit);
}

mgds_word mgds_own_Comm_idup_with_info(MGDS_PARAMS_4)
{
    return dup_ended(a, c, MGDS_FORWARD(4)(MGDS_ARGS_4), inherit);
}
