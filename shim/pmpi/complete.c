/*
 * Bodies of the calls that are given requests: completion, a request's status,
 * and its end. They are in use once CUDA is in the process. While no staged
 * request is alive they forward at once.
 */
#include <mpi.h>
#include <sched.h>
#include <stddef.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/hostreq.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/pulling.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"
#include "shim/pmpi/watched.h"
#include "shim/pmpi/wave.h"

static mgds_word done(struct mgds_wave *wave, int rc)
{
    mgds_wave_fini(wave);
    return (mgds_word)rc;
}

static mgds_word no_memory(int rc)
{
    return (mgds_word)mgds_mpi_error(MPI_COMM_NULL, rc);
}

/* Nothing to do with us, or refused by the MPI below: what a completion call
 * fills may be ignored, but never NULL. */
static bool passes(mgds_word filled, mgds_word too, mgds_word statuses)
{
    return !mgds_requests_any() || !filled || !too || !statuses;
}

/* MPI_ERR_IN_STATUS tells, by request, what was completed; other errors tell
 * nothing. */
static bool tells(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

/* MPICH gives codes, of which a class is part. */
static int as_class(int rc)
{
    int class = rc;

    if (rc != MPI_SUCCESS)
        mgds_below()->Error_class(rc, &class);
    return class == MPI_ERR_IN_STATUS ? class : rc;
}

/* Test and Testall, while there is what the call below would not wait for. */
static mgds_word not_yet(struct mgds_wave *wave, mgds_word flag)
{
    *(int *)flag = 0;
    return done(wave, MPI_SUCCESS);
}

/* MPI_Testall below, of all requests of a call that waits for them. */
struct asking {
    mgds_word count, requests, statuses;
    int rc; /* MPI's code */
};

/* An error may end the call before all are complete, as MPI allows. */
static bool are_over(void *state)
{
    struct asking *call = (struct asking *)state;
    int flag = 0;

    call->rc = (int)MGDS_NEXT(Testall, 4)(call->count, call->requests,
                                          (mgds_word)&flag, call->statuses);
    return flag || call->rc != MPI_SUCCESS;
}

/* The call below may wait, and others for what was begun here. */
static void begin_below(void)
{
    mgds_pulling_settle();
    mgds_grequest_watch();
}

static bool ask_about_all(const struct mgds_wave *wave, int *rc)
{
    struct asking call = {(mgds_word)wave->count, (mgds_word)wave->requests,
                          (mgds_word)wave->statuses, MPI_SUCCESS};
    bool over;

    begin_below();
    over = are_over(&call);
    if (!over)
        (void)mgds_grequest_watched(); /* it has completed none */
    *rc = call.rc;
    return over;
}

/* Until all of ours are done: false. True: the call is over meanwhile, and
 * ended with *rc; never if there is one request alone. */
static bool wait_all(struct mgds_wave *wave, int *rc)
{
    bool over = false;

    mgds_watched_begin("MPI_Wait");
    mgds_direct_serve(true);
    while (!over && !mgds_wave_drive_all(wave))
        over = ask_about_all(wave, rc);
    mgds_direct_serve(false);
    mgds_watched_end();
    return over;
}

static int wait_below(struct mgds_wave *wave, mgds_word count)
{
    begin_below();
    return (int)MGDS_FORWARD(3)(count, (mgds_word)wave->requests,
                                (mgds_word)wave->statuses);
}

/* Of requests that are none of ours, Waitall while receives of this thread's
 * are open, as mgds_direct_wait. */
static mgds_word serve_until_all(mgds_word count, mgds_word requests,
                                 mgds_word statuses)
{
    struct asking call = {count, requests, statuses, MPI_SUCCESS};

    mgds_direct_open_wait(0, are_over, &call);
    return (mgds_word)call.rc;
}

mgds_word mgds_own_Wait(mgds_word request, mgds_word status)
{
    struct mgds_wave wave;
    mgds_word result;
    int rc;

    if (passes(request, request, status))
        return MGDS_FORWARD(2)(request, status);
    if (mgds_hostreq_wait(&result, (MPI_Request *)request,
                          (MPI_Status *)status))
        return result;
    rc = mgds_wave_init(&wave, (MPI_Request *)request, 1, (MPI_Status *)status,
                        MGDS_WAVE_ALL);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0 && mgds_direct_open_any())
        return (mgds_word)mgds_direct_wait((MPI_Request *)request,
                                           (MPI_Status *)status);
    if (rc == 0)
        return MGDS_FORWARD(2)(request, status);
    (void)wait_all(&wave, &rc);
    begin_below();
    rc = (int)MGDS_FORWARD(2)((mgds_word)wave.requests,
                              (mgds_word)wave.statuses);
    return done(&wave, mgds_wave_settle_one(&wave, 0, rc));
}

mgds_word mgds_own_Test(mgds_word request, mgds_word flag, mgds_word status)
{
    struct mgds_wave wave;
    mgds_word result;
    int rc;

    if (passes(request, flag, status))
        return MGDS_FORWARD(3)(request, flag, status);
    if (mgds_hostreq_test(&result, (MPI_Request *)request, (int *)flag,
                          (MPI_Status *)status))
        return result;
    rc = mgds_wave_init(&wave, (MPI_Request *)request, 1, (MPI_Status *)status,
                        MGDS_WAVE_ALL);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(3)(request, flag, status);
    mgds_wave_step(&wave);
    if (mgds_wave_is_held(&wave))
        return not_yet(&wave, flag);
    begin_below();
    rc = (int)MGDS_FORWARD(3)((mgds_word)wave.requests, flag,
                              (mgds_word)wave.statuses);
    rc = mgds_wave_settle_one(&wave, rc != MPI_SUCCESS || *(int *)flag ? 0 : -1,
                              rc);
    return done(&wave, rc);
}

mgds_word mgds_own_Waitall(mgds_word count, mgds_word requests,
                           mgds_word statuses)
{
    struct mgds_wave wave;
    int rc;

    if (passes(requests, requests, statuses))
        return MGDS_FORWARD(3)(count, requests, statuses);
    rc = mgds_wave_init(&wave, (MPI_Request *)requests, (int)count,
                        (MPI_Status *)statuses, MGDS_WAVE_ALL);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0 && mgds_direct_open_any())
        return serve_until_all(count, requests, statuses);
    if (rc == 0)
        return MGDS_FORWARD(3)(count, requests, statuses);
    if (!wait_all(&wave, &rc))
        rc = wait_below(&wave, count);
    rc = as_class(rc);
    rc = mgds_wave_settle_many(&wave, tells(rc) ? wave.count : 0, NULL, rc);
    return done(&wave, rc);
}

mgds_word mgds_own_Testall(mgds_word count, mgds_word requests, mgds_word flag,
                           mgds_word statuses)
{
    struct mgds_wave wave;
    int completed, rc;

    if (passes(requests, flag, statuses))
        return MGDS_FORWARD(4)(count, requests, flag, statuses);
    rc = mgds_wave_init(&wave, (MPI_Request *)requests, (int)count,
                        (MPI_Status *)statuses, MGDS_WAVE_TEST);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(4)(count, requests, flag, statuses);
    mgds_wave_step(&wave);
    if (mgds_wave_is_held(&wave))
        return not_yet(&wave, flag);
    begin_below();
    rc = as_class((int)MGDS_FORWARD(4)(count, (mgds_word)wave.requests, flag,
                                       (mgds_word)wave.statuses));
    completed = rc == MPI_ERR_IN_STATUS || (rc == MPI_SUCCESS && *(int *)flag);
    rc = mgds_wave_settle_many(&wave, completed ? wave.count : 0, NULL, rc);
    return done(&wave, rc);
}

/* Nothing is active but what a stream has under way. */
static bool is_left_to_streams(const struct mgds_wave *wave,
                               mgds_word undefined)
{
    return wave->held > 0 && *(const int *)undefined == MPI_UNDEFINED;
}

/* Waitany by asking in turn: the steps of generalized requests are made outside
 * of MPI's pass. */
static int wait_any(struct mgds_wave *wave, mgds_word index)
{
    int flag = 0;
    int rc = MPI_SUCCESS;

    mgds_watched_begin("MPI_Waitany");
    mgds_direct_serve(true);
    while (rc == MPI_SUCCESS && !flag) {
        mgds_wave_step(wave);
        begin_below();
        rc = (int)MGDS_NEXT(Testany, 5)(
            (mgds_word)wave->count, (mgds_word)wave->requests, index,
            (mgds_word)&flag, (mgds_word)wave->statuses);
        flag = flag && !is_left_to_streams(wave, index);
        if (!flag)
            sched_yield();
    }
    mgds_direct_serve(false);
    mgds_watched_end();
    return rc;
}

static int any_index(const int *index)
{
    return *index == MPI_UNDEFINED ? -1 : *index;
}

mgds_word mgds_own_Waitany(mgds_word count, mgds_word requests, mgds_word index,
                           mgds_word status)
{
    struct mgds_wave wave;
    int rc;

    if (passes(index, index, status))
        return MGDS_FORWARD(4)(count, requests, index, status);
    rc = mgds_wave_init(&wave, (MPI_Request *)requests, (int)count,
                        (MPI_Status *)status, MGDS_WAVE_PICK);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(4)(count, requests, index, status);
    *(int *)index = MPI_UNDEFINED; /* errors need not say */
    begin_below();
    if (wave.generalized > 0 || wave.held > 0)
        rc = wait_any(&wave, index);
    else
        rc = (int)MGDS_FORWARD(4)(count, (mgds_word)wave.requests, index,
                                  (mgds_word)wave.statuses);
    rc = mgds_wave_settle_one(&wave, any_index((int *)index), rc);
    return done(&wave, rc);
}

mgds_word mgds_own_Testany(mgds_word count, mgds_word requests, mgds_word index,
                           mgds_word flag, mgds_word status)
{
    struct mgds_wave wave;
    int rc;

    if (passes(index, flag, status))
        return MGDS_FORWARD(5)(count, requests, index, flag, status);
    rc = mgds_wave_init(&wave, (MPI_Request *)requests, (int)count,
                        (MPI_Status *)status, MGDS_WAVE_PICK);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(5)(count, requests, index, flag, status);
    *(int *)index = MPI_UNDEFINED; /* errors need not say */
    mgds_wave_step(&wave);
    begin_below();
    rc = (int)MGDS_FORWARD(5)(count, (mgds_word)wave.requests, index, flag,
                              (mgds_word)wave.statuses);
    if (rc == MPI_SUCCESS && is_left_to_streams(&wave, index))
        *(int *)flag = 0;
    rc = mgds_wave_settle_one(&wave, any_index((int *)index), rc);
    return done(&wave, rc);
}

static int some_completed(int rc, const int *outcount)
{
    return tells(rc) && *outcount != MPI_UNDEFINED ? *outcount : 0;
}

static int wait_some(struct mgds_wave *wave, mgds_word outcount,
                     mgds_word indices)
{
    int rc = MPI_SUCCESS;

    *(int *)outcount = 0;
    mgds_watched_begin("MPI_Waitsome");
    mgds_direct_serve(true);
    while (rc == MPI_SUCCESS && *(int *)outcount == 0) {
        mgds_wave_step(wave);
        begin_below();
        rc = (int)MGDS_NEXT(Testsome, 5)((mgds_word)wave->count,
                                         (mgds_word)wave->requests, outcount,
                                         indices, (mgds_word)wave->statuses);
        if (rc == MPI_SUCCESS && is_left_to_streams(wave, outcount))
            *(int *)outcount = 0;
        if (*(int *)outcount == 0)
            sched_yield();
    }
    mgds_direct_serve(false);
    mgds_watched_end();
    return rc;
}

/* Waitsome and Testsome, of which waits tells. */
static mgds_word some(mgds_word count, mgds_word requests, mgds_word outcount,
                      mgds_word indices, mgds_word statuses, bool waits)
{
    struct mgds_wave wave;
    int rc = mgds_wave_init(&wave, (MPI_Request *)requests, (int)count,
                            (MPI_Status *)statuses, MGDS_WAVE_PICK);

    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(5)(count, requests, outcount, indices, statuses);
    if (!waits)
        mgds_wave_step(&wave);
    begin_below();
    if (waits && (wave.generalized > 0 || wave.held > 0))
        rc = wait_some(&wave, outcount, indices);
    else
        rc = (int)MGDS_FORWARD(5)(count, (mgds_word)wave.requests, outcount,
                                  indices, (mgds_word)wave.statuses);
    if (rc == MPI_SUCCESS && is_left_to_streams(&wave, outcount))
        *(int *)outcount = 0;
    rc = as_class(rc);
    rc = mgds_wave_settle_many(&wave, some_completed(rc, (int *)outcount),
                               (int *)indices, rc);
    return done(&wave, rc);
}

mgds_word mgds_own_Waitsome(MGDS_PARAMS_5)
{
    if (passes(c, d, e))
        return MGDS_FORWARD(5)(MGDS_ARGS_5);
    return some(MGDS_ARGS_5, true);
}

mgds_word mgds_own_Testsome(MGDS_PARAMS_5)
{
    if (passes(c, d, e))
        return MGDS_FORWARD(5)(MGDS_ARGS_5);
    return some(MGDS_ARGS_5, false);
}

/* Complete below, but perhaps not yet up: MPI is told "done" once it is. */
static int look_at(struct mgds_request *request, int *flag, MPI_Status *status)
{
    int rc = 0;

    if (request->state == MGDS_REQUEST_ACTIVE)
        rc = mgds_request_land(request, status, true);
    if (rc >= 0 && request->state == MGDS_REQUEST_COPYING)
        rc = mgds_request_poll_copies(request);
    if (rc < 0)
        return mgds_mpi_error(request->comm, rc);
    if (request->state == MGDS_REQUEST_COPYING && request->ops->correct)
        request->ops->correct(request, status);
    *flag = request->state != MGDS_REQUEST_COPYING || rc == 1;
    return MPI_SUCCESS;
}

/* An error handler may free it. */
static int peek(struct mgds_request *request, int *flag, MPI_Status *status)
{
    int rc;

    mgds_request_get(request);
    rc = look_at(request, flag, status);
    mgds_request_put(request);
    return rc;
}

/* MPICH asks no generalized request here how it is, so we do. */
static mgds_word status_of(struct mgds_wave *wave, mgds_word flag)
{
    const struct mgds_request_seen *seen = &wave->drops[0].seen;
    int rc;

    mgds_wave_drive(wave);
    if (wave->held > 0) {
        *(int *)flag = 0;
        return MPI_SUCCESS;
    }
    begin_below();
    rc = (int)MGDS_FORWARD(3)((mgds_word)wave->requests[0], flag,
                              (mgds_word)wave->statuses);
    mgds_grequest_watched();
    if (rc != MPI_SUCCESS || !*(int *)flag)
        return (mgds_word)rc;
    if (seen->kind == MGDS_REQUEST_IS_GENERALIZED)
        return (mgds_word)mgds_grequest_error(seen->request);
    if (seen->kind == MGDS_REQUEST_IS_PERSISTENT)
        return (mgds_word)peek(seen->request, (int *)flag, wave->statuses);
    return MPI_SUCCESS;
}

mgds_word mgds_own_Request_get_status(mgds_word request, mgds_word flag,
                                      mgds_word status)
{
    MPI_Request handle = (MPI_Request)request;
    struct mgds_wave wave;
    mgds_word result;
    int rc;

    if (!mgds_requests_any() || !flag || !status)
        return MGDS_FORWARD(3)(request, flag, status);
    rc =
        mgds_wave_init(&wave, &handle, 1, (MPI_Status *)status, MGDS_WAVE_PICK);
    if (rc < 0)
        return no_memory(rc);
    if (rc == 0)
        return MGDS_FORWARD(3)(request, flag, status);
    result = status_of(&wave, flag);
    mgds_wave_fini(&wave);
    return result;
}

/*
 * An active send or persistent request is kept from the MPI below until it is
 * done, for its memory is ours. A generalized request is let go of below, which
 * tells us (grequest.c).
 */
static struct mgds_request *take(MPI_Request handle)
{
    struct mgds_request_seen seen = mgds_requests_look(handle);

    switch (seen.kind) {
    case MGDS_REQUEST_IS_SEND:
        return mgds_requests_take_send(handle, seen.serial);
    case MGDS_REQUEST_IS_PERSISTENT:
        mgds_requests_remove(seen.request);
        return seen.request;
    default:
        return NULL;
    }
}

/* One of our own operations, which goes on by itself. MPI keeps a generalized
 * request that is freed until it is told that it is complete. */
static int let_go(MPI_Request *handle, struct mgds_stream_req *req)
{
    /* another thread, which MPI forbids */
    if (req->taken)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_REQUEST,
                               "request is 0x%08x, for which another thread "
                               "waits",
                               (unsigned)*handle);
    mgds_grequest_discard(&req->request);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* The receive goes on by itself, and the persistent request is inactive. */
static void let_stand_in_go(const struct mgds_request *request)
{
    MPI_Request general = request->stand_in->general;

    MGDS_NEXT(Request_free, 1)((mgds_word)&general);
}

static mgds_word free_shown(MPI_Request *handle)
{
    MPI_Request below;
    mgds_word result;
    int rc = mgds_hostreq_show(*handle, &below);

    if (rc < 0)
        return no_memory(rc);
    result = MGDS_FORWARD(1)((mgds_word)&below);
    if ((int)result == MPI_SUCCESS)
        *handle = MPI_REQUEST_NULL;
    return result;
}

mgds_word mgds_own_Request_free(mgds_word word)
{
    MPI_Request *handle = (MPI_Request *)word;
    struct mgds_stream_persist *persist;
    struct mgds_stream_req *req;
    struct mgds_request *request;
    mgds_word result;

    if (!mgds_requests_any() || !handle)
        return MGDS_FORWARD(1)(word);
    req = mgds_stream_req_find(*handle);
    persist = req ? NULL : mgds_stream_persist_find(*handle);
    if (req || persist)
        mgds_groups_flush();
    if (req)
        return (mgds_word)let_go(handle, req);
    if (persist)
        return (mgds_word)mgds_stream_persist_free(persist, handle);
    if (mgds_own_handle_is(*handle))
        return free_shown(handle);
    request = take(*handle);
    if (!request)
        return MGDS_FORWARD(1)(word);
    if (request->state == MGDS_REQUEST_ACTIVE ||
        request->state == MGDS_REQUEST_COPYING) {
        mgds_requests_add_orphan(request);
        *handle = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    if (request->state == MGDS_REQUEST_GIVEN)
        let_stand_in_go(request);
    result = MGDS_FORWARD(1)(word);
    /* still there below, and the program's: nobody else has the handle */
    if ((int)result != MPI_SUCCESS && *handle == request->handle)
        mgds_request_add(request);
    else
        mgds_request_put(request);
    return result;
}

/* Its message was matched, which wins. */
static bool is_given(MPI_Request handle)
{
    const struct mgds_request *request = mgds_requests_find(handle);

    return request && request->state == MGDS_REQUEST_GIVEN;
}

mgds_word mgds_own_Cancel(mgds_word word)
{
    const MPI_Request *handle = (const MPI_Request *)word;
    struct mgds_stream_persist *persist;
    MPI_Request below;
    int rc;

    if (!mgds_requests_any() || !handle)
        return MGDS_FORWARD(1)(word);
    persist = mgds_stream_persist_find(*handle);
    if (persist)
        return (mgds_word)mgds_stream_persist_cancel(persist);
    if (is_given(*handle))
        return MPI_SUCCESS;
    rc = mgds_hostreq_show(*handle, &below);
    return rc < 0 ? no_memory(rc) : MGDS_FORWARD(1)((mgds_word)&below);
}
