/* MPI_Recv of an armed rank into host memory; see hostrecv.h. */
#include "shim/pmpi/hostrecv.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/types.h"

/* Where it lands. */
struct landing {
    struct mgds_direct_words to; /* the program's buffer */
    size_t capacity;             /* its bytes */
    void *row; /* below in its place if it has no room for a header, or NULL */
};

/* Orphans are polled first: that may call the program's error handlers. */
static bool is_alone(void)
{
    mgds_request_orphans_poll();
    return !mgds_direct_is_shared() && !mgds_kept_any() && !mgds_requests_any();
}

/* Whether the MPI below would take any memory there; what is in host memory, of
 * a datatype whose handle says all, is plain. */
static bool is_plain(struct landing *landing,
                     const struct mgds_call_words *call)
{
    void *addr = (void *)call->word[0];
    MPI_Count count = mgds_call_count(call, 1);
    MPI_Datatype type = (MPI_Datatype)call->word[2];
    size_t size = mgds_type_basic_size(type);

    if (size == 0 || (int)call->word[3] == MPI_PROC_NULL || count < 0 ||
        (uint64_t)count > PTRDIFF_MAX / size)
        return false;
    if (count > 0 &&
        (!addr || addr == MPI_IN_PLACE || !mgds_ptr_is_plain(addr)))
        return false;
    *landing = (struct landing){.to = {addr, count, type},
                                .capacity = (size_t)count * size};
    return true;
}

/* Not of the stack: an error handler that jumps out of the call leaves a
 * receive behind below. */
static bool add_row(struct landing *landing)
{
    if (landing->capacity >= MGDS_HEADER_BYTES)
        return true;
    landing->row = mgds_malloc(MGDS_HEADER_BYTES);
    return landing->row;
}

static int receive(const struct landing *landing,
                   const struct mgds_call_words *call, MPI_Status *status)
{
    const struct mgds_direct_words row = {landing->row, MGDS_HEADER_BYTES,
                                          MPI_BYTE};
    const struct mgds_direct_words *words = landing->row ? &row : &landing->to;

    return (int)MGDS_NEXT(Recv_c, 7)(
        (mgds_word)words->addr, (mgds_word)words->count, (mgds_word)words->type,
        call->word[3], call->word[4], call->word[5], (mgds_word)status);
}

static int copy_row(const struct landing *landing, MPI_Status *status)
{
    size_t bytes = (size_t)mgds_below_bytes(status);
    bool fits = bytes <= landing->capacity;

    if (!fits) {
        bytes = landing->capacity;
        mgds_below_set_bytes(status, (MPI_Count)bytes);
    }
    if (bytes > 0)
        memcpy(landing->to.addr, landing->row, bytes);
    return fits ? 0 : -EMSGSIZE;
}

/* The bytes of a header that came with this status, which is corrected. */
static int bring(const struct landing *landing, const void *header,
                 MPI_Status *status)
{
    struct mgds_direct_recv *recv;
    int rc = mgds_direct_recv_create_late(&recv, &landing->to, header, status);

    if (rc < 0)
        return rc;
    (void)mgds_direct_recv_land(recv, status); /* poll tells its error, too */
    while ((rc = mgds_direct_recv_poll(recv)) == 0)
        sched_yield();
    mgds_direct_recv_destroy(recv);
    return rc < 0 ? rc : 0;
}

/* The receive below has brought something: 0 or negative errno. */
static int land(const struct landing *landing, MPI_Status *status)
{
    const void *at = landing->row ? landing->row : landing->to.addr;
    struct mgds_header header;

    if (mgds_direct_decode(&header, at, mgds_below_bytes(status), status))
        return bring(landing, at, status);
    return landing->row ? copy_row(landing, status) : 0;
}

/* addr, count, type, source, tag, comm, status */
bool mgds_hostrecv_recv(mgds_word *result, struct mgds_call_words *call)
{
    struct landing landing;
    MPI_Status spare, *status;
    int rc, error = 0;

    if (!is_alone() || !is_plain(&landing, call) || !add_row(&landing))
        return false;
    status = mgds_call_status(call, 6, &spare);
    rc = receive(&landing, call, status);
    if (mgds_below_has_data(rc))
        error = land(&landing, status);
    free(landing.row);
    if (error < 0 && rc == MPI_SUCCESS)
        rc = mgds_mpi_error((MPI_Comm)call->word[5], error);
    *result = (mgds_word)rc;
    return true;
}
