/* What tests of completion calls play; see wave_played.h. */
#include "tests/mpi/wave_played.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/pmpi/pulling.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES];

mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face)
{
    (void)call;
    (void)face;
    fail_msg("nothing is asked of the MPI below");
    return NULL;
}

void mgds_below_progress(void)
{
}

bool mgds_below_has_data(int error)
{
    return error == MPI_SUCCESS;
}

int mgds_mpi_class(int rc)
{
    return rc < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int mgds_mpi_error(MPI_Comm comm, int rc)
{
    (void)comm;
    return mgds_mpi_class(rc);
}

void (*played_handler)(void);

bool mgds_direct_is_armed;

void mgds_direct_serve(bool inside)
{
    (void)inside;
}

static void call(void (**handler)(void))
{
    void (*now)(void) = *handler;

    *handler = NULL;
    if (now)
        now();
}

static void call_handler(void)
{
    call(&played_handler);
}

void (*played_handler_beside)(void);

void mgds_direct_open_step(int more_than)
{
    (void)more_than;
    call(&played_handler_beside);
}

bool mgds_grequest_poll(struct mgds_request *request)
{
    call_handler();
    return request->state == MGDS_REQUEST_DONE;
}

void mgds_grequest_pass_begin(struct mgds_grequest_pass *pass)
{
    pass->tested = true;
}

void mgds_grequest_pass_step(struct mgds_grequest_pass *pass,
                             struct mgds_request *greq)
{
    (void)pass;
    (void)greq;
    call_handler();
}

bool mgds_grequest_pass_end(struct mgds_grequest_pass *pass)
{
    (void)pass;
    return !played_handler_beside;
}

struct mgds_request *mgds_grequest_watched(void)
{
    return NULL;
}

int mgds_grequest_error(struct mgds_request *greq)
{
    return greq->error;
}

/* Of one with a handle of our own. */
int mgds_grequest_show(struct mgds_request *greq)
{
    greq->general = GREQ;
    return 0;
}

bool mgds_grequest_take(struct mgds_request *greq, MPI_Status *status)
{
    *status = greq->status;
    return mgds_requests_remove(greq);
}

int played_busy_looks, played_shortage;

bool mgds_stream_persist_is_under_way(const struct mgds_stream_persist *persist)
{
    (void)persist;
    return played_busy_looks > 0 && played_busy_looks-- > 0;
}

int played_flushes;

void mgds_groups_flush(void)
{
    played_flushes++;
}

int mgds_stream_req_show(struct mgds_stream_req *req, MPI_Request *handle)
{
    (void)req;
    if (played_shortage > 0 && played_shortage-- > 0)
        return -ENOMEM;
    *handle = GREQ;
    return 0;
}

struct entry {
    struct mgds_request request; /* first */
    struct fate *fate;
};

static struct fate *fate_of(struct mgds_request *request)
{
    return ((struct entry *)request)->fate;
}

static void release(struct mgds_request *request)
{
    fate_of(request)->released++;
}

static int landed(struct mgds_request *request, MPI_Status *status)
{
    (void)status;
    fate_of(request)->landed++;
    return 0;
}

static int poll(struct mgds_request *request)
{
    (void)request;
    return 1;
}

const struct mgds_request_ops played_send_ops = {.kind = MGDS_REQUEST_IS_SEND,
                                                 .release = release};
const struct mgds_request_ops played_persistent_ops = {
    .kind = MGDS_REQUEST_IS_PERSISTENT,
    .landed = landed,
    .poll = poll,
    .release = release};
const struct mgds_request_ops played_greq_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED, .release = release};

void played_add(struct fate *fate, const struct mgds_request_ops *ops,
                MPI_Request handle)
{
    struct entry *entry = mgds_request_new(sizeof(*entry), ops, MPI_COMM_WORLD);

    assert_non_null(entry);
    entry->fate = fate;
    entry->request.handle = handle;
    mgds_request_step(&entry->request, MGDS_REQUEST_ON_BEGIN);
    mgds_request_add(&entry->request);
    *fate = (struct fate){.request = &entry->request,
                          .serial = entry->request.serial};
}

bool played_is_there(const struct fate *fate)
{
    return mgds_requests_still(fate->request->handle, fate->serial);
}

int played_tear_down(void **state)
{
    struct mgds_request *request;

    (void)state;
    while ((request = mgds_requests_take_any()))
        mgds_request_put(request);
    return mgds_requests_any();
}

void played_begin(struct mgds_wave *wave, MPI_Request *requests, int count,
                  int ours)
{
    assert_int_equal(mgds_wave_init(wave, requests, count, MPI_STATUSES_IGNORE,
                                    MGDS_WAVE_ALL),
                     ours);
}

/* Nothing is pulled here. */
_Thread_local struct mgds_request *mgds_pulling;

mgds_word mgds_pulling_end(mgds_word result)
{
    return result;
}
