/*
 * No CPU works between the steps of two GPUs: once both sides have matched,
 * each thread of both processes is held (keeper.h), the callers in their sleep.
 * Then what the streams wait for happens, and kernel, messages and kernel go
 * by. So that this can fail, messages that a CPU must carry do not.
 *
 * held [OPTIONS] [CASE..]; the cases that staged_ begins are for runs without
 * rings: --split, or MPIX_GDS_EAGER=0 MPIX_GDS_PULL=0.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "tests/enq/enq.h"
#include "tests/enq/keeper.h"

enum {
    RANKS = 2,
    MESSAGES = 2, /* each way */
    MOST = 300001,
    WARM = 50, /* laps, at most, until all go the way they should */
    STATUS_SKIPPED = 77
};

/* How long held processes are given for what must come, and for what must not;
 * the second one decides only what the test may overlook. */
#define PATIENCE_NS 20000000000u
#define WHILE_NS 200000000u

/* Words that streams wait for and write, lap by lap, and what the kernel behind
 * the messages saw: memory of both ranks and of the keeper. */
struct sheet {
    uint32_t gate[RANKS], began[RANKS], done[RANKS];
    unsigned expected[RANKS][MESSAGES]; /* the number of each message */
    size_t bytes[MESSAGES];
    uint32_t lap;
    pid_t process[RANKS];
    uint32_t asleep[RANKS];
    uint32_t over; /* the keeper has let go of all */
    unsigned char seen[RANKS][MESSAGES][MOST];
};

/* Another thread of the program, whose sleep has a timeout. */
struct bystander {
    pthread_t thread;
    int wait, tell; /* ends of a pipe */
};

struct held {
    struct bystander bystander;
    struct enq_lane lane;
    struct enq_buffer in[MESSAGES], out[MESSAGES], source[MESSAGES];
    MPI_Request request[2 * MESSAGES];
    struct sheet *sheet;
    const struct kind *kind;
    uint32_t lap;
};

/* put: enqueues the calls of a lap. echo: rank 1 sends back what it got. The
 * messages are this long; by a ring go, of them, so many each way. */
struct kind {
    void (*put)(struct held *h);
    size_t bytes[MESSAGES];
    int by_ring, by_pull;
    bool echo;
};

static uint32_t look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Asleep as keeper.h demands; the words are shared by processes. */
static void sleep_until(uint32_t *word)
{
    while (look(word) == 0)
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET, 0, NULL, NULL,
                FUTEX_BITSET_MATCH_ANY);
}

static void wake(uint32_t *word)
{
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, RANKS, NULL, NULL, 0);
}

/* The keeper, a process of its own. */

/* Nothing but the words tells what streams have done. */
static bool came(uint32_t *const words, uint32_t lap, uint64_t patience)
{
    uint64_t begin = mgds_clock_ns();

    while (look(&words[0]) != lap || look(&words[1]) != lap) {
        if (mgds_clock_ns() - begin > patience)
            return false;
        sched_yield();
    }
    return true;
}

static void messages_are_right(const struct sheet *sheet)
{
    for (int r = 0; r < RANKS; r++)
        for (int m = 0; m < MESSAGES; m++)
            for (size_t i = 0; i < sheet->bytes[m]; i++)
                CHECK(sheet->seen[r][m][i] ==
                      enq_byte(sheet->expected[r][m], i));
}

static void all_are_held(const struct keeper *keeper, const struct sheet *sheet)
{
    for (int r = 0; r < RANKS; r++) {
        CHECK(keeper_held(keeper, sheet->process[r], NULL) >= 3);
        CHECK(keeper_held(keeper, sheet->process[r], "mpix-gds-wire") == 1);
        CHECK(keeper_held(keeper, sheet->process[r], "bystander") == 1);
    }
}

/* What happens while no thread can run. */
static void watch(const struct keeper *keeper, struct sheet *sheet,
                  bool completes)
{
    all_are_held(keeper, sheet);
    for (int r = 0; r < RANKS; r++)
        CHECK(look(&sheet->began[r]) != sheet->lap);
    for (int r = 0; r < RANKS; r++)
        __atomic_store_n(&sheet->gate[r], sheet->lap, __ATOMIC_RELEASE);
    CHECK(came(sheet->began, sheet->lap, PATIENCE_NS));
    if (completes) {
        CHECK(came(sheet->done, sheet->lap, PATIENCE_NS));
        messages_are_right(sheet);
    } else {
        CHECK(!came(sheet->done, sheet->lap, WHILE_NS));
        for (int r = 0; r < RANKS; r++)
            CHECK(look(&sheet->done[r]) != sheet->lap);
    }
    all_are_held(keeper, sheet);
}

static void hold(struct keeper *keeper, pid_t process)
{
    int rc = keeper_hold(keeper, process);

    if (rc < 0)
        fprintf(stderr, "keeper: cannot hold process %d: %s\n", process,
                strerror(-rc));
    CHECK(rc == 0);
}

static void keep(struct sheet *sheet, bool completes)
{
    static struct keeper keeper;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int r = 0; r < RANKS; r++)
        sleep_until(&sheet->asleep[r]);
    for (int r = 0; r < RANKS; r++)
        hold(&keeper, sheet->process[r]);
    watch(&keeper, sheet, completes);
    keeper_release(&keeper);
    wake(&sheet->over);
    _exit(0);
}

/* The ranks. */

static void *stand_by(void *arg)
{
    const struct bystander *b = arg;
    struct pollfd pipe = {.fd = b->wait, .events = POLLIN};

    pthread_setname_np(pthread_self(), "bystander");
    while (poll(&pipe, 1, 60000) <= 0)
        ;
    return NULL;
}

static void bystander_start(struct bystander *b)
{
    int ends[2];

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    b->wait = ends[0];
    b->tell = ends[1];
    CHECK(pthread_create(&b->thread, NULL, stand_by, b) == 0);
}

static void bystander_end(struct bystander *b)
{
    CHECK(write(b->tell, "", 1) == 1);
    CHECK(pthread_join(b->thread, NULL) == 0);
    CHECK(close(b->wait) == 0 && close(b->tell) == 0);
}

static uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

/* Rank 0's memory, which rank 1 opens by what it is called in /proc. */
static void sheet_open(struct held *h)
{
    int fd = enq.rank == 0 ? memfd_create("held", MFD_CLOEXEC) : -1;
    int place[] = {getpid(), fd};
    char path[64];

    ENQ_OK(MPI_Bcast(place, 2, MPI_INT, 0, MPI_COMM_WORLD));
    if (enq.rank == 0) {
        CHECK(ftruncate(fd, sizeof(*h->sheet)) == 0);
    } else {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", place[0], place[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    CHECK(fd >= 0);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    h->sheet = mmap(NULL, sizeof(*h->sheet), PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd, 0);
    CHECK(h->sheet != MAP_FAILED);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(close(fd) == 0);
    MGDS_CU(cuMemHostRegister(h->sheet, sizeof(*h->sheet), 0));
    h->sheet->process[enq.rank] = getpid();
}

static void held_open(struct held *h, const struct kind *kind)
{
    *h = (struct held){.kind = kind};
    bystander_start(&h->bystander);
    enq_lane_open(&h->lane);
    sheet_open(h);
    for (int m = 0; m < MESSAGES; m++) {
        enq_buffer_open(&h->in[m], kind->bytes[m]);
        enq_buffer_open(&h->out[m], kind->bytes[m]);
        enq_buffer_open(&h->source[m], kind->bytes[m]);
        h->sheet->bytes[m] = kind->bytes[m];
    }
}

static void held_close(struct held *h)
{
    enq_lane_close(&h->lane);
    for (int m = 0; m < MESSAGES; m++) {
        enq_buffer_close(&h->in[m]);
        enq_buffer_close(&h->out[m]);
        enq_buffer_close(&h->source[m]);
    }
    MGDS_CU(cuMemHostUnregister(h->sheet));
    CHECK(munmap(h->sheet, sizeof(*h->sheet)) == 0);
    bystander_end(&h->bystander);
}

static unsigned message(const struct held *h, int rank, int m)
{
    return 1 + h->lap * RANKS * MESSAGES + (unsigned)(rank * MESSAGES + m);
}

/* What is sent, and what is to come: of an echo rank 0's own. */
static void fill(struct held *h)
{
    int from = h->kind->echo ? 0 : 1 - enq.rank;

    h->lap++;
    h->sheet->lap = h->lap;
    h->sheet->over = 0;
    h->sheet->asleep[enq.rank] = 0;
    for (int m = 0; m < MESSAGES; m++) {
        enq_fill(&h->source[m], message(h, enq.rank, m));
        enq_wipe(&h->out[m]);
        enq_wipe(&h->in[m]);
        h->sheet->expected[enq.rank][m] = message(h, from, m);
    }
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The kernel ahead of the messages writes them, the one behind reads them. */
static void enqueue(struct held *h)
{
    struct sheet *sheet = h->sheet;
    int r = enq.rank;

    MGDS_CU(cuStreamWaitValue32(h->lane.cu, address(&sheet->gate[r]), h->lap,
                                CU_STREAM_WAIT_VALUE_GEQ));
    for (int m = 0; m < MESSAGES; m++)
        enq_kernel_copy(h->lane.cu, &h->out[m], &h->source[m]);
    MGDS_CU(
        cuStreamWriteValue32(h->lane.cu, address(&sheet->began[r]), h->lap, 0));
    h->kind->put(h);
    for (int m = 0; m < MESSAGES; m++)
        MGDS_CU(cuMemcpyAsync(address(sheet->seen[r][m]), address(h->in[m].at),
                              h->in[m].bytes, h->lane.cu));
    MGDS_CU(
        cuStreamWriteValue32(h->lane.cu, address(&sheet->done[r]), h->lap, 0));
}

/* A message of the host that comes behind all others on this communicator:
 * those are matched when it is there. */
static void await_match(const struct enq_lane *lane)
{
    enum { LAST = 99 };
    char byte = 0;

    if (enq.rank == 1)
        ENQ_OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, LAST, lane->comm,
                        MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Send(&byte, 1, MPI_BYTE, 1 - enq.rank, LAST, lane->comm));
    if (enq.rank == 0)
        ENQ_OK(MPI_Recv(&byte, 1, MPI_BYTE, 1, LAST, lane->comm,
                        MPI_STATUS_IGNORE));
}

static void expect(struct held *h)
{
    enq_sync(&h->lane);
    for (int m = 0; m < MESSAGES; m++)
        enq_expect(&h->in[m], h->in[m].bytes, h->sheet->expected[enq.rank][m]);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    messages_are_right(h->sheet);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A lap whose preceding kernels go at once; whether all messages went, in both
 * ranks, the way that the kind is for. */
static bool run_free(struct held *h)
{
    int64_t rings = enq_counter("ring_sends"),
            pulls = enq_counter("pull_sends");
    int good;

    fill(h);
    __atomic_store_n(&h->sheet->gate[enq.rank], h->lap, __ATOMIC_RELEASE);
    enqueue(h);
    await_match(&h->lane);
    expect(h);
    good = enq_counter("ring_sends") - rings == h->kind->by_ring &&
           enq_counter("pull_sends") - pulls == h->kind->by_pull;
    ENQ_OK(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN,
                         MPI_COMM_WORLD));
    return good;
}

static pid_t start_keeper(struct held *h, bool completes)
{
    pid_t child = enq.rank == 0 ? fork() : -1;

    if (child == 0)
        keep(h->sheet, completes);
    CHECK(enq.rank != 0 || child > 0);
    return child;
}

/* Asleep as keeper.h demands. Rank 0 learns of a keeper that fails, too. */
static void await_keeper(const struct held *h, pid_t child)
{
    int status;

    if (enq.rank == 0)
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    else
        sleep_until(&h->sheet->over);
}

static void run_held(struct held *h, bool completes)
{
    int64_t rings = enq_counter("ring_sends"),
            pulls = enq_counter("pull_sends");
    pid_t child;

    fill(h);
    child = start_keeper(h, completes);
    enqueue(h);
    await_match(&h->lane);
    CHECK(enq_counter("ring_sends") - rings == h->kind->by_ring);
    CHECK(enq_counter("pull_sends") - pulls == h->kind->by_pull);
    wake(&h->sheet->asleep[enq.rank]);
    await_keeper(h, child);
    expect(h);
}

static void run(const struct kind *kind)
{
    static struct held h;
    bool completes = kind->by_ring + kind->by_pull > 0;
    int laps = 0;

    held_open(&h, kind);
    while (!run_free(&h))
        CHECK(++laps < WARM);
    run_held(&h, completes);
    if (completes)
        run_held(&h, completes);
    held_close(&h);
}

/* The calls. */

static void start(struct held *h)
{
    for (int m = 0; m < MESSAGES; m++) {
        enq_irecv(&h->lane, &h->in[m], 1 - enq.rank, m, &h->request[m]);
        enq_isend(&h->lane, &h->out[m], 1 - enq.rank, m,
                  &h->request[MESSAGES + m]);
    }
}

static void exchange(struct held *h)
{
    start(h);
    enq_waitall(2 * MESSAGES, h->request);
}

static void exchange_grouped(struct held *h)
{
    ENQ_OK(MPIX_Stream_group_start(h->lane.stream));
    exchange(h);
    ENQ_OK(MPIX_Stream_group_end(h->lane.stream));
}

static void exchange_persistent(struct held *h)
{
    MPI_Request *request = h->request;

    for (int m = 0; m < MESSAGES; m++) {
        ENQ_OK(MPI_Recv_init(h->in[m].at, (int)h->in[m].bytes, MPI_BYTE,
                             1 - enq.rank, m, h->lane.comm, &request[m]));
        ENQ_OK(MPI_Send_init(h->out[m].at, (int)h->out[m].bytes, MPI_BYTE,
                             1 - enq.rank, m, h->lane.comm,
                             &request[MESSAGES + m]));
    }
    ENQ_OK(MPIX_Startall_enqueue(2 * MESSAGES, request));
    ENQ_OK(MPIX_Waitall_enqueue(2 * MESSAGES, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * MESSAGES; i++)
        ENQ_OK(MPI_Request_free(&request[i]));
}

/* To and fro, each message when the one before it has come: four steps. */
static void echo(struct held *h)
{
    int other = 1 - enq.rank;

    for (int m = 0; m < MESSAGES; m++) {
        if (enq.rank == 0)
            enq_send(&h->lane, &h->out[m], other, m);
        enq_recv(&h->lane, &h->in[m], other, m, MPI_STATUS_IGNORE);
        if (enq.rank == 0)
            continue;
        enq_kernel_copy(h->lane.cu, &h->out[m], &h->in[m]);
        enq_send(&h->lane, &h->out[m], other, m);
    }
}

static void eager(void)
{
    run(&(struct kind){exchange, {2000, 70001}, 2, 0, false});
}

static void rget(void)
{
    run(&(struct kind){exchange, {MOST, MOST - 1}, 0, 2, false});
}

static void blocking(void)
{
    run(&(struct kind){echo, {2000, MOST}, 1, 1, true});
}

static void group(void)
{
    run(&(struct kind){exchange_grouped, {2000, MOST}, 1, 1, false});
}

static void persistent(void)
{
    run(&(struct kind){exchange_persistent, {2000, MOST}, 1, 1, false});
}

static void staged(void)
{
    run(&(struct kind){exchange, {2000, MOST}, 0, 0, false});
}

static void staged_group(void)
{
    run(&(struct kind){exchange_grouped, {2000, MOST}, 0, 0, false});
}

static void staged_persistent(void)
{
    run(&(struct kind){exchange_persistent, {2000, MOST}, 0, 0, false});
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"eager", RANKS, eager},
        {"rget", RANKS, rget},
        {"blocking", RANKS, blocking},
        {"group", RANKS, group},
        {"persistent", RANKS, persistent},
        {"staged", RANKS, staged},
        {"staged_group", RANKS, staged_group},
        {"staged_persistent", RANKS, staged_persistent},
        {0},
    };
    int refused = keeper_refused();

    if (refused) {
        printf("skipped: ptrace is refused here: %s\n", strerror(refused));
        return STATUS_SKIPPED;
    }
    return enq_main(argc, argv, "enq held", cases);
}
