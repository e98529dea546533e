/* Functions of the MPI below, by name. */
#include "shim/pmpi/below.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/fault.h"
#include "shim/pmpi/next.h"

static struct mgds_below below;
static pthread_once_t below_once = PTHREAD_ONCE_INIT;
static bool world_open; /* atomic */

static void find(void *function, const char *symbol)
{
    void *found = mgds_next_symbol(symbol);

    memcpy(function, &found, sizeof(found));
}

static void find_all(void)
{
#define X(type, name, params) find(&below.name, "PMPI_" #name);
    MGDS_BELOW_CALLS(X)
#undef X
    if (!MGDS_FAULT_POINT(extension))
        find(&below.Grequest_start_extended, "PMPIX_Grequest_start");
    find(&below.Query_cuda_support, "MPIX_Query_cuda_support");
    find(&below.GPU_query_support, "MPIX_GPU_query_support");
}

const struct mgds_below *mgds_below(void)
{
    pthread_once(&below_once, find_all);
    return &below;
}

void mgds_below_set_world(bool open)
{
    __atomic_store_n(&world_open, open, __ATOMIC_RELAXED);
}

/* The greatest tag that every MPI has; rarely used, and a probe takes nothing.
 */
enum { FAR_TAG = 32767 };

/* A probe that finds nothing is how MPI is asked to look at the network. */
void mgds_below_progress_on(MPI_Comm comm)
{
    int flag;

    MGDS_NEXT(Iprobe, 5)
    ((mgds_word)MPI_ANY_SOURCE, FAR_TAG, (mgds_word)comm, (mgds_word)&flag,
     (mgds_word)MPI_STATUS_IGNORE);
}

/* Not on MPI_COMM_SELF, where MPICH looks at its own queue alone. Sessions
 * alone have no communicator of the world: MPICH aborts. */
void mgds_below_progress(void)
{
    if (__atomic_load_n(&world_open, __ATOMIC_RELAXED))
        mgds_below_progress_on(MPI_COMM_WORLD);
}

MPI_Count mgds_below_bytes(const MPI_Status *status)
{
    MPI_Count bytes = 0;

    mgds_below()->Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes > 0 ? bytes : 0;
}

/* MPICH's layout of a count: the low word, then the high one above the bit of
 * cancellation. */
void mgds_below_set_bytes(MPI_Status *status, MPI_Count bytes)
{
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1);
}

bool mgds_below_has_data(int error)
{
    int class = MPI_SUCCESS;

    if (error == MPI_SUCCESS)
        return true;
    mgds_below()->Error_class(error, &class);
    return class == MPI_ERR_TRUNCATE;
}

bool mgds_below_was_cancelled(const MPI_Status *status)
{
    int flag = 0;

    MGDS_NEXT(Test_cancelled, 2)((mgds_word)status, (mgds_word)&flag);
    return flag;
}
