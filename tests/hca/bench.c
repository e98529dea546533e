/* How fast the software ConnectX is, with data that is looked at. Not a test:
 * it prints, and fails only if something arrived that should not have.
 *
 *   hca_bench [LAPS]
 *
 *   one process     8-byte WRITE, from the doorbell to its CQE: the engine in a
 *                   thread of its own, or run by who polls; and a window of
 * them two processes   each runs its engine where it polls: ping-pong of WRITEs
 *                   into memory that the other side polls, and a window of
 *                   WRITEs; beside a ping-pong of plain stores */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/abi_wqe.h"
#include "sim/hca/cq.h"
#include "sim/hca/doorbell.h"
#include "sim/hca/engine.h"
#include "sim/hca/key.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/port.h"
#include "tests/hca/bench_write.h"

enum {
    BLOCKS = 256,
    ENTRIES = 512,
    WINDOW = 64,
    RUNS = 20,
    LAPS = 20000,
    WORDS = 4096,
    PD = 1,
    PSN = 1000,
    TIMEOUT = 20,
    PLACES = 2
};

/* One device with two QPs; a program that posts and polls. */
struct side {
    struct mgds_hca *hca;
    struct mgds_hca_port *port;
    struct mgds_hca_uar *uar[PLACES];
    struct mgds_hca_cq *cq[PLACES];
    struct mgds_hca_qp *qp[PLACES];
    uint8_t *page[PLACES];
    struct mgds_cqe *entry[PLACES];
    uint8_t *ring[PLACES];
    struct mgds_be32 *record[PLACES]; /* of the CQ, then of the QP */
    uint64_t *memory;
    uint32_t key;
    uint16_t posted;
    uint32_t consumed;
};

static char folder[64];

static void check(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "hca_bench: %s: %s\n", what, strerror(-rc));
    exit(1);
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    check(at == MAP_FAILED ? -1 : 0, "memory");
    return at;
}

static void open_device(struct side *side)
{
    struct mgds_hca_port_attr attr = {.folder = folder};
    struct mgds_hca_config config = {.capabilities = MGDS_HCA_CAN_BASE,
                                     .late_record = UINT64_MAX};

    check(mgds_hca_port_create(&side->port, &attr), "port");
    config.wire = mgds_hca_port_wire(side->port);
    check(mgds_hca_create(&side->hca, &config), "device");
    mgds_hca_port_bind(side->port, side->hca);
}

static void open_queues(struct side *side, int i)
{
    struct mgds_hca_cq_attr cq = {.entries = ENTRIES,
                                  .entry_bytes = MGDS_CQE_BYTES};
    struct mgds_hca_qp_attr qp = {.send_blocks = BLOCKS, .pd = PD};

    side->page[i] = map(MGDS_UAR_BYTES);
    side->entry[i] = map(ENTRIES * sizeof(struct mgds_cqe));
    side->ring[i] = map((size_t)BLOCKS * MGDS_WQE_BLOCK);
    side->record[i] = map(MGDS_UAR_BYTES);
    for (int n = 0; n < ENTRIES; n++)
        side->entry[i][n].op_own = MGDS_CQE_UNUSED;
    check(mgds_hca_uar_attach(side->hca, side->page[i], &side->uar[i]), "UAR");
    cq.buffer = side->entry[i];
    cq.record = side->record[i];
    check(mgds_hca_cq_attach(side->hca, &cq, &side->cq[i]), "CQ");
    qp.send_buffer = side->ring[i];
    qp.record = side->record[i] + 16;
    qp.send_cq = qp.receive_cq = side->cq[i];
    qp.uar = side->uar[i];
    check(mgds_hca_qp_attach(side->hca, &qp, &side->qp[i]), "QP");
}

static void open_side(struct side *side, uint64_t *words)
{
    struct mgds_hca_memory memory = {.bytes = WORDS * sizeof(uint64_t),
                                     .pd = PD,
                                     .access = MGDS_HCA_LOCAL_WRITE |
                                               MGDS_HCA_REMOTE_WRITE};

    *side = (struct side){.posted = 0};
    open_device(side);
    for (int i = 0; i < PLACES; i++)
        open_queues(side, i);
    side->memory = words;
    memory.at = side->memory;
    memory.address = 0;
    check(mgds_hca_key_attach(side->hca, &memory, &side->key), "key");
}

static void connect_qp(struct mgds_hca_qp *qp, uint16_t lid, uint32_t peer)
{
    struct mgds_hca_change change = {.access = MGDS_HCA_REMOTE_WRITE,
                                     .peer = peer,
                                     .receive_psn = PSN,
                                     .send_psn = PSN,
                                     .timeout = TIMEOUT,
                                     .retries = MGDS_HCA_RETRIES,
                                     .rnr_retry = MGDS_HCA_RNR_FOREVER,
                                     .reads = 1};

    change.address.lid = lid;
    for (change.state = MGDS_STATE_INIT; change.state <= MGDS_STATE_RTS;
         change.state++)
        check(mgds_hca_qp_modify(qp, &change), "modify");
}

static void close_side(struct side *side)
{
    for (int i = 0; i < PLACES; i++) {
        mgds_hca_qp_detach(side->qp[i]);
        mgds_hca_cq_detach(side->cq[i]);
        mgds_hca_uar_detach(side->uar[i]);
    }
    mgds_hca_destroy(side->hca);
    mgds_hca_port_destroy(side->port);
}

/* Word `from` here to word `to` there. */
static void post_write(struct side *side, uint64_t from, uint64_t to,
                       uint32_t rkey)
{
    struct bench_word here = {.address = from * BENCH_WORD, .key = side->key};
    struct bench_word there = {.address = to * BENCH_WORD, .key = rkey};
    struct bench_wqe wqe =
        bench_write(side->qp[0]->number, side->posted, here, there);
    void *block =
        side->ring[0] + (size_t)(side->posted % BLOCKS) * MGDS_WQE_BLOCK;

    bench_ring(block, &wqe, ++side->posted,
               &side->record[0][16 + MGDS_DBREC_SEND].raw,
               (uint64_t *)(void *)(side->page[0] + MGDS_UAR_REGISTER));
}

/* Takes CQEs that are there; how many. */
static unsigned poll_sends(struct side *side)
{
    struct mgds_be32 index;
    unsigned count = 0;

    for (;; count++) {
        const struct mgds_cqe *cqe = &side->entry[0][side->consumed % ENTRIES];
        uint8_t opcode;

        if (!bench_cqe_is_there(cqe, side->consumed & ENTRIES, &opcode))
            break;
        check(opcode == MGDS_CQE_REQUEST ? 0 : -EIO, "a CQE says");
        index = mgds_to_be32(++side->consumed & 0xffffff);
        __atomic_store_n(&side->record[0]->raw, index.raw, __ATOMIC_RELEASE);
    }
    return count;
}

static bool over; /* the thread of the engine ends */

static void *run_engine(void *arg)
{
    const struct side *side = arg;

    while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
        mgds_hca_run(side->hca);
    return NULL;
}

/* Post, wait, `laps` times: nanoseconds each. */
static double time_one(struct side *side, bool inlined, unsigned laps)
{
    double start = bench_now(), spent;

    for (unsigned i = 0; i < laps; i++) {
        side->memory[0] = i + 1;
        post_write(side, 0, 1, side->key);
        while (poll_sends(side) == 0) {
            if (inlined)
                mgds_hca_run(side->hca);
        }
        check(side->memory[1] == i + 1 ? 0 : -EIO, "a word is");
    }
    spent = bench_now() - start;
    return spent / laps;
}

/* A window of them, of which each goes to a word of its own. */
static double time_window(struct side *side, bool inlined, uint32_t rkey,
                          const uint64_t *there, unsigned laps)
{
    double start = bench_now(), spent;
    unsigned done = 0, posted = 0;

    while (done < laps) {
        for (; posted < laps && posted - done < WINDOW; posted++) {
            side->memory[posted % WINDOW] = posted;
            post_write(side, posted % WINDOW, WINDOW + posted % WINDOW, rkey);
        }
        if (inlined)
            mgds_hca_run(side->hca);
        done += poll_sends(side);
    }
    spent = bench_now() - start;
    for (unsigned i = 0; i < WINDOW; i++)
        check(there[WINDOW + i] == side->memory[i] ? 0 : -EIO,
              "a word of the window is");
    return spent / laps;
}

static double best_of(double (*time)(struct side *, bool, unsigned),
                      struct side *side, bool inlined, unsigned laps)
{
    double best = 1e18, one;

    for (int run = 0; run < RUNS; run++) {
        one = time(side, inlined, laps / RUNS);
        best = one < best ? one : best;
    }
    return best;
}

static double time_own_window(struct side *side, bool inlined, unsigned laps)
{
    return time_window(side, inlined, side->key, side->memory, laps);
}

static void bench_one_process(unsigned laps)
{
    struct side side;
    pthread_t thread;
    double spent;

    open_side(&side, map(WORDS * sizeof(uint64_t)));
    connect_qp(side.qp[0], mgds_hca_port_lid(side.port), side.qp[1]->number);
    connect_qp(side.qp[1], mgds_hca_port_lid(side.port), side.qp[0]->number);
    spent = best_of(time_one, &side, true, laps);
    printf("inline: post to CQE %.0f ns\n", spent);
    spent = best_of(time_own_window, &side, true, laps * 10);
    printf("inline: window of %d, %.2f M/s\n", WINDOW, 1e3 / spent);
    over = false;
    check(-pthread_create(&thread, NULL, run_engine, &side), "thread");
    spent = best_of(time_one, &side, false, laps);
    printf("thread: post to CQE %.0f ns\n", spent);
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    close_side(&side);
}

/* What two processes share beside the wire. */
struct shared {
    uint64_t words[2][WORDS]; /* each one's memory: so that it can be checked */
    _Alignas(64) uint64_t ping;
    _Alignas(64) uint64_t pong;
    uint32_t step;
    uint16_t lid[2];
    uint32_t qpn[2];
    uint32_t key[2];
};

static void reach(struct shared *shared, uint32_t step)
{
    __atomic_fetch_add(&shared->step, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&shared->step, __ATOMIC_ACQUIRE) < step)
        sched_yield();
}

static void join(struct side *side, struct shared *shared, int me)
{
    open_side(side, shared->words[me]);
    shared->lid[me] = mgds_hca_port_lid(side->port);
    shared->qpn[me] = side->qp[0]->number;
    shared->key[me] = side->key;
    reach(shared, 2);
    connect_qp(side->qp[0], shared->lid[!me], shared->qpn[!me]);
    reach(shared, 4);
}

/* The engine runs where this polls: until word 1 here is `wanted`. */
static void await_word(struct side *side, uint64_t wanted)
{
    while (__atomic_load_n(&side->memory[1], __ATOMIC_ACQUIRE) != wanted) {
        mgds_hca_run(side->hca);
        poll_sends(side);
    }
}

static void write_word(struct side *side, const struct shared *shared, int me,
                       uint64_t word)
{
    side->memory[0] = word;
    post_write(side, 0, 1, shared->key[!me]);
    mgds_hca_run(side->hca);
}

static void answer_pings(struct shared *shared, unsigned laps)
{
    struct side side;

    join(&side, shared, 1);
    for (unsigned i = 1; i <= laps; i++) {
        await_word(&side, i);
        write_word(&side, shared, 1, i);
    }
    for (;;)
        mgds_hca_run(side.hca);
}

static void answer_plain_pings(struct shared *shared)
{
    uint64_t seen = 0, word;

    for (;;) {
        word = __atomic_load_n(&shared->ping, __ATOMIC_ACQUIRE);
        if (word != seen)
            __atomic_store_n(&shared->pong, seen = word, __ATOMIC_RELEASE);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_median(const char *name, double *lap, unsigned laps)
{
    qsort(lap, laps, sizeof(*lap), compare);
    printf("%s: one way, median %.0f ns, least %.0f ns\n", name,
           lap[laps / 2] / 2, lap[0] / 2);
}

static void ping(struct side *side, struct shared *shared, double *lap,
                 unsigned laps)
{
    for (unsigned i = 1; i <= laps; i++) {
        double start = bench_now();

        write_word(side, shared, 0, i);
        await_word(side, i);
        lap[i - 1] = bench_now() - start;
    }
    print_median("two processes", lap, laps);
}

static void ping_plainly(struct shared *shared, double *lap, unsigned laps)
{
    for (unsigned i = 1; i <= laps; i++) {
        double start = bench_now();

        __atomic_store_n(&shared->ping, i, __ATOMIC_RELEASE);
        while (__atomic_load_n(&shared->pong, __ATOMIC_ACQUIRE) != i)
            ;
        lap[i - 1] = bench_now() - start;
    }
    print_median("plain stores", lap, laps);
}

static pid_t fork_child(void)
{
    pid_t child = fork();

    check(child < 0 ? -1 : 0, "fork");
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void bench_two_processes(unsigned laps)
{
    struct shared *shared = map(sizeof(*shared));
    double *lap = calloc(laps, sizeof(*lap)), spent, best = 1e18;
    struct side side;
    pid_t child = fork_child();

    if (child == 0)
        answer_plain_pings(shared);
    ping_plainly(shared, lap, laps);
    end_child(child);
    child = fork_child();
    if (child == 0)
        answer_pings(shared, laps);
    join(&side, shared, 0);
    ping(&side, shared, lap, laps);
    for (int run = 0; run < RUNS; run++) {
        spent =
            time_window(&side, true, shared->key[1], shared->words[1], laps);
        best = spent < best ? spent : best;
    }
    printf("two processes: window of %d, %.2f M/s\n", WINDOW, 1e3 / best);
    end_child(child);
    close_side(&side);
    free(lap);
}

int main(int argc, char **argv)
{
    unsigned laps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : LAPS;

    laps = laps < RUNS ? RUNS : laps;
    snprintf(folder, sizeof(folder), "/dev/shm/mpix-gds-bench.%d", getpid());
    bench_one_process(laps);
    bench_two_processes(laps);
    return 0;
}
