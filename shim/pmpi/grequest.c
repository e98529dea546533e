/*
 * Generalized requests. MPICH calls poll functions from Wait, Test and their
 * kin, the wait function from Waitall; Request_get_status calls neither, so our
 * body of that one polls first (complete.c).
 */
#include "shim/pmpi/grequest.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/stage/round.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/greq.h"
#include "shim/pmpi/next.h"

/* So many bytes keep a GPU's copy engine busy for as long as it takes to queue
 * them: to wait for more would leave it idle. */
#define TOGETHER_BYTES ((size_t)1 << 20)

struct watch {
    bool watching;
    struct mgds_greq *consumed;
};
static _Thread_local struct watch watch;

/* Tells threads apart: the address of something each has its own of. */
static const void *self(void)
{
    return &watch;
}

static int land(struct mgds_greq *greq)
{
    if (!greq->ops->landed || mgds_below_was_cancelled(&greq->status))
        return 0;
    greq->status.MPI_ERROR = greq->error;
    return greq->ops->landed(greq->state, &greq->status);
}

static void destroy_state(struct mgds_greq *greq)
{
    if (greq->state)
        greq->ops->destroy(greq->state);
    greq->state = NULL;
}

/* Its pinned memory serves the next one, however long the program leaves this
 * request uncompleted. */
static void end_copies(struct mgds_greq *greq)
{
    greq->phase = MGDS_GREQ_DONE;
    destroy_state(greq);
}

/* The operation's error, unless it had one already. */
static void note(struct mgds_greq *greq, int rc)
{
    if (greq->error == MPI_SUCCESS) {
        greq->error = mgds_mpi_class(rc);
        greq->unsaid = rc;
    }
}

/* The receive below may win: then it was no cancel. */
static void cancel_below(struct mgds_greq *greq)
{
    if (__atomic_exchange_n(&greq->cancelled, false, __ATOMIC_RELAXED))
        MGDS_NEXT(Cancel, 1)((mgds_word)&greq->below);
}

/* Without its state it was freed, and all that is left to do is to say so to
 * MPI, which keeps it until then. */
static void step_own(struct mgds_greq *greq)
{
    int error = 0;
    int rc =
        greq->state ? greq->ops->test(greq->state, &greq->status, &error) : 1;

    if (rc == 0)
        return;
    if (rc < 0)
        error = rc;
    if (error < 0)
        note(greq, error);
    greq->phase = MGDS_GREQ_DONE;
}

/* MPI may call the program's error handler from there, and nothing else that
 * calls MPI: what that calls is the program's own. */
static int test_below(struct mgds_greq *greq, int *flag)
{
    struct mgds_inside inside = mgds_frame_step_out();
    struct watch kept = watch;
    int rc;

    watch = (struct watch){false, NULL};
    rc = (int)MGDS_NEXT(Test, 3)((mgds_word)&greq->below, (mgds_word)flag,
                                 (mgds_word)&greq->status);
    watch = kept;
    mgds_frame_step_in(&inside);
    return rc;
}

static void step_below(struct mgds_greq *greq)
{
    int flag = 0;

    if (greq->ops->test) {
        step_own(greq);
        return;
    }
    cancel_below(greq);
    greq->error = test_below(greq, &flag);
    if (flag || greq->error != MPI_SUCCESS)
        greq->phase = MGDS_GREQ_LANDED;
}

/* What cannot be copied up may have another half, which goes on: poll says. */
static void step_landed(struct mgds_greq *greq)
{
    int rc = land(greq);

    if (rc < 0)
        note(greq, rc);
    greq->phase = MGDS_GREQ_COPYING;
}

static void step_copying(struct mgds_greq *greq)
{
    int rc = greq->ops->poll ? greq->ops->poll(greq->state) : 1;

    if (rc < 0)
        note(greq, rc);
    if (rc != 0)
        end_copies(greq);
}

/*
 * A claim of this very thread was left behind by an error handler that jumped
 * out of the test below: the operation below is over then.
 */
static bool claim(struct mgds_greq *greq)
{
    const void *nobody = NULL;

    if (__atomic_compare_exchange_n(&greq->claimed, &nobody, self(), false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    if (nobody != self())
        return false;
    greq->error = MPI_ERR_OTHER;
    if (greq->phase == MGDS_GREQ_BELOW)
        greq->phase = MGDS_GREQ_COPYING;
    return true;
}

static void release(struct mgds_greq *greq)
{
    __atomic_store_n(&greq->claimed, NULL, __ATOMIC_RELEASE);
}

static void finish(struct mgds_greq_pass *pass, struct mgds_greq *greq,
                   enum mgds_greq_phase before)
{
    if (greq->phase == MGDS_GREQ_COPYING)
        step_copying(greq);
    /* One that was freed is kept by MPI until it is told so. */
    if (greq->phase == MGDS_GREQ_DONE && before != MGDS_GREQ_DONE)
        MGDS_NEXT(Grequest_complete, 1)((mgds_word)greq->staged.handle);
    pass->left += greq->phase != MGDS_GREQ_DONE;
    release(greq);
}

/* Another thread may have gone on with some of them meanwhile. */
static void land_all(struct mgds_greq_pass *pass)
{
    mgds_round_begin();
    for (int i = 0; i < pass->count; i++) {
        struct mgds_greq *greq = pass->landed[i];

        if (!claim(greq))
            continue;
        if (greq->phase == MGDS_GREQ_LANDED)
            step_landed(greq);
        release(greq);
    }
    mgds_round_end();
}

static void land_together(struct mgds_greq_pass *pass)
{
    land_all(pass);
    for (int i = 0; i < pass->count; i++)
        if (claim(pass->landed[i]))
            finish(pass, pass->landed[i], pass->landed[i]->phase);
        else
            pass->left++;
    pass->count = 0;
    pass->bytes = 0;
}

/* Of all that a pass has met only the one that it asks MPI about is claimed: an
 * error handler may jump out of there, and another thread wait for the rest. */
static void keep_landed(struct mgds_greq_pass *pass, struct mgds_greq *greq)
{
    pass->landed[pass->count++] = greq;
    pass->bytes += (size_t)mgds_below_bytes(&greq->status);
    release(greq);
    if (pass->count == MGDS_GREQ_TOGETHER || pass->bytes >= TOGETHER_BYTES)
        land_together(pass);
}

void mgds_greq_pass_begin(struct mgds_greq_pass *pass)
{
    pass->count = 0;
    pass->bytes = 0;
    pass->left = 0;
    pass->tested = false;
}

void mgds_greq_pass_step(struct mgds_greq_pass *pass, struct mgds_greq *greq)
{
    enum mgds_greq_phase before;

    if (!claim(greq)) {
        pass->left++;
        return;
    }
    before = greq->phase;
    if (before == MGDS_GREQ_BELOW) {
        step_below(greq);
        /* operations of our own do not look at MPI's network */
        pass->tested = pass->tested || !greq->ops->test;
    }
    if (greq->phase == MGDS_GREQ_LANDED)
        keep_landed(pass, greq);
    else
        finish(pass, greq, before);
}

bool mgds_greq_pass_end(struct mgds_greq_pass *pass)
{
    if (pass->count > 0)
        land_together(pass);
    return pass->left == 0;
}

int mgds_greq_poll(struct mgds_greq *greq)
{
    struct mgds_greq_pass pass;

    mgds_greq_pass_begin(&pass);
    mgds_greq_pass_step(&pass, greq);
    return mgds_greq_pass_end(&pass);
}

static int poll_staged(struct mgds_staged *staged)
{
    return mgds_greq_poll((struct mgds_greq *)staged);
}

void mgds_greq_get(struct mgds_greq *greq)
{
    __atomic_fetch_add(&greq->refs, 1, __ATOMIC_RELAXED);
}

void mgds_greq_put(struct mgds_greq *greq)
{
    if (__atomic_sub_fetch(&greq->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    destroy_state(greq);
    free(greq);
}

static void destroy_staged(struct mgds_staged *staged)
{
    mgds_greq_put((struct mgds_greq *)staged);
}

static const struct mgds_staged_ops greq_staged_ops = {
    .kind = MGDS_STAGED_GREQ,
    .poll = poll_staged,
    .destroy = destroy_staged,
};

/* MPI's callbacks. */

static int query(void *state, MPI_Status *status)
{
    struct mgds_greq *greq = state;

    *status = greq->status;
    status->MPI_ERROR = greq->error;
    return watch.watching ? MPI_SUCCESS : greq->error;
}

static int give_up(void *state)
{
    struct mgds_greq *greq = state;

    if (greq->phase == MGDS_GREQ_STARTED) {
        mgds_greq_put(greq);
        return MPI_SUCCESS;
    }
    mgds_staged_remove(&greq->staged);
    if (greq->phase != MGDS_GREQ_DONE) {
        if (greq->ops->test)
            destroy_state(greq);
        mgds_staged_orphan(&greq->staged);
    } else if (greq->phase == MGDS_GREQ_DONE && watch.watching) {
        greq->next = watch.consumed;
        watch.consumed = greq;
    } else {
        mgds_greq_put(greq);
    }
    return MPI_SUCCESS;
}

/* MPICH 4.0.2 asserts if MPI_Cancel is called from here, with a lock held: the
 * next step does it. */
static int cancel(void *state, int complete)
{
    struct mgds_greq *greq = state;

    if (greq->ops->cancel)
        greq->ops->cancel(greq->state);
    else if (!complete)
        __atomic_store_n(&greq->cancelled, true, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* An error handler that our step runs into may free other requests of the pass
 * that MPI makes: a call of ours has made the step ahead of that. */
static int poll_one(void *state, MPI_Status *status)
{
    struct mgds_greq *greq = state;

    (void)status;
    if (greq->stepped) {
        greq->stepped = false;
        return MPI_SUCCESS;
    }
    mgds_greq_get(greq);
    mgds_greq_poll(greq);
    mgds_greq_put(greq);
    return MPI_SUCCESS;
}

/* A pass over all: whether they are done. */
static bool drive(int count, void **states)
{
    struct mgds_greq_pass pass;
    bool done;

    mgds_greq_pass_begin(&pass);
    for (int i = 0; i < count; i++)
        mgds_greq_pass_step(&pass, states[i]);
    done = mgds_greq_pass_end(&pass);
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
    for (int i = 0; i < count; i++)
        mgds_greq_get(states[i]);
    while (!drive(count, states))
        sched_yield();
    for (int i = 0; i < count; i++)
        mgds_greq_put(states[i]);
    return MPI_SUCCESS;
}

static int start(struct mgds_greq *greq)
{
    int rc;

    if (mgds_below()->Grequest_start_extended)
        return mgds_below()->Grequest_start_extended(query, give_up, cancel,
                                                     poll_one, wait_all, greq,
                                                     &greq->staged.handle);
    mgds_warn_once("the MPI below has no MPIX_Grequest_start: receives into "
                   "GPU memory make progress only in completion calls of this "
                   "program");
    rc = (int)MGDS_NEXT(Grequest_start, 5)((mgds_word)query, (mgds_word)give_up,
                                           (mgds_word)cancel, (mgds_word)greq,
                                           (mgds_word)&greq->staged.handle);
    return rc;
}

int mgds_greq_create(struct mgds_greq **out, MPI_Comm comm,
                     const struct mgds_greq_ops *ops, void *state)
{
    struct mgds_greq *greq = mgds_calloc(1, sizeof(*greq));

    if (!greq)
        return -ENOMEM;
    greq->staged.ops = &greq_staged_ops;
    greq->staged.comm = comm;
    greq->staged.state = MGDS_STAGED_ACTIVE;
    greq->ops = ops;
    greq->state = state;
    greq->refs = 1;
    greq->below = MPI_REQUEST_NULL;
    greq->phase = MGDS_GREQ_STARTED;
    if (start(greq) != MPI_SUCCESS) {
        free(greq);
        return -ENOMEM;
    }
    *out = greq;
    return 0;
}

MPI_Request *mgds_greq_below(struct mgds_greq *greq)
{
    return &greq->below;
}

void mgds_greq_arm(struct mgds_greq *greq, MPI_Request *user)
{
    greq->phase = MGDS_GREQ_BELOW;
    mgds_staged_add(&greq->staged);
    *user = greq->staged.handle;
}

/* MPI frees it once it is both complete and freed. */
void mgds_greq_drop(struct mgds_greq *greq)
{
    MPI_Request handle = greq->staged.handle;

    MGDS_NEXT(Grequest_complete, 1)((mgds_word)handle);
    MGDS_NEXT(Request_free, 1)((mgds_word)&handle);
}

void mgds_greq_discard(struct mgds_greq *greq)
{
    MPI_Request handle = greq->staged.handle;

    if (greq->phase != MGDS_GREQ_DONE)
        MGDS_NEXT(Grequest_complete, 1)((mgds_word)handle);
    greq->phase = MGDS_GREQ_DONE;
    MGDS_NEXT(Request_free, 1)((mgds_word)&handle);
}

void *mgds_greq_own_state(MPI_Request handle, const struct mgds_greq_ops *ops,
                          struct mgds_greq **out)
{
    struct mgds_greq *greq = mgds_greq_of(mgds_staged_find(handle));

    if (!greq || greq->ops != ops)
        return NULL;
    *out = greq;
    return greq->state;
}

MPI_Request mgds_greq_handle(const struct mgds_greq *greq)
{
    return greq->staged.handle;
}

void mgds_greq_watch(void)
{
    watch.watching = true;
    watch.consumed = NULL;
}

struct mgds_greq *mgds_greq_watched(void)
{
    watch.watching = false;
    return watch.consumed;
}

int mgds_greq_take_unsaid(struct mgds_greq *greq)
{
    int rc = greq->unsaid;

    greq->unsaid = 0;
    return rc;
}

int mgds_greq_error(struct mgds_greq *greq)
{
    int error = greq->error;
    MPI_Comm comm = greq->ops->teller && greq->state
                        ? greq->ops->teller(greq->state)
                        : greq->staged.comm;

    mgds_mpi_error(comm, mgds_greq_take_unsaid(greq));
    return error;
}

struct mgds_greq *mgds_greq_of(struct mgds_staged *staged)
{
    return staged && staged->ops == &greq_staged_ops
               ? (struct mgds_greq *)staged
               : NULL;
}
