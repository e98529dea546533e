/*
 * Making stream communicators, which is collective: whatever one member lacks,
 * all take part in every step and agree on the outcome, so that nobody waits
 * for one who has left.
 *
 *   dup below   from here on the members talk on the new communicator
 *   agree       does anybody fail? room for the longest address; the id
 *   roll call   who is there
 *   agree       does any not reach another through memory of one host? Then
 *               all open the network, and the two steps before are made again
 *   domain      each its own; agree again
 */
#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

#include "shim/base/alloc.h"
#include "shim/base/host.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/self.h"
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

    if (count < 0)
        return mgds_mpi_code(MPI_ERR_ARG, "count is %d, must be 0 or more",
                             count);
    if (count > 0 && !handles)
        return mgds_mpi_code(MPI_ERR_ARG, "array_of_streams is NULL");
    making->streams = mgds_calloc(n, sizeof(struct mgds_stream *));
    if (!making->streams)
        return mgds_mpi_code(MPI_ERR_NO_MEM, "no memory for %u streams", n);
    making->count = n;
    for (int i = 0; i < count; i++) {
        making->streams[i] = mgds_stream_find(handles[i]);
        if (!making->streams[i] && handles[i] != MPIX_STREAM_NULL)
            return mgds_mpi_code(MPI_ERR_OTHER,
                                 "stream %d is 0x%08x, which is no "
                                 "MPIX_Stream, or one that was freed",
                                 i, (unsigned)handles[i]);
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

static int find_address(struct making *making, bool network)
{
    int rc = mgds_comms_open(network, &making->mine.address,
                             &making->mine.address_bytes);

    making->mine.process = process_id();
    making->mine.streams = making->count;
    making->mine.host = has_gpu(making) ? mgds_host_number() : 0;
    making->mine.far = has_gpu(making) && mgds_ctx()->config.ib == MGDS_IB_CPU;
    return mgds_mpi_code_of(rc);
}

static int make_domain(struct making *making, uint64_t id)
{
    struct mgds_scomm_spec spec = {making->comm, making->streams, making->count,
                                   making->roll, id};
    int mine = mgds_mpi_code_of(mgds_scomm_create(&making->scomm, &spec));
    uint64_t failed = mine != MPI_SUCCESS;
    int rc = mgds_agree(making->comm, &failed, 1);

    return rc == MPI_SUCCESS ? mgds_agreed(mine, failed) : rc;
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

/* found: how looking for streams and address went. The id is agreed on too. */
static int call_roll(struct making *making, int found, uint64_t *id)
{
    uint64_t agreed[MGDS_AGREE_MOST] = {
        found != MPI_SUCCESS, making->mine.address_bytes, random_word() >> 1};
    int rc = mgds_agree(making->comm, agreed, MGDS_AGREE_MOST);

    if (rc == MPI_SUCCESS)
        rc = mgds_agreed(found, agreed[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    *id = agreed[2];
    return mgds_roll_call(&making->roll, making->comm, &making->mine,
                          mgds_roll_slot(agreed[1]));
}

static uint64_t any_far(const struct mgds_scomm_roll *roll)
{
    for (int i = 0; i < roll->peers; i++)
        if (!mgds_comms_near(&roll->members[i]))
            return 1;
    return 0;
}

/* Members of one host need no network, and so no socket. That is for all to
 * agree on: who is near to one may be far from another, and then needs an
 * address on the network. */
static int meet(struct making *making, int found, uint64_t *id)
{
    int rc = call_roll(making, found, id);
    uint64_t far;

    if (rc != MPI_SUCCESS)
        return rc;
    far = any_far(making->roll);
    rc = mgds_agree(making->comm, &far, 1);
    if (rc != MPI_SUCCESS || !far)
        return rc;
    mgds_roll_put(making->roll);
    making->roll = NULL;
    return call_roll(making, find_address(making, true), id);
}

static int make(struct making *making, int found)
{
    uint64_t id;
    int rc = meet(making, found, &id);

    if (rc == MPI_SUCCESS)
        rc = share_rings(making);
    if (rc < 0)
        return mgds_mpi_code(MPI_ERR_NO_MEM, "no memory for the communicator");
    return rc == MPI_SUCCESS ? make_domain(making, id) : rc;
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
    mgds_self_keep(making.comm);
    found = find_streams(&making, count, handles);
    if (found == MPI_SUCCESS)
        found = find_address(&making, false);
    if (found == MPI_SUCCESS && !newcomm)
        found = mgds_mpi_code(MPI_ERR_ARG, "newcomm is NULL");
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
    unsigned count = scomm ? scomm->stream_count : 1;
    MPIX_Stream found = MPIX_STREAM_NULL;
    int rc = scomm ? MPI_SUCCESS : mgds_mpi_check_comm(comm);

    if (scomm && index >= 0 && (unsigned)index < count && scomm->streams[index])
        found = scomm->streams[index]->handle;
    mgds_scomm_put(scomm);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!stream)
        return mgds_mpi_refuse_null(comm, "stream");
    if (index < 0 || (unsigned)index >= count)
        return mgds_mpi_refuse(comm, MPI_ERR_ARG, "idx is %d, must be 0 to %u",
                               index, count - 1);
    *stream = found;
    return MPI_SUCCESS;
}
