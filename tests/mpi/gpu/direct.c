/*
 * Messages that go by header (MPIX_GDS_DIRECT), among others that do not: every
 * way to send, to find, to receive and to complete one, into every kind of
 * memory, more and less than was sent. All ranks take the same rows of a
 * covering array, or draw the same plans from one seed:
 *
 *   direct rows STRENGTH [OPTION ..]
 *   direct SEED LAPS [OPTION ..]
 *
 *   multiple   several threads may call MPI
 *   threads    and two do: who sends and receives does both at once
 *   far        every other rank is on another host
 *   swapped    every other rank has its GPUs in another order
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/gpu/direct_message.h"

enum { BARRIER = 8, SECONDS = 60 };

static MPI_Comm comms[COMMS];
static int ranks[COMMS][16]; /* of those of MPI_COMM_WORLD */
static char attached[2 * BARRIER * MOST * (LONGEST + 1000)];
static bool two_threads;
static const char *lap_is = "lap";
static char where[64];
static size_t where_bytes;

struct work {
    const struct batch *batch;
    bool sends, receives;
    CUcontext context;
    struct direct_end out[MOST], in[MOST];
};

static void end_init(struct direct_end *end, const struct batch *batch, int i,
                     int peer, int sender)
{
    const struct plan *plan = &batch->plan[i];

    *end = (struct direct_end){.plan = plan,
                               .comm = comms[batch->comm],
                               .peer = ranks[batch->comm][peer],
                               .seed = plan->seed + sender,
                               .request = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
}

static void make(struct work *work, const struct batch *batch)
{
    bool from = gpu_rank == batch->from, to = gpu_rank == batch->to;
    int peer = from ? batch->to : batch->from;

    work->batch = batch;
    work->sends = from || (to && batch->both_ways);
    work->receives = to || (from && batch->both_ways);
    for (int i = 0; i < batch->count; i++) {
        end_init(&work->out[i], batch, i, peer, gpu_rank);
        end_init(&work->in[i], batch, i, peer, peer);
        if (work->sends)
            direct_send_make(&work->out[i]);
        if (work->receives)
            direct_recv_make(&work->in[i]);
    }
}

/* Other data in each lap. */
static void fill(struct work *work)
{
    for (int i = 0; i < work->batch->count; i++) {
        work->out[i].seed++;
        work->in[i].seed++;
        if (work->sends)
            direct_send_fill(&work->out[i]);
        if (work->receives)
            direct_recv_clear(&work->in[i]);
    }
}

static void post(struct work *work)
{
    for (int i = 0; i < work->batch->count && work->receives; i++)
        direct_recv_post(&work->in[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void start_sends(struct work *work)
{
    for (int i = 0; i < work->batch->count && work->sends; i++)
        direct_send_start(&work->out[i]);
}

static void complete_sends(struct work *work)
{
    for (int i = 0; i < work->batch->count && work->sends; i++)
        direct_send_complete(&work->out[i]);
}

/* First come, first served for a tag. */
static void receive(struct work *work)
{
    const struct batch *batch = work->batch;

    for (int i = 0; i < batch->count && work->receives; i++) {
        if (!batch->posted_first)
            direct_recv_start(&work->in[i]);
        if (!batch->backwards)
            direct_recv_complete(&work->in[i]);
    }
    for (int i = batch->count; i > 0 && work->receives && batch->backwards; i--)
        direct_recv_complete(&work->in[i - 1]);
}

static void *send_in_thread(void *arg)
{
    struct work *work = arg;

    MGDS_CU(cuCtxSetCurrent(work->context));
    start_sends(work);
    complete_sends(work);
    return NULL;
}

static void exchange_in_threads(struct work *work)
{
    pthread_t thread;

    MGDS_CU(cuCtxGetCurrent(&work->context));
    CHECK(pthread_create(&thread, NULL, send_in_thread, work) == 0);
    receive(work);
    pthread_join(thread, NULL);
}

static void exchange(struct work *work)
{
    if (plan_is_joined(work->batch)) {
        for (int i = 0; i < work->batch->count && work->sends; i++)
            direct_exchange(&work->out[i], &work->in[i]);
        return;
    }
    if (two_threads && work->sends && work->receives) {
        exchange_in_threads(work);
        return;
    }
    start_sends(work);
    receive(work);
    complete_sends(work);
}

static void check(struct work *work)
{
    for (int i = 0; i < work->batch->count; i++) {
        if (work->sends)
            direct_send_check(&work->out[i]);
        if (work->receives)
            direct_recv_check(&work->in[i]);
    }
}

static void end(struct work *work)
{
    for (int i = 0; i < work->batch->count; i++) {
        if (work->sends)
            direct_end_free(&work->out[i]);
        if (work->receives)
            direct_end_free(&work->in[i]);
    }
}

/* A message to oneself is sent by the same thread: it may not block ahead of
 * its receive. */
static bool may_run(const struct batch *batch)
{
    if (batch->from != batch->to || batch->posted_first ||
        plan_is_joined(batch))
        return true;
    for (int i = 0; i < batch->count; i++)
        if (!plan_has_request(batch->plan[i].send))
            return false;
    return true;
}

static void run(const struct batch *batch, int lap)
{
    static int runs;
    struct work work;

    where_bytes = (size_t)snprintf(where, sizeof(where), "rank %d: %s %d\n",
                                   gpu_rank, lap_is, lap);
    alarm(SECONDS);
    if (runs++ % BARRIER == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (!may_run(batch))
        return;
    make(&work, batch);
    for (int i = 0; i < batch->laps; i++) {
        fill(&work);
        if (batch->posted_first)
            post(&work);
        exchange(&work);
        check(&work);
    }
    end(&work);
}

/* Pairs have shown each other that they map memory of each GPU: from here on
 * headers are sent. */
static void meet(void)
{
    struct batch batch = {.count = 1, .both_ways = true, .laps = 1};
    struct plan *plan = &batch.plan[0];

    *plan = (struct plan){.send = ISEND,
                          .recv = IRECV,
                          .out_kind = MGDS_TEST_DEVICE,
                          .in_kind = MGDS_TEST_DEVICE,
                          .sent = LONGEST,
                          .posted = LONGEST};
    for (batch.from = 0; batch.from < gpu_size; batch.from++)
        for (batch.to = 0; batch.to < batch.from; batch.to++)
            for (int i = 0; i < 4; i++) {
                plan->out_device = plan->in_device = i % 2;
                run(&batch, 0);
            }
}

static void run_rows(int strength)
{
    struct batch batch;

    lap_is = "line of direct_rows.inc";
    meet();
    for (int row = 0; row < plan_rows(); row++)
        if (plan_strength(row) <= strength) {
            plan_take(&batch, row);
            run(&batch, row + 1);
        }
}

static void run_draws(const char *seed, int laps)
{
    struct batch batch;

    plan_seed(strtoull(seed, NULL, 10));
    for (int lap = 0; lap < laps; lap++) {
        plan_draw(&batch, lap);
        run(&batch, lap);
    }
}

/* The same ranks, and the same backwards. */
static void make_comms(void)
{
    comms[WORLD] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[DUPLICATE]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -gpu_rank, &comms[REVERSED]);
    CHECK(gpu_size <= 16);
    for (int i = 0; i < COMMS; i++) {
        int mine;

        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
        MPI_Comm_rank(comms[i], &mine);
        MPI_Allgather(&mine, 1, MPI_INT, ranks[i], 1, MPI_INT, MPI_COMM_WORLD);
    }
}

/* Where it stopped, or did not hold. */
static void say_where(int number)
{
    ssize_t ignored = write(STDERR_FILENO, where, where_bytes);

    (void)number;
    (void)ignored;
    _exit(1);
}

static void init(int *argc, char ***argv)
{
    const char *rank = getenv("PMI_RANK");
    bool odd = rank && rank[0] % 2;
    int level = MPI_THREAD_SINGLE;

    CHECK(*argc >= 3);
    for (int i = 3; i < *argc; i++) {
        if (!strcmp((*argv)[i], "far"))
            CHECK(!setenv("MPIX_SIM_HOST", odd ? "b" : "a", 1));
        if (!strcmp((*argv)[i], "swapped") && odd)
            CHECK(!setenv("CUDA_VISIBLE_DEVICES", "1,0", 1));
        two_threads |= !strcmp((*argv)[i], "threads");
        if (two_threads || !strcmp((*argv)[i], "multiple"))
            level = MPI_THREAD_MULTIPLE;
    }
    gpu_begin_at(argc, argv, level);
    signal(SIGALRM, say_where);
    signal(SIGABRT, say_where);
}

int main(int argc, char **argv)
{
    init(&argc, &argv);
    make_comms();
    MPI_Buffer_attach(attached, sizeof(attached));
    if (!strcmp(argv[1], "rows"))
        run_rows((int)strtol(argv[2], NULL, 10));
    else
        run_draws(argv[1], (int)strtol(argv[2], NULL, 10));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    MPI_Comm_free(&comms[DUPLICATE]);
    MPI_Comm_free(&comms[REVERSED]);
    gpu_end("direct");
    return 0;
}
