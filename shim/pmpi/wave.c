/* The requests of one completion call. */
#include "shim/pmpi/wave.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"

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
    wave->memory =
        mgds_malloc(drops + n * (sizeof(MPI_Status) + sizeof(MPI_Request)));
    if (!wave->memory)
        return -ENOMEM;
    wave->drops = wave->memory;
    if (wave->statuses == wave->small_statuses)
        wave->statuses = (MPI_Status *)(void *)((char *)wave->memory + drops);
    return 0;
}

/* Room for what goes down instead of the caller's requests. */
static MPI_Request *own_requests(struct mgds_wave *wave)
{
    size_t n = (size_t)wave->count;
    char *memory = wave->memory;

    if (!memory)
        return wave->small_requests;
    memory += n * (sizeof(*wave->drops) + sizeof(MPI_Status));
    return (MPI_Request *)(void *)memory;
}

static struct mgds_request *generalized_at(const struct mgds_wave *wave,
                                           int index)
{
    const struct mgds_request_seen *seen = &wave->drops[index].seen;

    return seen->kind == MGDS_REQUEST_IS_GENERALIZED ? seen->request : NULL;
}

static void hold_generalized(struct mgds_wave *wave, struct mgds_drop *drop)
{
    if (drop->seen.kind != MGDS_REQUEST_IS_GENERALIZED)
        return;
    mgds_request_get(drop->seen.request);
    wave->generalized++;
}

static void let_generalized_go(struct mgds_wave *wave, struct mgds_drop *drop)
{
    if (drop->seen.kind != MGDS_REQUEST_IS_GENERALIZED)
        return;
    wave->generalized--;
    drop->seen.kind = 0;
    mgds_request_put(drop->seen.request);
}

/* What goes down for a persistent request of a stream communicator. */
static int stand_in(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];
    struct mgds_stream_persist *persist = drop->persist;
    int rc = 0;

    drop->handle = MPI_REQUEST_NULL;
    drop->seen = (struct mgds_request_seen){.request = NULL};
    drop->held = mgds_stream_persist_is_under_way(persist);
    wave->held += drop->held;
    if (!drop->held && persist->current)
        rc = mgds_stream_req_show(persist->current, &drop->handle);
    wave->requests[i] = drop->handle;
    if (rc < 0 || drop->handle == MPI_REQUEST_NULL)
        return rc;
    drop->seen = mgds_requests_look(drop->handle);
    hold_generalized(wave, drop);
    return 0;
}

static int begin_to_stand_in(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    if (wave->requests == wave->callers) {
        wave->requests = own_requests(wave);
        memcpy(wave->requests, wave->callers,
               (size_t)wave->count * sizeof(*wave->requests));
    }
    drop->persist = (struct mgds_stream_persist *)drop->seen.request;
    mgds_request_get(&drop->persist->request);
    wave->persists++;
    return stand_in(wave, i);
}

/* How many are ours, or -ENOMEM: then count is of those that were looked at. */
static int look_up(struct mgds_wave *wave)
{
    int rc = 0;

    wave->ours = wave->generalized = wave->persists = wave->held = 0;
    for (int i = 0; i < wave->count && rc == 0; i++) {
        struct mgds_drop *drop = &wave->drops[i];

        drop->handle = wave->requests[i];
        drop->unsaid = 0;
        drop->persist = NULL;
        drop->held = false;
        drop->seen = mgds_requests_look(drop->handle);
        wave->ours += drop->seen.kind != 0;
        if (drop->seen.kind == MGDS_REQUEST_IS_TEMPLATE)
            rc = begin_to_stand_in(wave, i);
        else
            hold_generalized(wave, drop);
        if (rc < 0)
            wave->count = i + 1;
    }
    wave->added = mgds_requests_added;
    return rc < 0 ? rc : wave->ours;
}

int mgds_wave_init(struct mgds_wave *wave, MPI_Request *requests, int count,
                   MPI_Status *statuses)
{
    int rc;

    mgds_request_orphans_poll();
    if (!requests || count <= 0)
        return 0;
    wave->requests = wave->callers = requests;
    wave->count = count;
    wave->statuses = statuses;
    rc = make_room(wave);
    if (rc < 0)
        return rc;
    rc = look_up(wave);
    if (rc <= 0)
        mgds_wave_fini(wave);
    else if (wave->generalized > 0 || wave->persists > 0)
        mgds_groups_flush();
    return rc;
}

void mgds_wave_fini(struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (generalized_at(wave, i))
            mgds_request_put(generalized_at(wave, i));
    for (int i = 0; i < wave->count && wave->persists > 0; i++)
        if (wave->drops[i].persist)
            mgds_request_put(&wave->drops[i].persist->request);
    free(wave->memory);
}

/* Without memory for what stands for it, it is held on. */
static void free_if_over(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    if (stand_in(wave, i) == 0)
        return;
    drop->held = true;
    wave->held++;
}

/* Held ones may have come free, and an error handler may have completed or
 * freed others: then nothing stands for them. */
static void look_at_persists(struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->persists > 0; i++) {
        struct mgds_drop *drop = &wave->drops[i];
        const struct mgds_request *request = generalized_at(wave, i);

        if (!drop->persist) {
            wave->requests[i] = wave->callers[i];
        } else if (drop->held) {
            wave->held--;
            free_if_over(wave, i);
        } else if (request && (!drop->persist->current ||
                               request != &drop->persist->current->request)) {
            let_generalized_go(wave, drop);
            wave->requests[i] = MPI_REQUEST_NULL;
        }
    }
}

/* What the call below did to the array it was given. */
static void give_back_requests(const struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->persists > 0; i++)
        if (!wave->drops[i].persist)
            wave->callers[i] = wave->requests[i];
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

        if (drop->seen.kind == 0 || drop->persist ||
            drop->seen.kind == MGDS_REQUEST_IS_GENERALIZED)
            continue;
        drop->handle = wave->requests[i];
        drop->seen = mgds_requests_look(drop->handle);
        if (drop->seen.kind == MGDS_REQUEST_IS_GENERALIZED ||
            drop->seen.kind == MGDS_REQUEST_IS_TEMPLATE)
            drop->seen.kind = 0;
    }
}

/* Of the requests of the call, the receives that others may wait for. */
static int count_open(const struct mgds_wave *wave)
{
    int count = 0;

    for (int i = 0; i < wave->count && wave->generalized > 0; i++) {
        const struct mgds_request *request = generalized_at(wave, i);

        count += request && __atomic_load_n(&request->open, __ATOMIC_RELAXED);
    }
    return count;
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
    look_at_persists(wave);
    if (!done && mgds_direct_armed())
        mgds_direct_open_step(count_open(wave));
    if (wave->generalized > 0)
        look_again(wave);
    return done && wave->held == 0;
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
    mgds_direct_serve(true);
    while (!mgds_wave_drive(wave))
        sched_yield();
    mgds_direct_serve(false);
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
    if (drop->seen.kind == MGDS_REQUEST_IS_PERSISTENT &&
        drop->seen.request->state == MGDS_REQUEST_COPYING &&
        drop->seen.request->ops->correct)
        drop->seen.request->ops->correct(drop->seen.request, status);
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

    give_back_requests(wave);
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

    give_back_requests(wave);
    settle_copies(&errors);
    for (struct mgds_request *request = consumed; request;
         request = request->next)
        note_consumed(&errors, request);
    tell(wave, consumed);
    return errors.rc;
}
