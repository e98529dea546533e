/* Processes that stand still; see stall.h. */
#include "tests/enq/stall.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"

enum { TAG_LAST = 99, LAST_BYTES = 64, NAP_US = 200 };

/* Nothing has come through for so long: then nothing will. If that should be
 * wrong for once, the case is easier, and passes. */
enum { STILL_NS = 30000000 };

int stall_to(void)
{
    return enq.size > 1 ? 1 : 0;
}

bool stall_sends(void)
{
    return enq.rank == 0;
}

bool stall_receives(void)
{
    return enq.rank == stall_to();
}

void stall_tell(int to)
{
    if (to != enq.rank)
        enq_tell(to);
}

void stall_hear(int from)
{
    if (from != enq.rank)
        enq_hear(from);
}

static void nap(void)
{
    usleep(NAP_US);
}

static void probe_once(struct stall_probe *probe)
{
    MGDS_CU(
        cuMemsetD8Async((CUdeviceptr)(uintptr_t)probe->b.at, 1, 1, probe->cu));
    while (!probe->stop &&
           mgds_cu.cuStreamQuery(probe->cu) == CUDA_ERROR_NOT_READY)
        nap();
    if (!probe->stop)
        probe->came = mgds_clock_ns();
}

static void *probe_run(void *arg)
{
    struct stall_probe *probe = arg;

    MGDS_CU(cuCtxSetCurrent(probe->ctx));
    while (!probe->stop) {
        probe_once(probe);
        nap();
    }
    return NULL;
}

static void probe_open(struct stall_probe *probe)
{
    MGDS_CU(cuCtxGetCurrent(&probe->ctx));
    MGDS_CU(cuStreamCreate(&probe->cu, CU_STREAM_NON_BLOCKING));
    enq_buffer_open_alone(&probe->b, 1);
}

static void probe_close(struct stall_probe *probe)
{
    enq_buffer_close(&probe->b);
    MGDS_CU(cuStreamDestroy(probe->cu));
}

static void probe_wait(struct stall_probe *probe)
{
    probe->stop = false;
    probe->came = mgds_clock_ns();
    CHECK(pthread_create(&probe->thread, NULL, probe_run, probe) == 0);
    while (mgds_clock_ns() - probe->came < STILL_NS)
        nap();
}

static void probe_end(struct stall_probe *probe)
{
    probe->stop = true;
    CHECK(pthread_join(probe->thread, NULL) == 0);
    MGDS_CU(cuStreamSynchronize(probe->cu));
}

/* As many hardware queues as lanes that stand, and no more. */
static void queues_check(void)
{
    const char *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    if (!queues || atoi(queues) != STALL_LANES)
        fprintf(stderr, "CUDA_DEVICE_MAX_CONNECTIONS must be %d\n",
                STALL_LANES);
    CHECK(queues && atoi(queues) == STALL_LANES);
}

void stall_open(struct stall *s, enum stall_way way)
{
    memset(s, 0, sizeof(*s));
    s->way = way;
    if (way == STALL_QUEUES)
        queues_check();
    for (int i = 0; i <= STALL_LANES; i++)
        enq_lane_open(&s->lane[i]);
    for (int i = 0; i < STALL_LANES; i++) {
        enq_gate_make(&s->over[i]);
        enq_gate_make(&s->gate[i]);
        enq_buffer_open(&s->last[i], LAST_BYTES);
    }
    enq_buffer_open_alone(&s->spare, 1);
    probe_open(&s->probe);
}

void stall_close(struct stall *s)
{
    probe_close(&s->probe);
    if (s->spare.at)
        enq_buffer_close(&s->spare);
    for (int i = 0; i <= STALL_LANES; i++)
        enq_lane_close(&s->lane[i]);
    for (int i = 0; i < STALL_LANES; i++) {
        enq_gate_free(&s->over[i]);
        enq_gate_free(&s->gate[i]);
        enq_buffer_close(&s->last[i]);
    }
}

static void *spare_free(void *arg)
{
    struct stall *s = arg;

    MGDS_CU(cuCtxSetCurrent(s->probe.ctx));
    enq_buffer_close(&s->spare);
    s->spare.at = NULL;
    return NULL;
}

/* Of two ranks the other one. */
static int peer(void)
{
    return enq.size > 1 ? 1 - enq.rank : 0;
}

/* What is behind the receive makes it hold its hardware queue. */
static void stand(struct stall *s, int i)
{
    enq_recv(&s->lane[i], &s->last[i], peer(), TAG_LAST, MPI_STATUS_IGNORE);
    enq_kernel_set(s->lane[i].cu, &s->last[i], 1);
}

void stall_begin(struct stall *s)
{
    for (int i = 0; i < STALL_LANES; i++)
        stand(s, i);
    if (s->way == STALL_FREE)
        CHECK(pthread_create(&s->freer, NULL, spare_free, s) == 0);
    probe_wait(&s->probe);
    s->begun = true;
}

static void send_last(const struct stall *s, int to)
{
    unsigned char bytes[LAST_BYTES] = {0};

    for (int i = 0; i < STALL_LANES; i++)
        ENQ_OK(MPI_Send(bytes, LAST_BYTES, MPI_BYTE, to, TAG_LAST,
                        s->lane[i].comm));
}

/* Whether the other rank has begun, too: both have come here by then. */
static bool has_peer_begun(const struct stall *s)
{
    char mine = s->begun, theirs = 0;

    MPI_Sendrecv(&mine, 1, MPI_CHAR, peer(), TAG_LAST, &theirs, 1, MPI_CHAR,
                 peer(), TAG_LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

void stall_end(struct stall *s)
{
    if (enq.rank > 1)
        return;
    if (has_peer_begun(s))
        send_last(s, peer());
    if (!s->begun)
        return;
    if (s->way == STALL_FREE)
        CHECK(pthread_join(s->freer, NULL) == 0);
    probe_end(&s->probe);
}

void stall_mark(struct stall *s, int lane)
{
    MGDS_CU(cuStreamWriteValue32(s->lane[lane].cu,
                                 (CUdeviceptr)(uintptr_t)s->over[lane].word,
                                 ++s->marks[lane], 0));
}

void stall_await(const struct stall *s, int lane, uint32_t mark)
{
    while (__atomic_load_n(s->over[lane].word, __ATOMIC_ACQUIRE) < mark)
        nap();
}

static void append(struct enq_case *to, int *n, const struct enq_case *cases)
{
    for (; cases->name; cases++)
        to[(*n)++] = *cases;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    struct enq_case all[MOST] = {0};
    int n = 0;

    append(all, &n, stall_ring_cases);
    append(all, &n, stall_staged_cases);
    append(all, &n, stall_import_cases);
    CHECK(n < MOST);
    return enq_main(argc, argv, "enq stall", all);
}
