/*
 * Generalized requests. MPICH calls poll functions from Wait, Test and their
 * kin, the wait function from Waitall; Request_get_status calls neither, so our
 * body of that one polls first (complete.c).
 */
#include "shim/pmpi/grequest.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/gds/direct/pull.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/pulling.h"
#include "shim/pmpi/request_table.h"

/* So many bytes keep a GPU's copy engine busy for as long as it takes to queue
 * them: to wait for more would leave it idle. */
#define TOGETHER_BYTES ((size_t)1 << 20)

static _Thread_local struct mgds_grequest_watch watch;

/* Tells threads apart: the address of something each has its own of. */
static const void *self(void)
{
    return &watch;
}

struct mgds_grequest_watch mgds_grequest_set_aside(void)
{
    const struct mgds_grequest_watch kept = watch;

    watch = (struct mgds_grequest_watch){false, NULL};
    return kept;
}

void mgds_grequest_take_up(const struct mgds_grequest_watch *kept)
{
    watch = *kept;
}

static int land(struct mgds_request *request)
{
    if (!request->ops->landed || mgds_below_was_cancelled(&request->status))
        return 0;
    if (!request->ops->pulls)
        mgds_pull_batch_flush();
    request->status.MPI_ERROR = request->error;
    return request->ops->landed(request, &request->status);
}

/* Completion is recorded and handed to MPI here. From then on MPI may give the
 * status to any thread, and free the request. Release, for see_complete: MPI
 * orders it as well, but says so to nobody. */
static void complete(struct mgds_request *request,
                     enum mgds_request_event event)
{
    const void *claimed = __atomic_load_n(&request->claimed, __ATOMIC_RELAXED);

    mgds_request_step(request, event);
    __atomic_compare_exchange_n(&request->claimed, &claimed, claimed, false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (request->general != MPI_REQUEST_NULL)
        MGDS_NEXT(Grequest_complete, 1)((mgds_word)request->general);
}

/* The operation's error, unless it had one already. */
static void note(struct mgds_request *request, int rc)
{
    if (request->error == MPI_SUCCESS) {
        request->error = mgds_mpi_class(rc);
        request->unsaid = rc;
    }
}

/* The receive below may win: then it was no cancel. */
static void cancel_below(struct mgds_request *request)
{
    if (__atomic_exchange_n(&request->cancelled, false, __ATOMIC_RELAXED))
        MGDS_NEXT(Cancel, 1)((mgds_word)&request->below);
}

/* What is behind it was released: it was freed, and all that is left to do is
 * to say so to MPI, which keeps it until then. */
static void step_own(struct mgds_request *request)
{
    int error = 0;
    int rc = request->released
                 ? 1
                 : request->ops->test(request, &request->status, &error);

    if (rc == 0)
        return;
    if (rc < 0)
        error = rc;
    if (error < 0)
        note(request, error);
    complete(request, MGDS_REQUEST_ON_FINISH);
}

/* MPI may call the program's error handler from there, and nothing else that
 * calls MPI: what that calls is the program's own. */
static int test_below(struct mgds_request *request, int *flag)
{
    struct mgds_inside inside = mgds_frame_step_out();
    const struct mgds_grequest_watch kept = mgds_grequest_set_aside();
    int rc;

    rc = (int)MGDS_NEXT(Test, 3)((mgds_word)&request->below, (mgds_word)flag,
                                 (mgds_word)&request->status);
    mgds_grequest_take_up(&kept);
    mgds_frame_step_in(&inside);
    return rc;
}

static bool overtakes(struct mgds_request *request)
{
    return request->ops->overtake && request->ops->overtake(request);
}

static void step_below(struct mgds_request *request)
{
    int flag = 0;

    if (request->ops->test) {
        step_own(request);
        return;
    }
    cancel_below(request);
    request->error = test_below(request, &flag);
    if (flag || request->error != MPI_SUCCESS || overtakes(request))
        mgds_request_step(request, MGDS_REQUEST_ON_LAND);
}

static bool pulls(const struct mgds_request *request)
{
    return request->ops->pulls && request->ops->pulls(request);
}

/* What cannot be copied up may have another half, which goes on: poll says. */
static void step_landed(struct mgds_request *request)
{
    int rc = land(request);

    if (rc < 0)
        note(request, rc);
    mgds_request_step(request, MGDS_REQUEST_ON_COPY);
    if (pulls(request))
        mgds_pulling_add(request);
}

/* What is behind it, pinned memory, serves the next one, however long the
 * program leaves this request uncompleted. */
static void step_copying(struct mgds_request *request)
{
    int rc = request->ops->poll ? request->ops->poll(request) : 1;

    if (rc < 0)
        note(request, rc);
    if (rc == 0)
        return;
    mgds_request_release(request);
    complete(request, MGDS_REQUEST_ON_FINISH);
}

/*
 * A claim of this very thread was left behind by an error handler that jumped
 * out of the test below: the operation below is over then.
 */
static bool claim(struct mgds_request *request)
{
    const void *nobody = NULL;

    if (__atomic_compare_exchange_n(&request->claimed, &nobody, self(), false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    if (nobody != self())
        return false;
    request->error = MPI_ERR_OTHER;
    if (request->state == MGDS_REQUEST_ACTIVE)
        mgds_request_step(request, MGDS_REQUEST_ON_COPY);
    return true;
}

static void unclaim(struct mgds_request *request)
{
    __atomic_store_n(&request->claimed, NULL, __ATOMIC_RELEASE);
}

static void finish(struct mgds_grequest_pass *pass,
                   struct mgds_request *request)
{
    if (request->state == MGDS_REQUEST_COPYING)
        step_copying(request);
    pass->left += request->state != MGDS_REQUEST_DONE;
    unclaim(request);
}

/* Another thread may have gone on with some of them meanwhile. */
static void land_all(struct mgds_grequest_pass *pass)
{
    mgds_pull_batch_begin();
    for (int i = 0; i < pass->count; i++) {
        struct mgds_request *request = pass->kept[i];

        if (!claim(request))
            continue;
        if (request->state == MGDS_REQUEST_LANDED)
            step_landed(request);
        unclaim(request);
    }
    mgds_pull_batch_end();
}

/* Copies that are under way are asked about behind that: the driver takes as
 * long to answer as to begin another. */
static void land_together(struct mgds_grequest_pass *pass)
{
    land_all(pass);
    for (int i = 0; i < pass->count; i++)
        if (claim(pass->kept[i]))
            finish(pass, pass->kept[i]);
        else
            pass->left++;
    pass->count = 0;
    pass->bytes = 0;
}

/* Of all that a pass has met only the one that it asks MPI about is claimed (or
 * for which it asks about refused sends): an error handler may jump out of
 * there, and another thread wait for the rest. */
static void keep(struct mgds_grequest_pass *pass, struct mgds_request *request)
{
    pass->kept[pass->count++] = request;
    if (request->state == MGDS_REQUEST_LANDED)
        pass->bytes += (size_t)mgds_below_bytes(&request->status);
    unclaim(request);
    if (pass->count == MGDS_GREQUESTS_TOGETHER || pass->bytes >= TOGETHER_BYTES)
        land_together(pass);
}

void mgds_grequest_pass_begin(struct mgds_grequest_pass *pass)
{
    pass->count = 0;
    pass->bytes = 0;
    pass->left = 0;
    pass->tested = false;
}

static bool may_land(struct mgds_request *request)
{
    return !request->ops->may_land || request->ops->may_land(request);
}

void mgds_grequest_pass_step(struct mgds_grequest_pass *pass,
                             struct mgds_request *request)
{
    if (!claim(request)) {
        pass->left++;
        return;
    }
    if (request->state == MGDS_REQUEST_ACTIVE) {
        step_below(request);
        /* operations of our own do not look at MPI's network */
        pass->tested = pass->tested || !request->ops->test;
    }
    if (request->state == MGDS_REQUEST_LANDED && request->ops->lands_alone)
        step_landed(request);
    if (request->state == MGDS_REQUEST_COPYING ||
        (request->state == MGDS_REQUEST_LANDED && may_land(request)))
        keep(pass, request);
    else
        finish(pass, request);
}

bool mgds_grequest_pass_end(struct mgds_grequest_pass *pass)
{
    if (pass->count > 0)
        land_together(pass);
    return pass->left == 0;
}

bool mgds_grequest_poll(struct mgds_request *request)
{
    struct mgds_grequest_pass pass;

    mgds_grequest_pass_begin(&pass);
    mgds_grequest_pass_step(&pass, request);
    return mgds_grequest_pass_end(&pass);
}

bool mgds_grequest_still_pulls(struct mgds_request *request)
{
    bool pulling;

    if (__atomic_load_n(&request->claimed, __ATOMIC_RELAXED) == self())
        return false;
    if (!claim(request))
        return true;
    pulling = request->state == MGDS_REQUEST_COPYING && pulls(request);
    unclaim(request);
    return pulling;
}

/* MPI's callbacks. */

/* What another thread has done before it completed the request is seen. */
static void see_complete(const struct mgds_request *request)
{
    (void)__atomic_load_n(&request->claimed, __ATOMIC_ACQUIRE);
}

static int query(void *state, MPI_Status *status)
{
    struct mgds_request *request = state;

    see_complete(request);
    *status = request->status;
    status->MPI_ERROR = request->error;
    return watch.watching ? MPI_SUCCESS : request->error;
}

/* Freed before an operation of our own is done: what is behind it goes at once,
 * if it may. */
static void abandon(struct mgds_request *request)
{
    bool busy = request->ops->busy && request->ops->busy(request);

    if (request->ops->test && !busy)
        mgds_request_release(request);
    mgds_requests_add_orphan(request);
}

static int give_up(void *state)
{
    struct mgds_request *request = state;

    see_complete(request);
    if (request->state == MGDS_REQUEST_DROPPED) {
        mgds_request_put(request);
        return MPI_SUCCESS;
    }
    mgds_requests_remove(request);
    if (request->ops->gone)
        request->ops->gone(request);
    if (request->state != MGDS_REQUEST_DONE) {
        abandon(request);
    } else if (watch.watching) {
        request->next = watch.consumed;
        watch.consumed = request;
    } else {
        mgds_request_put(request);
    }
    return MPI_SUCCESS;
}

/* MPICH 4.0.2 asserts if MPI_Cancel is called from here, with a lock held: the
 * next step does it. */
static int cancel(void *state, int is_complete)
{
    struct mgds_request *request = state;

    if (request->ops->cancel)
        request->ops->cancel(request);
    else if (!is_complete)
        __atomic_store_n(&request->cancelled, true, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* The program waits by a copy of a handle that has gone. MPI does not listen to
 * its wait function: one that is at rest ends here. */
static bool refuse_those_at_rest(int count, void **states)
{
    bool any = false;

    for (int i = 0; i < count; i++) {
        struct mgds_request *request = states[i];

        if (!mgds_grequest_is_at_rest(request))
            continue;
        mgds_request_get(request); /* for who has it at rest */
        request->error = MPI_ERR_REQUEST;
        complete(request, MGDS_REQUEST_ON_DROP);
        any = true;
    }
    return any;
}

/* An error handler that our step runs into may free other requests of the pass
 * that MPI makes: a call of ours has made the step ahead of that. */
static int poll_one(void *state, MPI_Status *status)
{
    struct mgds_request *request = state;

    (void)status;
    if (mgds_grequest_is_at_rest(request))
        return MPI_ERR_REQUEST;
    if (request->stepped) {
        request->stepped = false;
        return MPI_SUCCESS;
    }
    mgds_request_get(request);
    mgds_grequest_poll(request);
    mgds_request_put(request);
    return MPI_SUCCESS;
}

/* A pass over all: whether they are done. */
static bool drive(int count, void **states)
{
    struct mgds_grequest_pass pass;
    bool done;

    mgds_grequest_pass_begin(&pass);
    for (int i = 0; i < count; i++)
        mgds_grequest_pass_step(&pass, states[i]);
    done = mgds_grequest_pass_end(&pass);
    if (!done && !pass.tested)
        mgds_below_progress();
    return done;
}

/* Asks in turn rather than waiting below: MPICH 4.0.2 does not come back from
 * a Wait inside its wait function. */
static int wait_all(int count, void **states, double timeout,
                    MPI_Status *status)
{
    (void)timeout;
    (void)status;
    if (refuse_those_at_rest(count, states))
        return MPI_SUCCESS; /* it comes back for the others */
    for (int i = 0; i < count; i++)
        mgds_request_get(states[i]);
    while (!drive(count, states))
        sched_yield();
    for (int i = 0; i < count; i++)
        mgds_request_put(states[i]);
    return MPI_SUCCESS;
}

static int start(struct mgds_request *request)
{
    int rc;

    if (mgds_below()->Grequest_start_extended)
        return mgds_below()->Grequest_start_extended(
            query, give_up, cancel, poll_one, wait_all, request,
            &request->general);
    mgds_warn_once("the MPI below has no MPIX_Grequest_start: receives into "
                   "GPU memory make progress only in completion calls of this "
                   "program");
    rc = (int)MGDS_NEXT(Grequest_start, 5)(
        (mgds_word)query, (mgds_word)give_up, (mgds_word)cancel,
        (mgds_word)request, (mgds_word)&request->general);
    return rc;
}

int mgds_grequest_start(struct mgds_request *request)
{
    if (request->general == MPI_REQUEST_NULL && start(request) != MPI_SUCCESS) {
        mgds_request_put(request);
        return -ENOMEM;
    }
    request->handle = request->general;
    return 0;
}

void mgds_grequest_begin(struct mgds_request *request, MPI_Request *user)
{
    mgds_request_step(request, MGDS_REQUEST_ON_BEGIN);
    mgds_request_add(request);
    *user = request->handle;
}

/* MPI frees it once it is both complete and freed. */
static void free_below(struct mgds_request *request)
{
    MPI_Request general = request->general;

    MGDS_NEXT(Request_free, 1)((mgds_word)&general);
}

static int show(struct mgds_request *request)
{
    if (request->general != MPI_REQUEST_NULL)
        return 0;
    if (start(request) != MPI_SUCCESS)
        return -ENOMEM;
    if (request->state == MGDS_REQUEST_DONE)
        MGDS_NEXT(Grequest_complete, 1)((mgds_word)request->general);
    return 0;
}

/* With the claim: nobody completes it meanwhile. This thread has it where an
 * error handler calls us from inside of a step of this very request. A step of
 * another thread may sit in the driver, and that wait for a message with which
 * this thread alone makes progress. */
int mgds_grequest_show(struct mgds_request *request)
{
    int rc;

    if (__atomic_load_n(&request->claimed, __ATOMIC_RELAXED) == self())
        return show(request);
    while (!claim(request)) {
        mgds_below_progress();
        sched_yield();
    }
    rc = show(request);
    unclaim(request);
    return rc;
}

bool mgds_grequest_take(struct mgds_request *request, MPI_Status *status)
{
    int error = status->MPI_ERROR;

    if (!mgds_requests_remove(request))
        return false;
    *status = request->status;
    status->MPI_ERROR = error;
    if (!mgds_grequest_is_hidden(request)) {
        mgds_request_get(request); /* MPI's, which gives one back */
        free_below(request);
    }
    return true;
}

void mgds_grequest_drop(struct mgds_request *request)
{
    complete(request, MGDS_REQUEST_ON_DROP);
    free_below(request);
}

void mgds_grequest_discard(struct mgds_request *request)
{
    if (request->state != MGDS_REQUEST_DONE)
        complete(request, MGDS_REQUEST_ON_FINISH);
    free_below(request);
}

/* No call looks at it, and none of MPI's has begun to complete it. */
static bool may_rest(const struct mgds_request *request)
{
    return request->state == MGDS_REQUEST_ACTIVE && !request->released &&
           __atomic_load_n(&request->refs, __ATOMIC_ACQUIRE) == 1;
}

bool mgds_grequest_rest(struct mgds_request *request)
{
    const struct mgds_request kept = {.ops = request->ops,
                                      .state = MGDS_REQUEST_NEW,
                                      .handle = request->handle,
                                      .general = request->general,
                                      .comm = MPI_COMM_NULL,
                                      .refs = 1,
                                      .below = MPI_REQUEST_NULL};

    if (!may_rest(request))
        return false;
    mgds_requests_remove(request);
    if (request->ops->gone)
        request->ops->gone(request);
    mgds_request_release(request);
    *request = kept;
    return true;
}

void mgds_grequest_watch(void)
{
    watch.watching = true;
    watch.consumed = NULL;
}

struct mgds_request *mgds_grequest_watched(void)
{
    watch.watching = false;
    return watch.consumed;
}

/* What is told counts as told before a handler is called. */
int mgds_grequest_error(struct mgds_request *request)
{
    bool tells = request->ops->teller && !request->released;
    MPI_Comm comm = tells ? request->ops->teller(request) : request->comm;
    int error = request->error;
    int unsaid = request->unsaid;

    request->unsaid = 0;
    mgds_mpi_error(comm, unsaid);
    return error;
}
