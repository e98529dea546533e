/*
 * What enqueued calls cost in launches, as the software GPU counts those of the
 * thread that calls (what the library's own do beside is no cost of theirs): a
 * wait for many operations is as dear as one for one. The words say how
 * receives are waited for, taken by kernels or staged, and by what streams wait
 * otherwise.
 */
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "tests/enq/enq.h"

enum { MOST = 250, CARRIED = 100, COPIES = 126, ROOM = 512, EVENTS = 128 };
enum { PATIENCE_S = 60 };

static uint64_t (*launched)(void);
static uint64_t (*called)(void);
static bool takes, kernels;

static void *find(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    return library ? dlsym(library, name) : NULL;
}

/* Pointers to functions are no pointers to objects in C. */
static bool find_counters(void)
{
    void *launches = find("mgds_sim_own_launches");
    void *calls = find("mgds_sim_own_calls");

    memcpy(&launched, &launches, sizeof(launched));
    memcpy(&called, &calls, sizeof(called));
    return launched && called;
}

struct cost {
    uint64_t launches, calls;
};

static struct cost now(void)
{
    return (struct cost){launched(), called()};
}

static struct cost since(struct cost before)
{
    return (struct cost){launched() - before.launches, called() - before.calls};
}

static void say(const char *what, int n, struct cost cost)
{
    printf("rank %d: %s of %d: %llu launches, %llu calls\n", enq.rank, what, n,
           (unsigned long long)cost.launches, (unsigned long long)cost.calls);
}

static struct enq_buffer all[MOST];
static MPI_Request request[MOST];

static uint64_t parts(int n, int most)
{
    return (uint64_t)((n + most - 1) / most);
}

/* Takes go with the flag behind them. Staged ones have a wait ahead and a flag
 * behind, which are launches only where kernels wait. */
static uint64_t wait_launches(int n)
{
    if (takes)
        return parts(n, CARRIED);
    return parts(n, COPIES) + (kernels ? 2 : 0);
}

/* From another host some messages may have come already: those are copied up.
 */
static bool is_few(uint64_t launches, int n)
{
    uint64_t want = wait_launches(n);

    if (!takes || !enq_split())
        return launches == want;
    return launches <= want + parts(n, COPIES) + kernels;
}

/* Of the fences of receives that a stream takes as many are events as there are
 * at a time (stream/events.h); others are launches where kernels wait. */
static bool fences_fit(uint64_t launches, int n)
{
    int more = n > EVENTS ? n - EVENTS : 0;

    if (!takes || enq_split())
        return launches == (uint64_t)(kernels ? n : 0);
    return launches <= (uint64_t)(kernels ? more : 0);
}

/* Messages that the library has copied beside the streams that receive them,
 * which then have no launch for those. */
static int64_t copied_beside(void)
{
    return enq_counter("ring_fetches") + enq_counter("pull_fetches") +
           enq_counter("pull_orders");
}

/* Whether the wait had fewer launches than its messages need: some must have
 * been copied beside it, which is known when the stream is through. */
static bool receive(const struct enq_lane *lane, int n)
{
    struct cost before = now(), cost;
    bool spared;

    for (int i = 0; i < n; i++)
        enq_irecv(lane, &all[i], 0, i, &request[i]);
    cost = since(before);
    say("Irecv", n, cost);
    CHECK(fences_fit(cost.launches, n));
    before = now();
    enq_waitall(n, request);
    cost = since(before);
    say("Waitall for receives", n, cost);
    spared = takes && !enq_split() && cost.launches < wait_launches(n);
    CHECK(spared || is_few(cost.launches, n));
    /* each buffer is looked at again: mostly one call */
    CHECK(cost.calls <= 2 * (uint64_t)n + 16);
    return spared;
}

/* A push has its flag with it. It cannot wait for the calls to come: a program
 * may make none (decisions.md). */
static void send(const struct enq_lane *lane, int n)
{
    struct cost before = now(), cost;

    for (int i = 0; i < n; i++)
        enq_isend(lane, &all[i], 1, i, &request[i]);
    cost = since(before);
    say("Isend", n, cost);
    CHECK(cost.launches == (uint64_t)n * (kernels && enq_split() ? 2 : 1));
    before = now();
    enq_waitall(n, request);
    cost = since(before);
    say("Waitall for sends", n, cost);
    CHECK(cost.launches == 0);
}

static void window(const struct enq_lane *lane, int n, bool early)
{
    int64_t copied = copied_beside();
    bool spared = false;

    for (int i = 0; i < n; i++)
        enq_buffer_open(&all[i], (size_t)(1 + (i * 7) % ROOM));
    for (int i = 0; i < n && enq.rank == 0; i++)
        enq_fill(&all[i], (unsigned)i + 1);
    if (enq.rank == 1 && early) {
        spared = receive(lane, n);
        enq_tell(0);
    } else if (enq.rank == 0) {
        if (early)
            enq_hear(1);
        send(lane, n);
        enq_sync(lane);
        if (!early)
            enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        spared = receive(lane, n);
    }
    enq_sync(lane);
    CHECK(!spared || copied_beside() > copied);
    for (int i = 0; i < n && enq.rank == 1; i++)
        enq_expect(&all[i], all[i].bytes, (unsigned)i + 1);
    for (int i = 0; i < n; i++)
        enq_buffer_close(&all[i]);
}

/* Messages of the largest window that went by a ring. */
static int64_t send_window(const struct enq_lane *lane)
{
    int64_t sent = enq_counter("ring_sends");

    for (int i = 0; i < MOST; i++) {
        if (enq.rank == 0)
            enq_isend(lane, &all[i], 1, i, &request[i]);
        else
            enq_irecv(lane, &all[i], 0, i, &request[i]);
    }
    enq_waitall(MOST, request);
    enq_sync(lane);
    return enq_counter("ring_sends") - sent;
}

/* What finds no place in a ring is staged while a larger one is made
 * (docs/rings.md). */
static void await_ring(const struct enq_lane *lane)
{
    time_t end = time(NULL) + PATIENCE_S;
    int large = 0;

    for (int i = 0; i < MOST; i++)
        enq_buffer_open(&all[i], ROOM);
    while (!large) {
        CHECK(time(NULL) < end);
        large = send_window(lane) == MOST;
        ENQ_OK(MPI_Bcast(&large, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    for (int i = 0; i < MOST; i++)
        enq_buffer_close(&all[i]);
}

static void windows(void)
{
    static const int numbers[] = {2, 12, 13, 64, 100, 101, 126, 127, MOST};
    struct enq_lane lane;

    enq_lane_open(&lane);
    if (takes && !enq_split())
        await_ring(&lane);
    for (int k = 0; k < 9; k++) {
        window(&lane, numbers[k], true);
        window(&lane, numbers[k], false);
    }
    enq_lane_close(&lane);
}

enum { MIXED = 60, WITH_GAPS = 3, LENGTH = 300, PIECE = 10, LONG = 1 << 20 };

static bool has_gaps(int i)
{
    return i % 20 == 5;
}

/* As much as a type with gaps takes of its buffer, or all. */
static int bytes_of(int i)
{
    return has_gaps(i) ? LENGTH / 2 : LENGTH;
}

static void expect_mixed(int i)
{
    unsigned char got[LENGTH];

    if (!has_gaps(i)) {
        enq_expect(&all[i], LENGTH, (unsigned)i + 1);
        return;
    }
    enq_read(&all[i], got, LENGTH);
    for (int k = 0; k < LENGTH / 2; k++)
        CHECK(got[k / PIECE * 2 * PIECE + k % PIECE] ==
              enq_byte((unsigned)i + 1, (size_t)k));
}

/* Receives that a host call asked for are staged, as are those with gaps, the
 * others are taken; a send of host memory that is not copied is waited for. */
static void receive_mixed(const struct enq_lane *lane, struct enq_buffer *host)
{
    MPI_Datatype gaps;
    struct cost cost;
    int flag;

    MPI_Type_vector(LENGTH / 2 / PIECE, PIECE, 2 * PIECE, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < MIXED; i++) {
        if (has_gaps(i))
            ENQ_OK(MPIX_Irecv_enqueue(all[i].at, 1, gaps, 0, i, lane->comm,
                                      &request[i]));
        else
            enq_irecv(lane, &all[i], 0, i, &request[i]);
    }
    enq_isend(lane, host, 0, MIXED, &request[MIXED]);
    for (int i = 0; i < MIXED; i += 2)
        ENQ_OK(MPI_Request_get_status(request[i], &flag, MPI_STATUS_IGNORE));
    cost = now();
    enq_waitall(MIXED + 1, request);
    cost = since(cost);
    say("mixed Waitall", MIXED + 1, cost);
    CHECK(cost.launches == (uint64_t)takes + 1 + WITH_GAPS + (kernels ? 2 : 0));
    MPI_Type_free(&gaps);
}

static void send_mixed(const struct enq_lane *lane, struct enq_buffer *host)
{
    for (int i = 0; i < MIXED; i++) {
        enq_fill(&all[i], (unsigned)i + 1);
        ENQ_OK(MPIX_Send_enqueue(all[i].at, bytes_of(i), MPI_BYTE, 1, i,
                                 lane->comm));
    }
    enq_recv(lane, host, 1, MIXED, MPI_STATUS_IGNORE);
}

static void mixed(void)
{
    struct enq_buffer host;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open_kind(&host, LONG, MGDS_TEST_PINNED);
    for (int i = 0; i < MIXED; i++)
        enq_buffer_open(&all[i], LENGTH);
    if (enq.rank == 1) {
        enq_fill(&host, 99);
        receive_mixed(&lane, &host);
        enq_tell(0);
    } else if (enq.rank == 0) {
        enq_hear(1);
        send_mixed(&lane, &host);
    }
    enq_sync(&lane);
    for (int i = 0; i < MIXED && enq.rank == 1; i++)
        expect_mixed(i);
    if (enq.rank == 0)
        enq_expect(&host, LONG, 99);
    enq_lane_close(&lane);
    enq_buffer_close(&host);
    for (int i = 0; i < MIXED; i++)
        enq_buffer_close(&all[i]);
}

/* A step of a program: to and from the neighbours on two sides, the other rank
 * both times. Short messages go by rings, long ones are copied by their
 * receivers. */
enum { SIDES = 2, STEP = 2 * SIDES, LAPS = 12 };
enum { SHORT_STEP = 8192, LONG_STEP = 256 << 10 };

/* Calls of a step. */
enum {
    IRECV,
    ISEND,
    WAITALL,
    GROUPED,
    GROUP_END,
    STARTALL,
    WAIT_STARTED,
    KINDS
};

struct step {
    size_t bytes;
    bool warm;             /* its buffers are known to the other rank */
    bool odd;              /* a call of this lap cost more than its due */
    uint64_t least[KINDS]; /* launches of a call */
    int64_t copied;        /* beside streams, before the first step */
    struct enq_lane lane;
    struct enq_buffer out[SIDES], in[SIDES];
    MPI_Request request[STEP];
};

static int64_t direct_sends(void)
{
    return enq_counter("ring_sends") + enq_counter("pull_sends");
}

/* What each costs. */
static const struct {
    const char *name;
    uint64_t launches;
} kinds[KINDS] = {
    [IRECV] = {"Irecv_enqueue", 0},
    [ISEND] = {"Isend_enqueue", 1},
    [WAITALL] = {"Waitall_enqueue", 1},
    [GROUPED] = {"group before its end", 0},
    [GROUP_END] = {"group_end", 1},
    [STARTALL] = {"Startall_enqueue", 1},
    [WAIT_STARTED] = {"Waitall_enqueue, persistent", 1},
};

/* The fewest launches of all laps are the call's, which began then. A call that
 * waits for room puts what it has so far, and so leaves less to those
 * behind it, which are not counted then. */
static void costs(struct step *s, unsigned kind, struct cost *before)
{
    struct cost cost = since(*before);

    printf("rank %d: %s of a step of %zu bytes: %llu launches, %llu calls\n",
           enq.rank, kinds[kind].name, s->bytes,
           (unsigned long long)cost.launches, (unsigned long long)cost.calls);
    if (s->warm && !s->odd && cost.launches < s->least[kind])
        s->least[kind] = cost.launches;
    s->odd = s->odd || cost.launches > kinds[kind].launches;
    *before = now();
}

/* A wait has no launch when all of its messages were copied beside it. */
static bool is_due(const struct step *s, unsigned kind)
{
    bool waits = kind == WAITALL || kind == WAIT_STARTED;

    return s->least[kind] == kinds[kind].launches ||
           (waits && s->least[kind] == 0 && copied_beside() > s->copied);
}

static void check_costs(const struct step *s)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (!is_due(s, kind))
            fprintf(stderr, "%s of a step of %zu bytes: %llu launches\n",
                    kinds[kind].name, s->bytes,
                    (unsigned long long)s->least[kind]);
        CHECK(is_due(s, kind));
    }
}

static void step_plain(struct step *s)
{
    struct cost at = now();

    for (int i = 0; i < SIDES; i++) {
        enq_irecv(&s->lane, &s->in[i], 1 - enq.rank, i, &s->request[i]);
        costs(s, IRECV, &at);
    }
    for (int i = 0; i < SIDES; i++) {
        enq_isend(&s->lane, &s->out[i], 1 - enq.rank, i,
                  &s->request[SIDES + i]);
        costs(s, ISEND, &at);
    }
    enq_waitall(STEP, s->request);
    costs(s, WAITALL, &at);
}

static void step_grouped(struct step *s)
{
    struct cost at = now();

    ENQ_OK(MPIX_Stream_group_start(s->lane.stream));
    for (int i = 0; i < SIDES; i++) {
        enq_irecv(&s->lane, &s->in[i], 1 - enq.rank, i, &s->request[i]);
        enq_isend(&s->lane, &s->out[i], 1 - enq.rank, i,
                  &s->request[SIDES + i]);
    }
    enq_waitall(STEP, s->request);
    costs(s, GROUPED, &at);
    ENQ_OK(MPIX_Stream_group_end(s->lane.stream));
    costs(s, GROUP_END, &at);
}

static void step_persistent(struct step *s)
{
    struct cost at = now();

    ENQ_OK(MPIX_Startall_enqueue(STEP, s->request));
    costs(s, STARTALL, &at);
    ENQ_OK(MPIX_Waitall_enqueue(STEP, s->request, MPI_STATUSES_IGNORE));
    costs(s, WAIT_STARTED, &at);
}

static void persistent_make(struct step *s)
{
    for (int i = 0; i < SIDES; i++) {
        ENQ_OK(MPI_Recv_init(s->in[i].at, (int)s->bytes, MPI_BYTE, 1 - enq.rank,
                             i, s->lane.comm, &s->request[i]));
        ENQ_OK(MPI_Send_init(s->out[i].at, (int)s->bytes, MPI_BYTE,
                             1 - enq.rank, i, s->lane.comm,
                             &s->request[SIDES + i]));
    }
}

/* The other rank's messages have come when both are here. */
static void step_lap(struct step *s, void (*run)(struct step *),
                     unsigned number)
{
    int64_t before = direct_sends();

    for (int i = 0; i < SIDES; i++) {
        enq_fill(&s->out[i], number + (unsigned)i);
        enq_wipe(&s->in[i]);
    }
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    s->odd = false;
    run(s);
    CHECK(!s->warm || direct_sends() - before == SIDES);
    enq_sync(&s->lane);
    for (int i = 0; i < SIDES; i++)
        enq_expect(&s->in[i], s->bytes, number + (unsigned)i);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void steps(size_t bytes)
{
    struct step s = {.bytes = bytes, .copied = copied_beside()};

    memset(s.least, 0xff, sizeof(s.least));

    enq_lane_open(&s.lane);
    for (int i = 0; i < SIDES; i++) {
        enq_buffer_open(&s.out[i], bytes);
        enq_buffer_open(&s.in[i], bytes);
    }
    step_lap(&s, step_plain, LAPS);
    s.warm = true;
    for (unsigned i = 0; i < LAPS; i++) {
        step_lap(&s, step_plain, 1 + i);
        step_lap(&s, step_grouped, 1 + i);
    }
    persistent_make(&s);
    for (unsigned i = 0; i < LAPS; i++)
        step_lap(&s, step_persistent, 1 + i);
    for (int i = 0; i < STEP; i++)
        ENQ_OK(MPI_Request_free(&s.request[i]));
    check_costs(&s);
    enq_lane_close(&s.lane);
    for (int i = 0; i < SIDES; i++) {
        enq_buffer_close(&s.out[i]);
        enq_buffer_close(&s.in[i]);
    }
}

static void windows_and_mixed(void)
{
    CHECK(find_counters());
    if (takes && !enq_split()) {
        steps(SHORT_STEP);
        steps(LONG_STEP);
    }
    windows();
    mixed();
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"calls_cost_few_launches", 2, windows_and_mixed},
        {0},
    };

    if (argc < 3) {
        fprintf(stderr, "usage: %s takes|staged memop|kernel [OPTIONS]\n",
                argv[0]);
        return 2;
    }
    takes = strcmp(argv[1], "takes") == 0;
    kernels = strcmp(argv[2], "kernel") == 0;
    argv[2] = argv[0];
    return enq_main(argc - 2, argv + 2, "enq launches", cases);
}
