/* MPI_Irecv of an armed rank into host memory; see hostreq.h. */
#include "shim/pmpi/hostreq.h"

#include <assert.h>
#include <errno.h>

#include "shim/base/fault.h"
#include "shim/base/spares.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/hostrecv.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/watched.h"

struct hostreq {
    struct mgds_request request; /* first */
    struct mgds_direct_words to;
    struct mgds_direct_recv *recv; /* of a header that came; or NULL */
};

static struct hostreq *hostreq_of(const struct mgds_request *request)
{
    return (struct hostreq *)request;
}

static int landed(struct mgds_request *request, MPI_Status *status)
{
    struct hostreq *own = hostreq_of(request);
    int rc = 0;

    if (mgds_below_has_data(status->MPI_ERROR))
        rc = mgds_direct_recv_late(&own->recv, &own->to, own->to.addr, status);
    return rc < 0 ? rc : 0;
}

static int poll(struct mgds_request *request)
{
    struct hostreq *own = hostreq_of(request);

    return own->recv ? mgds_direct_recv_poll(own->recv) : 1;
}

static bool pulls(const struct mgds_request *request)
{
    const struct mgds_direct_recv *recv = hostreq_of(request)->recv;

    return recv && mgds_direct_recv_pulls(recv);
}

static void release(struct mgds_request *request)
{
    mgds_direct_open_remove(request);
    mgds_direct_recv_destroy(hostreq_of(request)->recv);
}

static struct mgds_spares records = MGDS_SPARES_INIT(sizeof(struct hostreq));

static const struct mgds_request_ops ops = {.kind = MGDS_REQUEST_IS_GENERALIZED,
                                            .spares = &records,
                                            .lands_alone = true,
                                            .landed = landed,
                                            .poll = poll,
                                            .pulls = pulls,
                                            .release = release};

static_assert((uint32_t)MPI_REQUEST_NULL == (uint32_t)MGDS_OWN_HANDLE_KIND
                                                << MGDS_OWN_HANDLE_BITS,
              "MPICH's kind for requests");

/* A handle that no living request has. */
static MPI_Request fresh_handle(void)
{
    static uint64_t last; /* atomic */
    MPI_Request handle;
    uint64_t next;

    do {
        next = MGDS_COUNT_FROM + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
        handle = mgds_own_handle(next);
    } while (!mgds_own_handle_is(handle) ||
             (next >> MGDS_OWN_HANDLE_BITS != 0 && mgds_requests_find(handle)));
    return handle;
}

static mgds_word begin(struct hostreq *own, MPI_Request *user)
{
    struct mgds_request *request = &own->request;

    request->handle = fresh_handle();
    mgds_request_step(request, MGDS_REQUEST_ON_BEGIN);
    mgds_request_add(request);
    mgds_direct_open_add(request);
    *user = request->handle;
    return MPI_SUCCESS;
}

static bool look(struct mgds_direct_words *to,
                 const struct mgds_call_words *call,
                 enum mgds_hostreq_memory memory)
{
    size_t bytes;
    bool good = memory == MGDS_HOSTREQ_HOST
                    ? mgds_hostrecv_words(to, &bytes, call)
                    : mgds_hostrecv_plain_words(to, &bytes, call);

    return good && bytes >= MGDS_HEADER_BYTES && call->word[6];
}

/* addr, count, type, source, tag, comm, request */
int mgds_hostreq_irecv(mgds_word *result, struct mgds_call_words *call,
                       enum mgds_hostreq_memory memory)
{
    const struct mgds_direct_match match = mgds_direct_match_of(call);
    struct mgds_direct_words to;
    struct hostreq *own;
    int rc;

    if (!look(&to, call, memory))
        return 0;
    mgds_request_orphans_poll();
    own = mgds_request_new(sizeof(*own), &ops, match.comm);
    if (!own)
        return -ENOMEM;
    own->to = to;
    rc = mgds_direct_post_plain(&own->to, &match, &own->request.below);
    if (rc == MPI_SUCCESS)
        *result = begin(own, (MPI_Request *)call->word[6]);
    else
        mgds_request_put(&own->request);
    if (rc != MPI_SUCCESS && rc != -EBUSY)
        *result = (mgds_word)rc;
    return rc == -EBUSY ? rc : 1;
}

/* The request, with a reference; NULL: it is none of these, or is shown. */
static struct mgds_request *get_hidden(MPI_Request handle)
{
    struct mgds_request *request;

    if (!mgds_own_handle_is(handle))
        return NULL;
    mgds_request_orphans_poll();
    request = mgds_requests_find_of(handle, &ops);
    if (!request || !mgds_grequest_is_hidden(request))
        return NULL;
    mgds_request_get(request);
    mgds_groups_flush();
    return request;
}

/* An error handler has completed or freed the request while a call waited for
 * it. */
static void say_nothing(MPI_Status *status)
{
    MPI_Request nothing = MPI_REQUEST_NULL;

    MGDS_NEXT(Wait, 2)((mgds_word)&nothing, (mgds_word)status);
}

/* The request is DONE: the end of a call, with its result. The call's reference
 * goes, and the table's. */
static mgds_word finish(struct mgds_request *request, MPI_Request *user,
                        MPI_Status *status)
{
    MPI_Status spare, *out = status == MPI_STATUS_IGNORE ? &spare : status;
    bool taken = mgds_grequest_take(request, out);
    MPI_Comm comm = request->comm;
    int error = request->error;
    int unsaid = request->unsaid;

    if (*user == request->handle)
        *user = MPI_REQUEST_NULL;
    if (taken)
        mgds_request_put(request);
    mgds_request_put(request);
    if (taken)
        mgds_mpi_error(comm, unsaid);
    else
        say_nothing(out);
    return (mgds_word)error;
}

static bool is_done(void *state)
{
    return mgds_grequest_poll((struct mgds_request *)state);
}

static void wait(struct mgds_request *request)
{
    mgds_watched_begin("MPI_Wait");
    mgds_direct_open_wait(1, is_done, request);
    mgds_watched_end();
}

bool mgds_hostreq_wait(mgds_word *result, MPI_Request *user, MPI_Status *status)
{
    struct mgds_request *request = get_hidden(*user);

    if (!request)
        return false;
    if (!mgds_grequest_poll(request))
        wait(request);
    *result = finish(request, user, status);
    return true;
}

bool mgds_hostreq_test(mgds_word *result, MPI_Request *user, int *flag,
                       MPI_Status *status)
{
    struct mgds_request *request = get_hidden(*user);

    if (!request)
        return false;
    *flag = mgds_grequest_poll(request);
    if (*flag) {
        *result = finish(request, user, status);
    } else {
        mgds_direct_open_step(1);
        mgds_request_put(request);
        *result = MPI_SUCCESS;
    }
    return true;
}

int mgds_hostreq_show(MPI_Request handle, MPI_Request *below)
{
    struct mgds_request *request;
    int rc;

    *below = handle;
    if (!mgds_own_handle_is(handle))
        return 0;
    request = mgds_requests_find_of(handle, &ops);
    if (!request)
        return 0;
    rc = mgds_grequest_show(request);
    *below = request->general;
    return rc;
}
