/* The end of a completion call: what must be done for the requests that the
 * call below has completed; see wave.h. */
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/wave_own.h"

static void forget_send(const struct mgds_drop *drop)
{
    struct mgds_request *request =
        mgds_requests_take_send(drop->handle, drop->seen.serial);

    if (request)
        mgds_request_put(request);
}

/* Of a PERSISTENT: an error handler that MPI called may have freed it. */
static void miss(struct mgds_drop *drop)
{
    if (drop->seen.kind == MGDS_REQUEST_IS_PERSISTENT &&
        !mgds_requests_still(drop->handle, drop->seen.serial))
        drop->seen.kind = 0;
}

/* Queues what must be copied for a completed request; the entry of a send is
 * forgotten, as MPI has forgotten the request. */
static int land(struct mgds_wave *wave, int index, MPI_Status *status,
                int error)
{
    struct mgds_drop *drop = &wave->drops[index];

    if (drop->seen.kind == MGDS_REQUEST_IS_SEND &&
        wave->requests[index] != drop->handle)
        forget_send(drop);
    if (drop->seen.kind == MGDS_REQUEST_IS_PERSISTENT &&
        drop->seen.request->state == MGDS_REQUEST_ACTIVE)
        return mgds_request_land(drop->seen.request, status,
                                 mgds_below_has_data(error));
    if (drop->seen.kind == MGDS_REQUEST_IS_PERSISTENT &&
        drop->seen.request->state == MGDS_REQUEST_COPYING &&
        drop->seen.request->ops->correct)
        drop->seen.request->ops->correct(drop->seen.request, status);
    return 0;
}

/* An error handler may free it meanwhile. */
static int finish(struct mgds_request *request)
{
    return request && request->state == MGDS_REQUEST_COPYING
               ? mgds_request_wait_copies(request)
               : 0;
}

/* Copies of one request were queued, with this result: MPI's error, of which
 * the handler is to be told at the end. */
static int settle(struct mgds_wave *wave, int index, int landed)
{
    struct mgds_drop *drop = &wave->drops[index];
    struct mgds_request *request = drop->seen.kind == MGDS_REQUEST_IS_PERSISTENT
                                       ? drop->seen.request
                                       : NULL;
    MPI_Comm comm = request ? request->comm : MPI_COMM_NULL;
    int rc = finish(request);

    if (landed < 0)
        rc = landed;
    if (rc >= 0 || !request)
        return MPI_SUCCESS;
    drop->comm = comm;
    drop->unsaid = rc;
    return mgds_mpi_class(rc);
}

/* The end: error handlers may do with the requests what they like. consumed:
 * those that MPI has freed, which are the caller's. */
static void tell(const struct mgds_wave *wave, struct mgds_request *consumed)
{
    for (int i = 0; i < wave->count; i++)
        mgds_mpi_error(wave->drops[i].comm, wave->drops[i].unsaid);
    while (consumed) {
        struct mgds_request *next = consumed->next;

        mgds_grequest_error(consumed);
        mgds_request_put(consumed);
        consumed = next;
    }
}

/* What the call below did to the array it was given, but where an error handler
 * has put something else meanwhile. */
static void give_back_requests(const struct mgds_wave *wave)
{
    if (wave->requests == wave->callers)
        return;
    for (int i = 0; i < wave->count; i++) {
        const struct mgds_drop *drop = &wave->drops[i];

        if (drop->own)
            mgds_wave_own_give_back(wave, i);
        else if (!drop->persist && wave->requests[i] != drop->down &&
                 wave->callers[i] == drop->down)
            wave->callers[i] = wave->requests[i];
    }
}

int mgds_wave_settle_one(struct mgds_wave *wave, int index, int rc)
{
    struct mgds_request *consumed = mgds_grequest_watched();
    int error = MPI_SUCCESS;

    give_back_requests(wave);
    if (index >= 0 && wave->way != MGDS_WAVE_PICK && rc == MPI_SUCCESS)
        consumed = mgds_wave_own_take(wave, consumed);
    if (index >= 0) {
        miss(&wave->drops[index]);
        error = settle(wave, index, land(wave, index, wave->statuses, rc));
    }
    for (struct mgds_request *request = consumed; request;
         request = request->next)
        error = error == MPI_SUCCESS ? request->error : error;
    tell(wave, consumed);
    return rc == MPI_SUCCESS ? error : rc;
}

/* The errors of single requests, for a call that gives many statuses. */
struct errors {
    struct mgds_wave *wave;
    int completed;
    const int *indices;
    int rc;
};

static void note(struct errors *errors, int k, int error)
{
    MPI_Status *statuses = errors->wave->statuses;

    if (error == MPI_SUCCESS)
        return;
    if (errors->rc == MPI_SUCCESS)
        for (int i = 0; i < errors->completed; i++)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
    if (errors->rc == MPI_SUCCESS)
        errors->rc = MPI_ERR_IN_STATUS;
    if (statuses[k].MPI_ERROR == MPI_SUCCESS)
        statuses[k].MPI_ERROR = error;
}

static int index_of(const struct errors *errors, int k)
{
    return errors->indices ? errors->indices[k] : k;
}

static bool is_over(const struct errors *errors, int k)
{
    return errors->rc == MPI_SUCCESS ||
           errors->wave->statuses[k].MPI_ERROR != MPI_ERR_PENDING;
}

static int own_error(const struct errors *errors, int k)
{
    return errors->rc == MPI_SUCCESS ? MPI_SUCCESS
                                     : errors->wave->statuses[k].MPI_ERROR;
}

static void note_consumed(struct errors *errors,
                          const struct mgds_request *request)
{
    for (int k = 0; request->error != MPI_SUCCESS && k < errors->completed; k++)
        if (errors->wave->drops[index_of(errors, k)].handle == request->handle)
            note(errors, k, request->error);
}

/* First all copies are queued, then all are waited for. */
static void settle_copies(struct errors *errors)
{
    struct mgds_wave *wave = errors->wave;
    int rc = errors->rc;

    for (int k = 0; k < errors->completed; k++) {
        int index = index_of(errors, k);
        int landed;

        miss(&wave->drops[index]);
        if (!is_over(errors, k))
            continue;
        landed = land(wave, index, &wave->statuses[k], own_error(errors, k));
        if (landed < 0)
            note(errors, k, settle(wave, index, landed));
    }
    if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)
        return;
    for (int k = 0; k < errors->completed; k++) {
        int index = index_of(errors, k);

        miss(&wave->drops[index]);
        note(errors, k, settle(wave, index, 0));
    }
}

/* The call below, which knew nothing of them, has said how the others ended, as
 * MPICH does wherever it fills statuses: they ended well, unless they are among
 * the consumed. */
static struct mgds_request *take_own(const struct errors *errors,
                                     struct mgds_request *consumed)
{
    struct mgds_wave *wave = errors->wave;

    for (int i = 0; i < wave->count && wave->owns > 0; i++)
        if (wave->drops[i].own && wave->drops[i].down == MPI_REQUEST_NULL)
            wave->statuses[i].MPI_ERROR = MPI_SUCCESS;
    return mgds_wave_own_take(wave, consumed);
}

int mgds_wave_settle_many(struct mgds_wave *wave, int completed,
                          const int *indices, int rc)
{
    struct mgds_request *consumed = mgds_grequest_watched();
    struct errors errors = {wave, completed, indices, rc};

    give_back_requests(wave);
    if (completed > 0 && wave->way != MGDS_WAVE_PICK)
        consumed = take_own(&errors, consumed);
    settle_copies(&errors);
    for (struct mgds_request *request = consumed; request;
         request = request->next)
        note_consumed(&errors, request);
    tell(wave, consumed);
    return errors.rc;
}
