/* Calls that are made from inside one of ours; see nested.h. */
#include "shim/pmpi/nested.h"

#include <mpi.h>

#include "shim/pmpi/coll_direct.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/request_table.h"

/* How a call is given requests: by the address of one, by one itself, or as the
 * second word by the address of so many as the first says. */
enum { NONE, ONE, ITSELF, MANY };
static const unsigned char forms[MGDS_CALLS] = {[MGDS_CALL_Wait] = ONE,
                                                [MGDS_CALL_Test] = ONE,
                                                [MGDS_CALL_Cancel] = ONE,
                                                [MGDS_CALL_Request_free] = ONE,
                                                [MGDS_CALL_Request_get_status] =
                                                    ITSELF,
                                                [MGDS_CALL_Waitall] = MANY,
                                                [MGDS_CALL_Waitany] = MANY,
                                                [MGDS_CALL_Waitsome] = MANY,
                                                [MGDS_CALL_Testall] = MANY,
                                                [MGDS_CALL_Testany] = MANY,
                                                [MGDS_CALL_Testsome] = MANY};

static bool is_any(const MPI_Request *requests, int count)
{
    for (int i = 0; requests && i < count; i++)
        if (mgds_own_handle_is(requests[i]))
            return true;
    return false;
}

/* Which collective is voted on must be the same for all members of a
 * communicator; whether a call is nested hangs on what a member has called
 * before. */
bool mgds_nested_is_ours(enum mgds_call call, const mgds_word *words)
{
    if (mgds_coll_may_be_direct(call))
        return true;
    if (!mgds_requests_any())
        return false;
    switch (forms[call]) {
    case ONE:
        return is_any((const MPI_Request *)words[0], 1);
    case ITSELF:
        return mgds_own_handle_is((MPI_Request)words[0]);
    case MANY:
        return is_any((const MPI_Request *)words[1], (int)words[0]);
    default:
        return false;
    }
}

void mgds_nested_begin(struct mgds_nested *nested)
{
    const struct mgds_grequest_watch watch = mgds_grequest_set_aside();

    nested->watching = watch.watching;
    nested->consumed = watch.consumed;
    nested->inside = mgds_frame_step_out();
}

void mgds_nested_end(const struct mgds_nested *nested)
{
    const struct mgds_grequest_watch watch = {nested->watching,
                                              nested->consumed};

    mgds_frame_step_in(&nested->inside);
    mgds_grequest_take_up(&watch);
}
