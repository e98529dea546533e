/*
 * Bodies of partitioned communication. The bounce below holds all partitions;
 * each is copied when it is ready or has arrived.
 */
#include "shim/pmpi/part.h"

#include <errno.h>
#include <mpi.h>
#include <string.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_p2p.h"

static size_t first_byte(const struct mgds_persist *persist, int partition)
{
    return (size_t)partition * persist->bytes;
}

void mgds_part_restart(struct mgds_persist *persist)
{
    memset(persist->arrived, 0, (size_t)persist->partitions);
}

/* Neighbours go together. */
int mgds_part_landed(struct mgds_persist *persist)
{
    int rc = 0;

    mgds_lock_acquire(&persist->lock);
    for (int p = 0; p < persist->partitions && rc >= 0;) {
        int from = p;

        while (p < persist->partitions && !persist->arrived[p])
            persist->arrived[p++] = true;
        if (p > from)
            rc = mgds_bounce_up(persist->side.bounce, first_byte(persist, from),
                                first_byte(persist, p - from));
        else
            p++;
    }
    mgds_lock_release(&persist->lock);
    return rc;
}

/* What one of the two is made from: addr, partitions, count, type, peer, tag,
 * comm, info, request. */
struct making {
    mgds_word word[9];
    enum mgds_persist_way way;
};

static int look(struct mgds_side *side, const struct making *making)
{
    MPI_Count all;
    int partitions = (int)making->word[1];

    if ((int)making->word[4] == MPI_PROC_NULL || partitions <= 0)
        return 0;
    if (__builtin_mul_overflow((MPI_Count)making->word[2], partitions, &all))
        return 0;
    return mgds_side_init(
        side, (const void *)making->word[0], all, (MPI_Datatype)making->word[3],
        making->way == MGDS_PERSIST_PART_SEND ? MGDS_SIDE_SEND
                                              : MGDS_SIDE_PARTS);
}

static mgds_word forward(const mgds_word *w)
{
    return MGDS_FORWARD(9)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                           w[8]);
}

static mgds_word make(struct making *making)
{
    MPI_Comm comm = (MPI_Comm)making->word[6];
    struct mgds_persist *persist;
    struct mgds_side side;
    int rc = look(&side, making);

    if (rc == 0)
        return forward(making->word);
    if (rc == 1)
        rc = mgds_persist_create(&persist, &side, comm, making->way,
                                 (int)making->word[1]);
    if (rc != 0)
        return (mgds_word)mgds_mpi_error(comm, rc);
    making->word[0] = (mgds_word)side.addr;
    if (side.type != (MPI_Datatype)making->word[3]) {
        making->word[2] = (mgds_word)persist->bytes;
        making->word[3] = (mgds_word)side.type;
    }
    return mgds_request_made(&persist->request, (MPI_Request *)making->word[8],
                             forward(making->word));
}

mgds_word mgds_own_Psend_init(MGDS_PARAMS_9)
{
    struct making making = {{MGDS_ARGS_9}, MGDS_PERSIST_PART_SEND};
    mgds_word result;

    if (mgds_stream_p2p_refuses(&result, g))
        return result;
    return make(&making);
}

mgds_word mgds_own_Precv_init(MGDS_PARAMS_9)
{
    struct making making = {{MGDS_ARGS_9}, MGDS_PERSIST_PART_RECV};
    mgds_word result;

    if (mgds_stream_p2p_refuses(&result, g))
        return result;
    return make(&making);
}

/* The request a Pready or Parrived names, if it is ours and of that way. */
static struct mgds_persist *find(MPI_Request request, enum mgds_persist_way way)
{
    struct mgds_persist *persist =
        mgds_requests_any() ? mgds_persist_find(request) : NULL;

    return persist && persist->way == way ? persist : NULL;
}

/* Copies of partitions, under the lock; the MPI below refuses bad numbers. */
static int queue_down(struct mgds_persist *persist, int from, int to)
{
    if (from < 0 || to >= persist->partitions || from > to)
        return 0;
    return mgds_bounce_down(persist->side.bounce, first_byte(persist, from),
                            first_byte(persist, to - from + 1));
}

static int wait_queued(struct mgds_persist *persist, int queued)
{
    return queued < 0 ? queued : mgds_bounce_wait(persist->side.bounce, NULL);
}

static int ready(MPI_Request request, int from, int to)
{
    struct mgds_persist *persist = find(request, MGDS_PERSIST_PART_SEND);
    int rc;

    if (!persist)
        return MPI_SUCCESS;
    mgds_lock_acquire(&persist->lock);
    rc = wait_queued(persist, queue_down(persist, from, to));
    mgds_lock_release(&persist->lock);
    return mgds_mpi_error(persist->request.comm, rc);
}

mgds_word mgds_own_Pready(mgds_word partition, mgds_word request)
{
    int rc = ready((MPI_Request)request, (int)partition, (int)partition);

    return rc == MPI_SUCCESS ? MGDS_FORWARD(2)(partition, request)
                             : (mgds_word)rc;
}

mgds_word mgds_own_Pready_range(mgds_word low, mgds_word high,
                                mgds_word request)
{
    int rc = ready((MPI_Request)request, (int)low, (int)high);

    return rc == MPI_SUCCESS ? MGDS_FORWARD(3)(low, high, request)
                             : (mgds_word)rc;
}

static int ready_list(MPI_Request request, int length, const int *list)
{
    struct mgds_persist *persist = find(request, MGDS_PERSIST_PART_SEND);
    int rc = 0;

    if (!persist || !list)
        return MPI_SUCCESS;
    mgds_lock_acquire(&persist->lock);
    for (int i = 0; i < length && rc >= 0; i++)
        rc = queue_down(persist, list[i], list[i]);
    rc = wait_queued(persist, rc);
    mgds_lock_release(&persist->lock);
    return mgds_mpi_error(persist->request.comm, rc);
}

mgds_word mgds_own_Pready_list(mgds_word length, mgds_word list,
                               mgds_word request)
{
    int rc = ready_list((MPI_Request)request, (int)length, (const int *)list);

    return rc == MPI_SUCCESS ? MGDS_FORWARD(3)(length, list, request)
                             : (mgds_word)rc;
}

/* An inactive request's partitions have all arrived, and are up. */
static int arrived(struct mgds_persist *persist, int partition)
{
    int rc = 0;

    mgds_lock_acquire(&persist->lock);
    if (persist->request.state == MGDS_REQUEST_ACTIVE &&
        !persist->arrived[partition]) {
        rc = mgds_bounce_up(persist->side.bounce,
                            first_byte(persist, partition), persist->bytes);
        persist->arrived[partition] = true;
    }
    rc = wait_queued(persist, rc);
    mgds_lock_release(&persist->lock);
    return mgds_mpi_error(persist->request.comm, rc);
}

mgds_word mgds_own_Parrived(mgds_word request, mgds_word partition,
                            mgds_word flag)
{
    mgds_word result = MGDS_FORWARD(3)(request, partition, flag);
    struct mgds_persist *persist =
        find((MPI_Request)request, MGDS_PERSIST_PART_RECV);

    if (!persist || (int)result != MPI_SUCCESS || !*(int *)flag)
        return result;
    return (mgds_word)arrived(persist, (int)partition);
}
