/* Memory of a GPU that another process copies, as that of a real one: what a
 * QP can do with it, and that no call of CUDA stops the wire. Runs on the
 * software GPU (MPIX_SIM_HCA_GPU_PROCESS) and on a real one. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cuda/hooks.h"
#include "tests/hca/front/gpu_pair.h"

enum { BYTES = 5000, LAPS = 20 };

#pragma weak mgds_sim_calls

static void another_process_copies(void **state)
{
    struct gpu_pair pair;

    (void)state;
    gpu_pair_open(&pair);
    for (int lap = 0; lap < LAPS; lap++)
        gpu_exercise(&pair, pair.at, pair.mr, pair.at);
    gpu_exercise_part(&pair);
    gpu_pair_close(&pair);
}

static void receives_are_copied(void **state)
{
    struct gpu_pair pair;

    (void)state;
    gpu_pair_open(&pair);
    gpu_exercise_receives(&pair, LAPS);
    gpu_pair_close(&pair);
}

/* A thread that stands in a call of CUDA. */
struct stander {
    pthread_t thread;
    struct gpu_pair *pair;
    CUcontext ctx;
    CUdeviceptr victim;
    atomic_bool in, out;
};

static void *stand_in_free(void *arg)
{
    struct stander *it = arg;

    cuCtxSetCurrent(it->ctx);
    it->in = true;
    cuMemFree_v2(it->victim);
    it->out = true;
    return NULL;
}

static void *stand_in_registration(void *arg)
{
    struct stander *it = arg;
    struct ibv_mr *mr;

    cuCtxSetCurrent(it->ctx);
    it->in = true;
    mr = gpu_register(it->pair->verbs.b.pd, it->pair->at, GPU_BYTES);
    it->out = true;
    return mr;
}

/* Waits until the thread has begun; on the software GPU, until it is in its
 * call. */
static void start(struct stander *it, void *(*body)(void *arg))
{
    uint64_t before;

    /* no call of this thread, which would wait as well */
    before = mgds_sim_calls ? mgds_sim_calls() : 0;
    assert_int_equal(pthread_create(&it->thread, NULL, body, it), 0);
    while (!it->in || (mgds_sim_calls && mgds_sim_calls() < before + 2))
        sched_yield();
}

static void register_again(struct verbs_side *side)
{
    struct ibv_mr *mr = ibv_reg_mr(side->pd, side->memory, PAIR_MEMORY, 0);

    assert_non_null(mr);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* A stream waits for a word of the host, cuMemFree for the stream, and a
 * registration for cuMemFree: data goes to the GPU and comes back, and memory
 * of the host is registered. */
static void no_call_of_cuda_stops_the_wire(void **state)
{
    struct gpu_pair pair;
    struct verbs_side *a = &pair.verbs.a;
    struct stander frees = {.pair = &pair}, registers = {.pair = &pair};
    CUstream stream;
    uint32_t *word;
    void *mr;

    (void)state;
    gpu_pair_open(&pair);
    frees.victim = gpu_zeroed(4096);
    CU(cuCtxGetCurrent(&frees.ctx));
    registers.ctx = frees.ctx;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemHostAlloc((void **)&word, 4096, 0));
    *word = 0;
    CU(cuStreamWaitValue32_v2(stream, (uintptr_t)word, 1,
                              CU_STREAM_WAIT_VALUE_EQ));
    start(&frees, stand_in_free);
    start(&registers, stand_in_registration);
    for (int lap = 0; lap < LAPS; lap++) {
        memset(a->memory, lap + 1, BYTES);
        gpu_post(a, IBV_WR_RDMA_WRITE, verbs_sge(a, 0, BYTES), pair.at,
                 pair.mr->rkey);
        gpu_post(a, IBV_WR_RDMA_READ, verbs_sge(a, 8192, BYTES), pair.at,
                 pair.mr->rkey);
        assert_int_equal(gpu_wait(a), IBV_WC_SUCCESS);
        assert_int_equal(gpu_wait(a), IBV_WC_SUCCESS);
        assert_memory_equal(a->memory + 8192, a->memory, BYTES);
        register_again(a);
    }
    assert_false(frees.out);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(frees.thread, NULL), 0);
    assert_int_equal(pthread_join(registers.thread, &mr), 0);
    assert_non_null(mr);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    gpu_expect(pair.at, a->memory, BYTES);
    CU(cuMemFreeHost(word));
    CU(cuStreamDestroy_v2(stream));
    gpu_pair_close(&pair);
}

/* A program whose memory is copied, and a child of it that knows nothing of
 * that: until the other end of `stay` is closed. */
static void be_program(int tell, int stay)
{
    struct gpu_pair pair;
    char nothing;
    pid_t child;

    gpu_pair_open(&pair);
    gpu_exercise(&pair, pair.at, pair.mr, pair.at);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(read(stay, &nothing, 1) != 0);
    assert_int_equal(write(tell, &child, sizeof(child)), sizeof(child));
    pause();
}

/* The program is killed: who copies for it ends, and then its child. Both are
 * this process's children then. */
static void who_copies_ends_with_the_program(void **state)
{
    int told[2], stay[2], status;
    pid_t program, child;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(told) | pipe(stay), 0);
    program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(stay[1]);
        be_program(told[1], stay[0]);
    }
    assert_int_equal(read(told[0], &child, sizeof(child)), sizeof(child));
    assert_int_equal(kill(program, SIGKILL), 0);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_int_not_equal(waitpid(-1, &status, 0), child);
    assert_int_equal(status, 0);
    close(stay[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    /* The first one, while there is no driver in this process. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_copies_ends_with_the_program),
        cmocka_unit_test(another_process_copies),
        cmocka_unit_test(receives_are_copied),
        cmocka_unit_test(no_call_of_cuda_stops_the_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
