/* Calls that a body of ours makes; see inner.h. */
#include "shim/pmpi/inner.h"

#include <limits.h>
#include <stdbool.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/world_handler.h"

/* A body goes down by what its thread is in. */
static struct mgds_inside begin(enum mgds_call call)
{
    struct mgds_inside kept = mgds_inside;

    mgds_inside.call = call;
    mgds_inside.face = MGDS_FACE_PMPI;
    return kept;
}

static int end(const struct mgds_inside *kept, mgds_word result)
{
    mgds_inside = *kept;
    return (int)result;
}

/* The words of Isend and Irecv are the same. */
typedef mgds_word start_fn(MGDS_PARAMS_7);

struct start {
    enum mgds_call call;
    start_fn *body;
};

/* The large-count twin only where it is needed: the MPI below may have none. */
static int start(const struct start forms[2],
                 const struct mgds_inner_buffer *buffer, int peer, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    const struct start *form = &forms[buffer->count > INT_MAX];
    struct mgds_inside kept = begin(form->call);

    return end(&kept,
               form->body((mgds_word)buffer->addr, (mgds_word)buffer->count,
                          (mgds_word)buffer->type, (mgds_word)peer,
                          (mgds_word)tag, (mgds_word)comm, (mgds_word)request));
}

int mgds_inner_isend(const struct mgds_inner_buffer *buffer, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    static const struct start forms[] = {{MGDS_CALL_Isend, mgds_own_Isend},
                                         {MGDS_CALL_Isend_c, mgds_own_Isend_c}};

    return start(forms, buffer, dest, tag, comm, request);
}

int mgds_inner_irecv(const struct mgds_inner_buffer *buffer, int source,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    static const struct start forms[] = {{MGDS_CALL_Irecv, mgds_own_Irecv},
                                         {MGDS_CALL_Irecv_c, mgds_own_Irecv_c}};

    return start(forms, buffer, source, tag, comm, request);
}

/* It has nothing of ours behind it. */
static bool is_foreign(MPI_Request request)
{
    return request != MPI_REQUEST_NULL &&
           (!mgds_requests_any() || mgds_requests_look(request).kind == 0);
}

/* Each by itself, for its error: the first. */
static int wait_for_foreign(int count, MPI_Request *requests)
{
    int first = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        int rc = MPI_SUCCESS;

        if (is_foreign(requests[i]))
            rc = mgds_direct_wait(&requests[i], MPI_STATUS_IGNORE);
        first = first == MPI_SUCCESS ? rc : first;
    }
    return first;
}

static int first_error(int rc, int count, const MPI_Status *statuses)
{
    int class = rc;

    if (rc != MPI_SUCCESS)
        mgds_below()->Error_class(rc, &class);
    for (int i = 0; class == MPI_ERR_IN_STATUS && i < count; i++)
        if (statuses[i].MPI_ERROR != MPI_SUCCESS &&
            statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            return statuses[i].MPI_ERROR;
    return rc;
}

int mgds_inner_waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    struct mgds_inside kept = begin(MGDS_CALL_Waitall);
    MPI_Errhandler handler = mgds_world_handler_set_aside();
    int foreign = wait_for_foreign(count, requests);
    mgds_word result;
    int rc;

    result = mgds_own_Waitall((mgds_word)count, (mgds_word)requests,
                              (mgds_word)statuses);
    mgds_world_handler_take_up(handler);
    rc = first_error(end(&kept, result), count, statuses);
    return foreign == MPI_SUCCESS ? rc : foreign;
}

void mgds_inner_abandon(int count, MPI_Request *requests)
{
    struct mgds_inside kept = begin(MGDS_CALL_Request_free);

    for (int i = 0; i < count; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            mgds_own_Request_free((mgds_word)&requests[i]);
    (void)end(&kept, MPI_SUCCESS);
}
