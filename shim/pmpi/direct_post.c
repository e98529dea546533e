/* How a receive of an armed rank is posted. */
#include "shim/pmpi/direct_post.h"

#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"

static int post_below(const struct mgds_side *side,
                      const struct mgds_direct_match *match,
                      MPI_Request *request)
{
    return (int)MGDS_NEXT(Irecv_c, 7)(
        (mgds_word)side->addr, (mgds_word)side->count, (mgds_word)side->type,
        (mgds_word)match->source, (mgds_word)match->tag, (mgds_word)match->comm,
        (mgds_word)request);
}

/* A message that was kept because it is ahead of another is still to be
 * received. */
int mgds_direct_post_kept(const struct mgds_side *side, struct mgds_kept *kept,
                          MPI_Request *request)
{
    MPI_Message message = kept->message;

    *request = MPI_REQUEST_NULL;
    if (message == MPI_MESSAGE_NULL) {
        mgds_direct_recv_give(side->direct, kept);
        return MPI_SUCCESS;
    }
    free(kept);
    return (int)MGDS_NEXT(Imrecv_c, 5)(
        (mgds_word)side->addr, (mgds_word)side->count, (mgds_word)side->type,
        (mgds_word)&message, (mgds_word)request);
}

int mgds_direct_post(const struct mgds_side *side,
                     const struct mgds_direct_match *match,
                     MPI_Request *request)
{
    struct mgds_kept *kept;
    int rc;

    mgds_kept_enter();
    kept = mgds_kept_take(match->comm, match->source, match->tag);
    rc = kept ? mgds_direct_post_kept(side, kept, request)
              : post_below(side, match, request);
    mgds_kept_leave();
    return rc;
}

int mgds_direct_post_plain(const struct mgds_direct_words *to,
                           const struct mgds_direct_match *match,
                           MPI_Request *request)
{
    const struct mgds_side side =
        mgds_side_passing(to->addr, to->count, to->type);
    int rc = -EBUSY;

    mgds_kept_enter();
    if (!mgds_kept_any())
        rc = post_below(&side, match, request);
    mgds_kept_leave();
    return rc;
}

bool mgds_direct_is_alone(void)
{
    return !mgds_direct_is_shared() && !mgds_kept_any() && !mgds_requests_any();
}

/* A request of the MPI below that is waited for. */
struct awaited {
    MPI_Request *request;
    MPI_Status *status;
    int rc; /* MPI's code */
};

static bool is_over(void *state)
{
    struct awaited *awaited = (struct awaited *)state;
    int flag = 0;

    awaited->rc =
        (int)MGDS_NEXT(Test, 3)((mgds_word)awaited->request, (mgds_word)&flag,
                                (mgds_word)awaited->status);
    return flag || awaited->rc != MPI_SUCCESS;
}

int mgds_direct_wait(MPI_Request *request, MPI_Status *status)
{
    struct awaited awaited = {.request = request, .status = status};

    mgds_direct_open_wait(0, is_over, &awaited);
    return awaited.rc;
}

int mgds_direct_receive_alone(const struct mgds_side *side,
                              const struct mgds_direct_match *match,
                              MPI_Status *status)
{
    return (int)MGDS_NEXT(Recv_c, 7)(
        (mgds_word)side->addr, (mgds_word)side->count, (mgds_word)side->type,
        (mgds_word)match->source, (mgds_word)match->tag, (mgds_word)match->comm,
        (mgds_word)status);
}

int mgds_direct_receive(const struct mgds_side *side,
                        const struct mgds_direct_match *match,
                        MPI_Status *status)
{
    MPI_Request request;
    int rc;

    if (mgds_direct_is_alone())
        return mgds_direct_receive_alone(side, match, status);
    rc = mgds_direct_post(side, match, &request);
    return rc == MPI_SUCCESS ? mgds_direct_wait(&request, status) : rc;
}
