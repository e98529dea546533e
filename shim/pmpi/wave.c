/* The requests of one completion call. */
#include "shim/pmpi/wave.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/request_orphan.h"

static bool ignores(const MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE; /* MPI_STATUS_IGNORE too */
}

static int make_room(struct mgds_wave *wave)
{
    size_t n = (size_t)wave->count;
    size_t drops = n * sizeof(*wave->drops);

    wave->drops = wave->small_drops;
    wave->memory = NULL;
    if (ignores(wave->statuses))
        wave->statuses = wave->small_statuses;
    if (n <= MGDS_WAVE_SMALL)
        return 0;
    wave->memory = mgds_malloc(drops + n * sizeof(MPI_Status));
    if (!wave->memory)
        return -ENOMEM;
    wave->drops = wave->memory;
    if (wave->statuses == wave->small_statuses)
        wave->statuses = (MPI_Status *)(void *)((char *)wave->memory + drops);
    return 0;
}

static struct mgds_request *generalized_at(const struct mgds_wave *wave,
                                           int index)
{
    const struct mgds_request_seen *seen = &wave->drops[index].seen;

    return seen->kind == MGDS_REQUEST_IS_GENERALIZED ? seen->request : NULL;
}

static int look_up(struct mgds_wave *wave)
{
    wave->ours = 0;
    wave->generalized = 0;
    wave->added = mgds_requests_added;
    for (int i = 0; i < wave->count; i++) {
        struct mgds_drop *drop = &wave->drops[i];

        drop->handle = wave->requests[i];
        drop->unsaid = 0;
        drop->seen = mgds_requests_look(drop->handle);
        wave->ours += drop->seen.kind != 0;
        if (generalized_at(wave, i)) {
            mgds_request_get(generalized_at(wave, i));
            wave->generalized++;
        }
    }
    return wave->ours;
}

int mgds_wave_init(struct mgds_wave *wave, MPI_Request *requests, int count,
                   MPI_Status *statuses)
{
    int rc;

    mgds_request_orphans_poll();
    if (!requests || count <= 0)
        return 0;
    wave->requests = requests;
    wave->count = count;
    wave->statuses = statuses;
    rc = make_room(wave);
    if (rc < 0)
        return rc;
    rc = look_up(wave);
    if (rc == 0)
        mgds_wave_fini(wave);
    return rc;
}

void mgds_wave_fini(struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (generalized_at(wave, i))
            mgds_request_put(generalized_at(wave, i));
    free(wave->memory);
}

/* An error handler may have put requests of its own in the places of others: of
 * those that it completed or freed settle finds nothing. MPI makes the steps of
 * generalized ones. */
static void look_again(struct mgds_wave *wave)
{
    if (wave->added == mgds_requests_added)
        return;
    wave->added = mgds_requests_added;
    for (int i = 0; i < wave->count; i++) {
        struct mgds_drop *drop = &wave->drops[i];

        if (drop->seen.kind == 0 ||
            drop->seen.kind == MGDS_REQUEST_IS_GENERALIZED)
            continue;
        drop->handle = wave->requests[i];
        drop->seen = mgds_requests_look(drop->handle);
        if (drop->seen.kind == MGDS_REQUEST_IS_GENERALIZED)
            drop->seen.kind = 0;
    }
}

static bool step(struct mgds_wave *wave, bool *tested)
{
    struct mgds_grequest_pass pass;
    bool done;

    mgds_grequest_pass_begin(&pass);
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (generalized_at(wave, i))
            mgds_grequest_pass_step(&pass, generalized_at(wave, i));
    done = mgds_grequest_pass_end(&pass);
    *tested = pass.tested;
    if (wave->generalized > 0)
        look_again(wave);
    return done;
}

void mgds_wave_step(struct mgds_wave *wave)
{
    bool tested;

    step(wave, &tested);
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (generalized_at(wave, i))
            generalized_at(wave, i)->stepped = true;
}

bool mgds_wave_drive(struct mgds_wave *wave)
{
    bool tested;
    bool done = step(wave, &tested);

    if (!done && !tested)
        mgds_below_progress();
    return done;
}

void mgds_wave_drive_all(struct mgds_wave *wave)
{
    while (!mgds_wave_drive(wave))
        sched_yield();
}

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
    return 0;
}

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
    int rc = finish(request);

    if (landed < 0)
        rc = landed;
    if (rc >= 0 || !request)
        return MPI_SUCCESS;
    drop->comm = request->comm;
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

int mgds_wave_settle_one(struct mgds_wave *wave, int index, int rc)
{
    struct mgds_request *consumed = mgds_grequest_watched();
    int error = MPI_SUCCESS;

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
    for (int k = 0; k < errors->completed; k++)
        note(errors, k, settle(wave, index_of(errors, k), 0));
}

int mgds_wave_settle_many(struct mgds_wave *wave, int completed,
                          const int *indices, int rc)
{
    struct mgds_request *consumed = mgds_grequest_watched();
    struct errors errors = {wave, completed, indices, rc};

    settle_copies(&errors);
    for (struct mgds_request *request = consumed; request;
         request = request->next)
        note_consumed(&errors, request);
    tell(wave, consumed);
    return errors.rc;
}
