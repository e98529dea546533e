/* What ranks tell each other at the end of MPI_Init; see direct_facts.h. */
#include "shim/pmpi/direct_facts.h"

#include <mpi.h>
#include <sched.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/pmpi/next.h"

#define MAGIC UINT64_C(0x3264616568736764) /* dgshead2 */

enum { WAIT_SECONDS = 10 };

/* A collective of all ranks that was begun with this result. */
struct gathering {
    int rank, size;
    uint64_t begun;
    bool warned;
};

/* A rank without the library is not here, and never will be. Rank 0 says so for
 * all, unless it is the one. */
static void warn_once_late(struct gathering *gathering)
{
    uint64_t seconds = gathering->rank == 0 ? WAIT_SECONDS : 2 * WAIT_SECONDS;

    if (gathering->warned ||
        mgds_clock_ns() - gathering->begun < seconds * UINT64_C(1000000000))
        return;
    gathering->warned = true;
    mgds_warn("MPI_Init waits for ranks that have not preloaded this library, "
              "or that have another MPIX_GDS_DIRECT: preload it into all of "
              "them, or set MPIX_GDS_PEERS=none");
}

static bool is_made(struct gathering *gathering, int rc, MPI_Request *request)
{
    int done = 0;

    gathering->begun = mgds_clock_ns();
    while (rc == MPI_SUCCESS && !done) {
        rc = (int)MGDS_NEXT(Test, 3)((mgds_word)request, (mgds_word)&done,
                                     (mgds_word)MPI_STATUS_IGNORE);
        warn_once_late(gathering);
        sched_yield();
    }
    return rc == MPI_SUCCESS;
}

/* Whether all ranks have: who has not must take part for all that, or the
 * others wait for ever. */
static bool all_have(struct gathering *gathering, bool mine)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int have = mine, all = 0;
    int rc = (int)MGDS_NEXT(Iallreduce, 7)(
        (mgds_word)&have, (mgds_word)&all, 1, (mgds_word)MPI_INT,
        (mgds_word)MPI_MIN, (mgds_word)MPI_COMM_WORLD, (mgds_word)&request);

    return is_made(gathering, rc, &request) && all == 1;
}

static bool gather_into(struct gathering *gathering,
                        struct mgds_direct_facts *all,
                        const struct mgds_direct_facts *mine)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = (int)MGDS_NEXT(Iallgather, 8)(
        (mgds_word)mine, sizeof(*mine), (mgds_word)MPI_BYTE, (mgds_word)all,
        sizeof(*all), (mgds_word)MPI_BYTE, (mgds_word)MPI_COMM_WORLD,
        (mgds_word)&request);

    return is_made(gathering, rc, &request);
}

static bool all_take_part(const struct mgds_direct_facts *all, int size)
{
    for (int i = 0; i < size; i++)
        if (all[i].magic != MAGIC || !all[i].takes_part)
            return false;
    return true;
}

struct mgds_direct_facts *
mgds_direct_facts_gather(struct mgds_direct_facts *mine, int rank, int size)
{
    struct gathering gathering = {.rank = rank, .size = size};
    struct mgds_direct_facts *all =
        (struct mgds_direct_facts *)mgds_calloc((size_t)size, sizeof(*all));

    mine->magic = MAGIC;
    if (all_have(&gathering, all != NULL) && all &&
        gather_into(&gathering, all, mine) && all_take_part(all, size))
        return all;
    free(all);
    return NULL;
}

bool mgds_direct_facts_agree(bool mine, int rank)
{
    struct gathering gathering = {.rank = rank};

    return all_have(&gathering, mine);
}
