/*
 * How a process ends with work pending. Each case is a run of its own: it ends
 * MPI. The rows of the list name one, and say what must come of it.
 */
#include "tests/enq/enq.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "osu-extensions/libcuda.h"

/* Finalize waits for what was enqueued and can be done. */
static void finalize_drains(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_isend(&lane, &b, 1, 1, &request);
        ENQ_OK(MPI_Request_free(&request));
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    MGDS_CU(cuStreamSynchronize(lane.cu));
    if (enq.rank == 1)
        enq_expect(&b, ENQ_LARGE, 1);
}

/* A receive that nobody serves is named; the wait for it is bounded. */
static void finalize_names_what_is_left(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4321);
    if (enq.rank == 1)
        enq_irecv(&lane, &b, 0, 99, &request);
    MPI_Finalize();
}

/* A word of rank 0's that others have mapped. */
static int *common_word(void)
{
    int name[2] = {0, 0}, fd;
    char path[64];
    void *word;

    if (enq.rank == 0) {
        name[0] = getpid();
        name[1] = memfd_create("word", MFD_CLOEXEC);
        CHECK(name[1] >= 0 && ftruncate(name[1], sizeof(int)) == 0);
    }
    ENQ_OK(MPI_Bcast(name, 2, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", name[0], name[1]);
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    word = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(word != MAP_FAILED);
    return (int *)word;
}

/* The first that an MPI's own MPI_Finalize does. */
static int set_word(MPI_Comm comm, int key, void *word, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    __atomic_store_n((int *)word, 1, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}

/* Rank 1 comes to MPI_Finalize when rank 0 has done what it does before the
 * MPI's own part: it still has rank 0's memory mapped. */
static void memory_is_closed_first(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    int *word = common_word();
    int key;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 1) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 0, 1);
    } else {
        enq_recv(&lane, &b, 1, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(&lane);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
    ENQ_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_word, &key, NULL));
    if (enq.rank == 0)
        ENQ_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, word));
    while (enq.rank == 1 && !__atomic_load_n(word, __ATOMIC_ACQUIRE))
        sched_yield();
    MPI_Finalize();
}

/* MPI_Abort waits for nobody, although a stream stands. */
static void abort_does_not_wait(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    enq_recv(&lane, &b, (enq.rank + 1) % enq.size, 1, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (enq.rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    enq_sync(&lane);
}

/* A wait with an end says what is left, and the stream goes on later. */
static void synchronize_has_an_end(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 0.3)) ==
              MPI_ERR_PENDING);
        enq_tell(0);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        enq_expect(&b, 4096, 1);
    } else if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        enq_send(&lane, &b, 1, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/*
 * Programs that MPI calls unsafe: large blocking messages whose streams may
 * stand for each other. Either they end, and all is right, or the wait for
 * them has an end and names what stands; then Finalize releases the streams. Or
 * MPIX_GDS_TIMEOUT ends what stands, with an error. What has not come is not
 * written, and nothing is written by halves. Who gives up first is lost to the
 * other one, whose Finalize may then return an error.
 */
struct unsafe {
    struct enq_lane lanes[2];
    struct enq_buffer a, b;
    bool all_ended; /* in all ranks */
};

static void return_errors(const struct enq_lane *lane)
{
    ENQ_OK(MPI_Comm_set_errhandler(lane->comm, MPI_ERRORS_RETURN));
}

static void unsafe_open(struct unsafe *u)
{
    enq_lane_open(&u->lanes[0]);
    enq_lane_open_on(&u->lanes[1], u->lanes[0].cu);
    for (int i = 0; i < 2; i++)
        return_errors(&u->lanes[i]);
    enq_buffer_open(&u->a, ENQ_LARGE);
    enq_buffer_open(&u->b, ENQ_LARGE);
}

static bool ended(const struct enq_lane *lane)
{
    int code = MPIX_Stream_synchronize(lane->stream, 3);

    CHECK(code == MPI_SUCCESS || enq_class(code) == MPI_ERR_PENDING ||
          enq_class(code) == MPI_ERR_OTHER);
    return code == MPI_SUCCESS;
}

static void say(bool streams_ended)
{
    printf("rank %d: the streams %s\n", enq.rank,
           streams_ended ? "ended" : "stood");
    fflush(stdout);
}

/* Whether they did by themselves, and well; says so. */
static bool unsafe_ends(struct unsafe *u)
{
    int mine, all;

    mine = ended(&u->lanes[0]);
    mine = ended(&u->lanes[1]) && mine;
    say(mine);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    u->all_ended = all;
    return mine;
}

/* The process can end, whatever stands. */
static void unsafe_close(const struct unsafe *u)
{
    int code = MPI_Finalize();

    CHECK(!u->all_ended || code == MPI_SUCCESS);
    MGDS_CU(cuStreamSynchronize(u->lanes[0].cu));
}

static void unsafe_head_to_head(void)
{
    struct unsafe u;
    int peer = enq.rank ^ 1;
    bool well;

    unsafe_open(&u);
    enq_fill(&u.a, (unsigned)enq.rank + 1);
    enq_send(&u.lanes[0], &u.a, peer, 1);
    enq_recv(&u.lanes[0], &u.b, peer, 1, MPI_STATUS_IGNORE);
    well = unsafe_ends(&u);
    if (well)
        enq_expect(&u.b, ENQ_LARGE, (unsigned)peer + 1);
    unsafe_close(&u);
}

/* The order of R0's messages is not that of R1's receives: of two tags, or of
 * two communicators. */
static void unsafe_crossing(int tags, int comms)
{
    struct unsafe u;
    bool well;

    unsafe_open(&u);
    if (enq.rank == 0) {
        enq_fill(&u.a, 1);
        enq_fill(&u.b, 2);
        enq_send(&u.lanes[0], &u.a, 1, 1);
        enq_send(&u.lanes[comms], &u.b, 1, 1 + tags);
    } else {
        enq_recv(&u.lanes[comms], &u.b, 0, 1 + tags, MPI_STATUS_IGNORE);
        enq_recv(&u.lanes[0], &u.a, 0, 1, MPI_STATUS_IGNORE);
    }
    well = unsafe_ends(&u);
    if (well && enq.rank == 1) {
        enq_expect(&u.a, ENQ_LARGE, 1);
        enq_expect(&u.b, ENQ_LARGE, 2);
    }
    unsafe_close(&u);
}

static void unsafe_tags(void)
{
    unsafe_crossing(1, 0);
}

static void unsafe_communicators(void)
{
    unsafe_crossing(0, 1);
}

/* With one hardware queue a wait that stands holds every stream of the device:
 * the program is told, and as above it can end. */
static void one_hardware_queue(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, b;

    enq_lane_open(&one);
    enq_lane_open(&two);
    return_errors(&one);
    return_errors(&two);
    enq_buffer_open(&a, 4096);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0) {
        enq_recv(&one, &a, 1, 1, MPI_STATUS_IGNORE);
        enq_send(&two, &b, 1, 1);
    } else {
        enq_recv(&two, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_send(&one, &a, 0, 1);
    }
    say(ended(&two));
    MPI_Finalize();
    MGDS_CU(cuStreamSynchronize(one.cu));
    MGDS_CU(cuStreamSynchronize(two.cu));
}

/* The communicator's handler is the default one, which ends the job. */
static void truncation_is_fatal(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, enq.rank == 0 ? 100 : 200);
    if (enq.rank == 1) {
        enq_send(&lane, &b, 0, 1);
        enq_hear(0); /* in vain */
    } else {
        enq_recv(&lane, &b, 1, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        MPIX_Send_enqueue(b.at, 1, MPI_BYTE, MPI_PROC_NULL, 1, lane.comm);
        printf("not reached\n");
    }
}

/* The program took its contexts down before MPI ended. */
static void context_goes_before_finalize(void)
{
    CUresult (*reset)(CUdevice);
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0)
        enq_send(&lane, &b, 1, 1);
    else
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    enq_sync(&lane);
    MPI_Barrier(MPI_COMM_WORLD);
    *(void **)&reset = mgds_libcuda_find("cuDevicePrimaryCtxReset", 11000);
    CHECK(reset);
    mgds_test_cu_check(reset(enq.device), "cuDevicePrimaryCtxReset");
    MPI_Finalize();
}

/* An error that no call could return is MPI_Finalize's. */
static void finalize_returns_errors(void)
{
    struct enq_lane lane;
    struct enq_buffer large, small;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&large, 8000);
    enq_buffer_open(&small, 4000);
    if (enq.rank == 0)
        enq_send(&lane, &large, 1, 1);
    else if (enq.rank == 1)
        enq_recv(&lane, &small, 0, 1, MPI_STATUS_IGNORE);
    enq_sync(&lane);
    ENQ_OK(MPI_Comm_free(&lane.comm));
    CHECK(MPI_Finalize() == (enq.rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case27_finalize_drains", 2, finalize_drains},
        {"case27_finalize_names_what_is_left", 2, finalize_names_what_is_left},
        {"case02_large_crossing", 2, unsafe_tags},
        {"case03_head_to_head", 2, unsafe_head_to_head},
        {"case10_one_hardware_queue", 2, one_hardware_queue},
        {"case12_large_crossing", 2, unsafe_communicators},
        {"case16_truncation_is_fatal", 2, truncation_is_fatal},
        {"case27_context_goes_before_finalize", 2,
         context_goes_before_finalize},
        {"case27_finalize_returns_errors", 2, finalize_returns_errors},
        {"case27_memory_is_closed_first", 2, memory_is_closed_first},
        {"case27_abort_does_not_wait", 2, abort_does_not_wait},
        {"case27_synchronize_has_an_end", 2, synchronize_has_an_end},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name one case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq release", cases);
}
