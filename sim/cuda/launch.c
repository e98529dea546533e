/* Kernel launches: checks, and execution. All blocks that fit run at the same
 * time, each in a thread: a kernel may wait for another of its blocks. */
#include "sim/cuda/module.h"

#include <errno.h>
#include <string.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/fault.h"
#include "sim/cuda/hooks.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/stream.h"

#define PARAMS_MAX 8
#define PARAM_ALIGN 16
#define SHARED_PLAIN 49152u
#define MULTIPROCESSORS 132u

/* One execution of a kernel; lives on the stack of the stream's executor. */
struct grid {
    const struct mgds_gpu_op *op;
    const void *params[PARAMS_MAX];
    unsigned blocks, next;
    unsigned threads; /* that run a block */
    unsigned running; /* blocks */
    unsigned helpers; /* pool threads that may still look at this */
    bool failed;
    pthread_cond_t moved;
};

/* One block, on the stack of the thread that runs its thread 0. */
struct block {
    struct grid *grid;
    unsigned index;
    unsigned left;    /* threads that have not ended */
    unsigned arrived; /* at the barrier */
    unsigned phase;   /* of the barrier */
    bool broken;      /* a thread ended early: nobody waits for it */
    pthread_cond_t moved;
};

struct lane {
    struct block *block;
    unsigned thread;
    uint64_t nap; /* ns, see mgds_gpu_doze */
};

/* Does not return if broken: the kernel's frame is left behind. */
static void leave_if(bool broken)
{
    if (broken)
        mgds_fault_leave();
}

static void block_sync(void *host)
{
    struct block *block = ((const struct lane *)host)->block;
    unsigned phase;
    bool broken;

    /* the rule where BLOCK_THREADS is 1 */
    if (block->grid->threads == 1)
        return;
    pthread_mutex_lock(&mgds_gpu.lock);
    phase = block->phase;
    if (++block->arrived == block->grid->threads) {
        block->arrived = 0;
        block->phase++;
        pthread_cond_broadcast(&block->moved);
    }
    while (phase == block->phase && !block->broken)
        pthread_cond_wait(&block->moved, &mgds_gpu.lock);
    broken = block->broken;
    pthread_mutex_unlock(&mgds_gpu.lock);
    leave_if(broken);
}

/* Another operation may have faulted while the kernel waits: then it ends, as
 * it does on a GPU. */
static void block_pause(void *host)
{
    struct lane *lane = host;

    leave_if(mgds_gpu_lost() != CUDA_SUCCESS);
    mgds_gpu_doze(&lane->nap);
}

static const struct mgds_self_calls calls = {block_sync, block_pause};

static void thread_body(void *arg)
{
    struct lane *lane = arg;
    const struct grid *grid = lane->block->grid;
    struct mgds_self self = {
        .thread = lane->thread,
        .threads = grid->threads,
        .block = lane->block->index,
        .blocks = grid->blocks,
        .calls = &calls,
        .host = lane,
    };

    grid->op->u.kernel.function->kernel->run(&self, grid->params);
}

/* Locked on entry and return, not while the kernel runs. */
static void run_thread(struct block *block, unsigned thread)
{
    struct lane lane = {block, thread, 0};
    int rc;

    pthread_mutex_unlock(&mgds_gpu.lock);
    rc = mgds_fault_run(thread_body, &lane);
    pthread_mutex_lock(&mgds_gpu.lock);
    if (rc == -EFAULT)
        block->grid->failed = true;
    block->broken = block->broken || rc < 0;
    block->left--;
    pthread_cond_broadcast(&block->moved);
}

/* Threads 1 and up: each takes the next number. */
struct crowd {
    struct block *block;
    unsigned next;
};

/* Which number a pool thread plays is chance. */
static void run_other(void *arg)
{
    struct crowd *crowd = arg;

    run_thread(crowd->block, crowd->next++);
}

static void run_block(struct grid *grid, unsigned index)
{
    struct block block = {.grid = grid, .index = index, .left = grid->threads};
    struct crowd crowd = {&block, 1};

    pthread_cond_init(&block.moved, NULL);
    for (unsigned i = 1; i < grid->threads; i++)
        mgds_pool_run(run_other, &crowd);
    run_thread(&block, 0);
    while (block.left)
        pthread_cond_wait(&block.moved, &mgds_gpu.lock);
    pthread_cond_destroy(&block.moved);
}

/* Takes blocks until none is left. Each block that starts while others wait
 * brings one more helper: quick blocks need few threads, blocks that wait for
 * each other get a thread each. */
static void run_blocks(struct grid *grid);

static void help(void *arg)
{
    struct grid *grid = arg;

    run_blocks(grid);
    grid->helpers--;
    pthread_cond_broadcast(&grid->moved);
}

static void run_blocks(struct grid *grid)
{
    while (grid->next < grid->blocks) {
        unsigned index = grid->next++;

        grid->running++;
        if (grid->next < grid->blocks &&
            grid->running < mgds_gpu.cfg.resident) {
            grid->helpers++;
            mgds_pool_run(help, grid);
        }
        run_block(grid, index);
        grid->running--;
    }
}

static unsigned volume(const unsigned dim[3])
{
    return dim[0] * dim[1] * dim[2];
}

/* The other side of pack(). */
static void unpack(struct grid *grid)
{
    const struct mgds_kernel *kernel = grid->op->u.kernel.function->kernel;
    const char *at = grid->op->payload;

    for (unsigned i = 0; i < PARAMS_MAX && kernel->params[i]; i++) {
        grid->params[i] = at;
        at += (kernel->params[i] + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    }
}

/* What a kernel touches is not seen. But an address that it was given it will
 * touch, and there its GPU must reach the memory. Locked. */
static bool reaches_params(const struct mgds_gpu_op *op)
{
    const char *payload = op->payload;
    uintptr_t addr;

    for (size_t at = 0; at + sizeof(addr) <= op->payload_size;
         at += sizeof(addr)) {
        memcpy(&addr, payload + at, sizeof(addr));
        if (mgds_mem_find(addr) && !mgds_mem_reaches(op->ctx, addr))
            return false;
    }
    return true;
}

CUresult mgds_kernel_run(const struct mgds_gpu_op *op)
{
    unsigned threads = volume(op->u.kernel.block);
    struct grid grid = {.op = op, .blocks = volume(op->u.kernel.grid)};

    grid.threads = threads < mgds_gpu.cfg.block_threads
                       ? threads
                       : (unsigned)mgds_gpu.cfg.block_threads;
    unpack(&grid);
    pthread_cond_init(&grid.moved, NULL);
    pthread_mutex_lock(&mgds_gpu.lock);
    grid.failed = !reaches_params(op);
    if (!grid.failed)
        run_blocks(&grid);
    while (grid.helpers)
        pthread_cond_wait(&grid.moved, &mgds_gpu.lock);
    pthread_mutex_unlock(&mgds_gpu.lock);
    pthread_cond_destroy(&grid.moved);
    return grid.failed ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

/* The size of parameters in launch buffers (`extra`), or NULL if there is no
 * such buffer. */
static const char *buffer_of(void **extra)
{
    const char *buffer = NULL;

    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
    }
    return buffer;
}

/* Parameters one behind the other, each aligned; `params` points at each, or
 * `buffer` holds the only one. */
static CUresult pack(const struct mgds_kernel *kernel, void **params,
                     const char *buffer, char *to, size_t *size)
{
    size_t at = 0;

    if (kernel->params[0] && !params && !buffer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!params && kernel->params[0] && kernel->params[1])
        return CUDA_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < PARAMS_MAX && kernel->params[i]; i++) {
        const void *from = params ? params[i] : buffer;
        size_t bytes = kernel->params[i];
        size_t room = (bytes + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;

        /* what lies between them is looked at, too (reaches_params) */
        if (to) {
            memcpy(to + at, from, bytes);
            memset(to + at + bytes, 0, room - bytes);
        }
        at += room;
    }
    *size = at;
    return CUDA_SUCCESS;
}

static bool dims_are_good(const CUlaunchConfig *config)
{
    uint64_t threads =
        (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    uint64_t blocks =
        (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;

    return threads > 0 && threads <= 1024 && config->blockDimZ <= 64 &&
           config->blockDimX <= 1024 && config->blockDimY <= 1024 &&
           blocks > 0 && blocks <= 0x7fffffff && config->gridDimY <= 65535 &&
           config->gridDimZ <= 65535;
}

static bool is_cooperative(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
            config->attrs[i].value.cooperative)
            return true;
    }
    return false;
}

/* Attributes that change what happens, in ways that are not simulated. Those
 * that only hint, and early starts, may be ignored. */
static CUresult check_attributes(const CUlaunchConfig *config)
{
    if (config->numAttrs && !config->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUlaunchAttributeID id = config->attrs[i].id;

        if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
            id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
            id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (id > CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* A cooperative grid must run all at once. */
static CUresult check_fit(const CUlaunchConfig *config)
{
    unsigned threads =
        config->blockDimX * config->blockDimY * config->blockDimZ;
    unsigned blocks = config->gridDimX * config->gridDimY * config->gridDimZ;

    return blocks > MULTIPROCESSORS * (2048 / threads) ||
                   blocks > mgds_gpu.cfg.resident
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
}

static CUresult check_config(const CUlaunchConfig *config,
                             const struct mgds_gpu_function *function)
{
    unsigned shared = function->dynamic_shared > (int)SHARED_PLAIN
                          ? (unsigned)function->dynamic_shared
                          : SHARED_PLAIN;

    CUresult rc = check_attributes(config);

    if (!dims_are_good(config) || config->sharedMemBytes > shared)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc != CUDA_SUCCESS)
        return rc;
    return is_cooperative(config) ? check_fit(config) : CUDA_SUCCESS;
}

CUresult mgds_kernel_op(struct mgds_gpu_ctx *ctx, const CUlaunchConfig *config,
                        CUfunction handle, void **params, void **extra,
                        struct mgds_gpu_op **out)
{
    struct mgds_gpu_function *function;
    const char *buffer = buffer_of(extra);
    CUresult rc = mgds_function_find(handle, &function);
    struct mgds_gpu_op *op;
    char packed[4096 + PARAMS_MAX * PARAM_ALIGN];
    size_t size;

    if (rc == CUDA_SUCCESS && !mgds_function_is_of(function, ctx))
        rc = CUDA_ERROR_INVALID_HANDLE;
    if (rc == CUDA_SUCCESS)
        rc = check_config(config, function);
    if (rc == CUDA_SUCCESS)
        rc = pack(function->kernel, params, buffer, NULL, &size);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (size > sizeof(packed))
        return CUDA_ERROR_INVALID_VALUE;
    pack(function->kernel, params, buffer, packed, &size);
    op = mgds_op_new(MGDS_OP_KERNEL, ctx, packed, size);
    op->u.kernel = (struct mgds_op_kernel){
        function,
        {config->gridDimX, config->gridDimY, config->gridDimZ},
        {config->blockDimX, config->blockDimY, config->blockDimZ},
        config->sharedMemBytes};
    mgds_function_get(function);
    *out = op;
    return CUDA_SUCCESS;
}

static _Thread_local uint64_t launches;

uint64_t mgds_sim_own_launches(void)
{
    return launches;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction function,
                       void **params, void **extra)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_op *op;
    CUresult rc;

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    rc = mgds_stream_find(config->hStream, &stream);
    if (rc == CUDA_SUCCESS)
        rc = mgds_kernel_op(stream->ctx, config, function, params, extra, &op);
    if (rc == CUDA_SUCCESS)
        rc = mgds_stream_submit(stream, op);
    if (rc == CUDA_SUCCESS)
        launches++;
    return rc;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **params, void **extra)
{
    MGDS_API(call, MGDS_NEED_INIT, launch(config, function, params, extra));
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void **params, void **extra)
{
    CUlaunchConfig config = {grid_x,  grid_y, grid_z, block_x, block_y,
                             block_z, shared, stream, NULL,    0};

    return cuLaunchKernelEx(&config, function, params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared,
                                   CUstream stream, void **params)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                   .value = {.cooperative = 1}};
    CUlaunchConfig config = {grid_x,  grid_y, grid_z, block_x,    block_y,
                             block_z, shared, stream, &attribute, 1};

    return cuLaunchKernelEx(&config, function, params, NULL);
}
