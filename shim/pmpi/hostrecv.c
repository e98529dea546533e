/* MPI_Recv of an armed rank into host memory; see hostrecv.h. */
#include "shim/pmpi/hostrecv.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/plain.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/types.h"

/* Where it lands. */
struct landing {
    struct mgds_direct_words to; /* the program's buffer */
    size_t capacity;             /* its bytes */
    void *row; /* below in its place if it has no room for a header, or NULL */
};

bool mgds_hostrecv_words(struct mgds_direct_words *to, size_t *bytes,
                         const struct mgds_call_words *call)
{
    void *addr = (void *)call->word[0];
    MPI_Count count = mgds_call_count(call, 1);
    MPI_Datatype type = (MPI_Datatype)call->word[2];

    if (count < 0 || (count > 0 && (!addr || addr == MPI_IN_PLACE)) ||
        (int)call->word[3] == MPI_PROC_NULL ||
        mgds_type_basic_size(type) == 0 ||
        __builtin_mul_overflow(count, mgds_type_basic_size(type), bytes))
        return false;
    *to = (struct mgds_direct_words){addr, count, type};
    return true;
}

bool mgds_hostrecv_plain_words(struct mgds_direct_words *to, size_t *bytes,
                               const struct mgds_call_words *call)
{
    return mgds_hostrecv_words(to, bytes, call) &&
           mgds_plain_buffer(call->word[0], to->count, call->word[2],
                             call->word[3]);
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
                   const struct mgds_direct_match *match, MPI_Status *status)
{
    const struct mgds_direct_words *to = &landing->to;
    const struct mgds_side side =
        landing->row
            ? mgds_side_passing(landing->row, MGDS_HEADER_BYTES, MPI_BYTE)
            : mgds_side_passing(to->addr, to->count, to->type);

    return mgds_direct_receive_alone(&side, match, status);
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

/* The receive below has brought something: 0 or negative errno. */
static int land(const struct landing *landing, MPI_Status *status)
{
    const void *at = landing->row ? landing->row : landing->to.addr;
    struct mgds_direct_recv *recv;
    int rc = mgds_direct_recv_late(&recv, &landing->to, at, status);

    if (rc == 0)
        return landing->row ? copy_row(landing, status) : 0;
    if (rc < 0)
        return rc;
    rc = mgds_direct_recv_wait(recv);
    mgds_direct_recv_destroy(recv);
    return rc;
}

/* addr, count, type, source, tag, comm, status */
bool mgds_hostrecv_recv(mgds_word *result, struct mgds_call_words *call)
{
    const struct mgds_direct_match match = mgds_direct_match_of(call);
    struct landing landing = {.row = NULL};
    MPI_Status spare, *status;
    int rc, error = 0;

    mgds_request_orphans_poll(); /* which may run the program's handlers */
    if (!mgds_direct_is_alone() ||
        !mgds_hostrecv_plain_words(&landing.to, &landing.capacity, call) ||
        !add_row(&landing))
        return false;
    status = mgds_call_status(call, 6, &spare);
    rc = receive(&landing, &match, status);
    if (mgds_below_has_data(rc))
        error = land(&landing, status);
    free(landing.row);
    if (error < 0 && rc == MPI_SUCCESS)
        rc = mgds_mpi_error(match.comm, error);
    *result = (mgds_word)rc;
    return true;
}
