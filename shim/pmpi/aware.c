/*
 * Does the MPI below take GPU memory itself? The trial is a message to
 * ourselves from host to device, device to device and device to host memory,
 * short and long, on a communicator and in memory of its own.
 *
 * Concurrency. One word says how things stand: UNTRIED -> TRYING by the thread
 * that takes it, then STAGES or PASSES, for good. Who comes while it is TRYING
 * stages, which is always right.
 */
#include "shim/pmpi/aware.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/self.h"

enum standing { UNTRIED, TRYING, STAGES, PASSES };

static atomic_int standing = UNTRIED;

/* MPICH asks one of its queries by the other's exported name, so the question
 * comes back to us: then it is not about staging. */
static _Thread_local bool asking_below;

bool mgds_aware_cuda_below(void)
{
    bool before = asking_below;
    bool yes;

    asking_below = true;
    yes = mgds_below()->Query_cuda_support &&
          mgds_below()->Query_cuda_support() == 1;
    asking_below = before;
    return yes;
}

int mgds_aware_gpu_below(int kind, int *yes)
{
    bool before = asking_below;
    int rc = MPI_SUCCESS;

    asking_below = true;
    if (mgds_below()->GPU_query_support)
        rc = mgds_below()->GPU_query_support(kind, yes);
    else
        *yes = kind == MPIX_GPU_SUPPORT_CUDA && mgds_aware_cuda_below();
    asking_below = before;
    return rc;
}

/* What a trial works with: two pieces on the device, two on the host. */
enum { SHORT = 64, LONG = 1 << 20 };

struct trial {
    MPI_Comm comm;
    void *device[2];
    unsigned char *sent, *received;
};

static int move(const struct trial *trial, const void *from, void *to,
                int bytes)
{
    enum { TAG = 1, SELF = 0 };
    /* By the name that programs use: a tool below may be what knows GPUs. */
    MGDS_FN(12) *sendrecv =
        (MGDS_FN(12) *)mgds_next(MGDS_CALL_Sendrecv, MGDS_FACE_MPI);

    return (int)sendrecv((mgds_word)from, (mgds_word)bytes, (mgds_word)MPI_BYTE,
                         SELF, TAG, (mgds_word)to, (mgds_word)bytes,
                         (mgds_word)MPI_BYTE, SELF, TAG, (mgds_word)trial->comm,
                         (mgds_word)MPI_STATUS_IGNORE);
}

static bool arrives(const struct trial *trial, const void *from, int bytes)
{
    memset(trial->received, 0, (size_t)bytes);
    return move(trial, from, trial->received, bytes) == MPI_SUCCESS &&
           memcmp(trial->sent, trial->received, (size_t)bytes) == 0;
}

/* Each way is looked at by itself: two wrongs may make a right. */
static bool holds(const struct trial *trial, int bytes)
{
    for (int i = 0; i < bytes; i++)
        trial->sent[i] = (unsigned char)(i * 7 + bytes);
    return move(trial, trial->sent, trial->device[0], bytes) == MPI_SUCCESS &&
           arrives(trial, trial->device[0], bytes) &&
           move(trial, trial->device[0], trial->device[1], bytes) ==
               MPI_SUCCESS &&
           arrives(trial, trial->device[1], bytes);
}

static bool try_messages(struct trial *trial)
{
    struct mgds_self self;
    bool good;

    trial->sent = mgds_malloc((size_t)2 * LONG);
    if (!trial->sent)
        return false;
    trial->received = trial->sent + LONG;
    good = mgds_self_open(&self) == 0;
    if (good) {
        trial->comm = self.comm;
        good = holds(trial, SHORT) && holds(trial, LONG);
        mgds_self_close(&self);
    }
    free(trial->sent);
    return good;
}

static bool try_on(const struct mgds_context *ctx)
{
    struct trial trial = {.comm = MPI_COMM_NULL};
    bool good = false;

    if (mgds_trial_alloc(&trial.device[0], ctx, LONG) < 0)
        return false;
    if (mgds_trial_alloc(&trial.device[1], ctx, LONG) == 0) {
        good = try_messages(&trial);
        mgds_trial_free(ctx, trial.device[1]);
    }
    mgds_trial_free(ctx, trial.device[0]);
    return good;
}

static bool below_takes(const struct mgds_ptr *ptr)
{
    struct mgds_context *ctx;
    bool good;

    if (!mgds_aware_cuda_below() || mgds_context_of_ptr(&ctx, ptr) < 0)
        return false;
    good = try_on(ctx);
    mgds_context_put(ctx);
    if (good)
        mgds_info("the MPI library takes GPU memory: buffers are passed on");
    else
        mgds_warn("the MPI library says that it takes GPU memory, but a "
                  "message to ourselves did not arrive: buffers are staged");
    return good;
}

static bool settle(const struct mgds_ptr *ptr)
{
    int untried = UNTRIED;
    bool stages;

    if (!atomic_compare_exchange_strong(&standing, &untried, TRYING))
        return untried != PASSES;
    stages = !below_takes(ptr);
    atomic_store(&standing, stages ? STAGES : PASSES);
    return stages;
}

bool mgds_aware_stages(const struct mgds_ptr *ptr)
{
    int now;

    if (mgds_ctx()->config.stage != MGDS_STAGE_AUTO)
        return mgds_ctx()->config.stage == MGDS_STAGE_ALWAYS;
    now = atomic_load_explicit(&standing, memory_order_acquire);
    return now == UNTRIED || now == TRYING ? settle(ptr) : now == STAGES;
}

bool mgds_aware_can_stage(void)
{
    if (asking_below || !mgds_process()->active ||
        mgds_ctx()->config.stage == MGDS_STAGE_NEVER)
        return false;
    return !mgds_presence_cuda() || mgds_driver() != NULL;
}
