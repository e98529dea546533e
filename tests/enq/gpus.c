/* A process that uses two GPUs: streams of both, buffers on either. With one
 * GPU the cases hold as well. */
#include "tests/enq/enq.h"

#include <pthread.h>
#include <stdlib.h>

/* What is queued on `behind` from here on comes after what is on `first`. */
static void chain(const struct enq_lane *first, const struct enq_lane *behind)
{
    CUcontext own, ctx;
    CUevent event;

    MGDS_CU(cuCtxGetCurrent(&own));
    MGDS_CU(cuStreamGetCtx(first->cu, &ctx));
    MGDS_CU(cuCtxSetCurrent(ctx));
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MGDS_CU(cuEventRecord(event, first->cu));
    MGDS_CU(cuStreamWaitEvent(behind->cu, event, 0));
    MGDS_CU(cuEventDestroy(event));
    MGDS_CU(cuCtxSetCurrent(own));
}

/* R0 sends on one GPU's stream, R1 receives into its other GPU's memory and
 * sends that back on the other's stream. */
static void there_and_back(const struct enq_lane *own,
                           const struct enq_lane *other, size_t bytes,
                           unsigned message)
{
    struct enq_buffer here, there;

    enq_buffer_open(&here, bytes);
    enq_buffer_open_other(&there, bytes);
    if (enq.rank == 0) {
        enq_fill(&here, message);
        enq_send(own, &here, 1, 1);
        enq_recv(other, &there, 1, 2, MPI_STATUS_IGNORE);
    } else if (enq.rank == 1) {
        enq_recv(own, &there, 0, 1, MPI_STATUS_IGNORE);
        chain(own, other);
        enq_send(other, &there, 0, 2);
    }
    enq_sync(own);
    enq_sync(other);
    if (enq.rank < 2)
        enq_expect(&there, bytes, message);
    enq_buffer_close(&there);
    enq_buffer_close(&here);
}

static void two_communicators(void)
{
    struct enq_lane own, other;

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        there_and_back(&own, &other, *size, 1);
        there_and_back(&other, &own, *size, 2);
    }
    for (int i = 0; i < enq.laps; i++)
        there_and_back(&own, &other, ENQ_SMALL, (unsigned)i + 3);
    enq_lane_close(&other);
    enq_lane_close(&own);
}

/* A process sends to itself, from one of its GPUs to the other. */
static void self_message(const struct enq_lane *lane,
                         const struct enq_buffer *from, struct enq_buffer *to)
{
    MPI_Request requests[2];

    enq_irecv(lane, to, enq.rank, 1, &requests[0]);
    enq_isend(lane, from, enq.rank, 1, &requests[1]);
    enq_waitall(2, requests);
}

static void self_bytes(const struct enq_lane *own, const struct enq_lane *other,
                       size_t bytes)
{
    struct enq_buffer here, there, back;

    enq_buffer_open(&here, bytes);
    enq_buffer_open_other(&there, bytes);
    enq_buffer_open(&back, bytes);
    enq_fill(&here, 1);
    self_message(own, &here, &there);
    chain(own, other);
    self_message(other, &there, &back);
    enq_sync(other);
    enq_expect(&there, bytes, 1);
    enq_expect(&back, bytes, 1);
    enq_buffer_close(&back);
    enq_buffer_close(&there);
    enq_buffer_close(&here);
}

static void self_between_gpus(void)
{
    struct enq_lane own, other;

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
        self_bytes(&own, &other, *size);
    enq_lane_close(&other);
    enq_lane_close(&own);
}

/* Receives of the streams of both GPUs, waited for in one of them. */
static void both_waited(const struct enq_lane *own,
                        const struct enq_lane *other, size_t bytes)
{
    MPI_Request requests[4];
    struct enq_buffer b[4];

    for (int i = 0; i < 4; i++) {
        const struct enq_lane *lane = i % 2 ? other : own;

        (i < 2 ? enq_buffer_open : enq_buffer_open_other)(&b[i], bytes);
        if (enq.rank == 0) {
            enq_fill(&b[i], (unsigned)i + 1);
            enq_isend(lane, &b[i], 1, i, &requests[i]);
        } else if (enq.rank == 1) {
            enq_irecv(lane, &b[i], 0, i, &requests[i]);
        }
    }
    if (enq.rank < 2)
        enq_waitall(4, requests);
    enq_sync(own);
    for (int i = 0; i < 4; i++) {
        if (enq.rank == 1)
            enq_expect(&b[i], bytes, (unsigned)i + 1);
        enq_sync(other);
        enq_buffer_close(&b[i]);
    }
}

static void waitall_of_both(void)
{
    struct enq_lane own, other;

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
        both_waited(&own, &other, *size);
    enq_lane_close(&other);
    enq_lane_close(&own);
}

/* Less arrives than there is room for: the rest is left alone. */
static void short_messages(void)
{
    struct enq_buffer b;
    struct enq_lane lane;
    MPI_Status status;

    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
        enq_buffer_open_other(&b, *size + 300);
        if (enq.rank == 0) {
            enq_fill(&b, 1);
            ENQ_OK(
                MPIX_Send_enqueue(b.at, (int)*size, MPI_BYTE, 1, 1, lane.comm));
        } else if (enq.rank == 1) {
            enq_recv(&lane, &b, 0, 1, &status);
        }
        enq_sync(&lane);
        if (enq.rank == 1) {
            enq_status_is(&status, 0, 1, *size);
            enq_expect(&b, *size, 1);
        }
        enq_buffer_close(&b);
    }
    enq_lane_close(&lane);
}

enum { BLOCK = 24, PITCH = 40 };

/* Blocks with gaps: what lies in the gaps is left alone. */
static void gaps_of(const struct enq_lane *lane, int blocks)
{
    size_t bytes = (size_t)blocks * PITCH;
    unsigned char *got = malloc(bytes);
    MPI_Datatype type;
    struct enq_buffer b;

    CHECK(got);
    MPI_Type_vector(blocks, BLOCK, PITCH, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    enq_buffer_open_other(&b, bytes);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        ENQ_OK(MPIX_Send_enqueue(b.at, 1, type, 1, 1, lane->comm));
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Recv_enqueue(b.at, 1, type, 0, 1, lane->comm,
                                 MPI_STATUS_IGNORE));
    }
    enq_sync(lane);
    enq_read(&b, got, bytes);
    for (size_t i = 0; i < bytes && enq.rank == 1; i++) {
        size_t in =
            (size_t)(b.at - b.memory.at) + i; /* of the pattern at the guard */

        CHECK(got[i] == (i % PITCH < BLOCK ? enq_byte(1, i) : enq_byte(0, in)));
    }
    enq_buffer_close(&b);
    MPI_Type_free(&type);
    free(got);
}

static void datatypes(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int blocks = 1; blocks < 5000; blocks = blocks * 3 + 1)
        gaps_of(&lane, blocks);
    enq_lane_close(&lane);
}

/* What follows in the stream overwrites the buffer, what was before filled it:
 * the copy on the other GPU is in between. */
static void order_is_kept(void)
{
    struct enq_buffer there, first, second;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open_other(&there, 70000);
    enq_buffer_open(&first, 70000);
    enq_buffer_open(&second, 70000);
    for (int i = 0; i < enq.laps; i++) {
        enq_fill(&first, (unsigned)i + 1);
        enq_wipe(&second);
        enq_wipe(&there);
        if (enq.rank == 0) {
            enq_kernel_copy(lane.cu, &there, &first);
            enq_send(&lane, &there, 1, 1);
            enq_kernel_copy(lane.cu, &there, &second);
        } else if (enq.rank == 1) {
            enq_recv(&lane, &there, 0, 1, MPI_STATUS_IGNORE);
            enq_kernel_copy(lane.cu, &second, &there);
            enq_kernel_set(lane.cu, &first, 0);
        }
        enq_sync(&lane);
        if (enq.rank == 1)
            enq_expect(&second, 70000, (unsigned)i + 1);
    }
    enq_buffer_close(&second);
    enq_buffer_close(&first);
    enq_buffer_close(&there);
    enq_lane_close(&lane);
}

/* Streams of both GPUs stand when the calls are made: these must return. */
static void both_gpus_stand(void)
{
    struct enq_lane own, other;
    struct enq_buffer here, there;
    struct enq_gate gate;

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    enq_gate_make(&gate);
    enq_buffer_open(&here, 30000);
    enq_buffer_open_other(&there, 30000);
    if (enq.rank == 0) {
        enq_fill(&here, 1);
        enq_fill(&there, 2);
    }
    enq_gate_hold(&gate, own.cu);
    enq_gate_hold(&gate, other.cu);
    if (enq.rank == 0) {
        enq_send(&own, &there, 1, 1);
        enq_send(&other, &here, 1, 2);
    } else if (enq.rank == 1) {
        enq_recv(&own, &there, 0, 1, MPI_STATUS_IGNORE);
        enq_recv(&other, &here, 0, 2, MPI_STATUS_IGNORE);
    }
    enq_gate_open(&gate);
    enq_sync(&own);
    enq_sync(&other);
    if (enq.rank == 1) {
        enq_expect(&there, 30000, 2);
        enq_expect(&here, 30000, 1);
    }
    enq_buffer_close(&there);
    enq_buffer_close(&here);
    enq_gate_free(&gate);
    enq_lane_close(&other);
    enq_lane_close(&own);
}

/* Each thread has the stream of one GPU and a buffer on the other. */
struct worker {
    const struct enq_lane *lane;
    struct enq_buffer b;
    CUcontext ctx;
    int tag;
};

static void *worker_run(void *arg)
{
    struct worker *worker = arg;

    MGDS_CU(cuCtxSetCurrent(worker->ctx));
    for (int i = 0; i < enq.laps; i++) {
        unsigned message = (unsigned)(worker->tag * 10000 + i + 1);

        if (enq.rank == 0)
            enq_fill(&worker->b, message);
        else
            enq_wipe(&worker->b);
        if (enq.rank == 0)
            enq_send(worker->lane, &worker->b, 1, worker->tag);
        else
            enq_recv(worker->lane, &worker->b, 0, worker->tag,
                     MPI_STATUS_IGNORE);
        enq_sync(worker->lane);
        if (enq.rank == 1)
            enq_expect(&worker->b, worker->b.bytes, message);
    }
    return NULL;
}

static void thread_for_each(void)
{
    struct enq_lane own, other;
    struct worker worker[2];
    pthread_t id[2];

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    enq_buffer_open_other(&worker[0].b, 5000);
    enq_buffer_open(&worker[1].b, 5000);
    for (int i = 0; i < 2 && enq.rank < 2; i++) {
        worker[i].lane = i ? &other : &own;
        worker[i].tag = i + 1;
        MGDS_CU(cuCtxGetCurrent(&worker[i].ctx));
        CHECK(pthread_create(&id[i], NULL, worker_run, &worker[i]) == 0);
    }
    for (int i = 0; i < 2 && enq.rank < 2; i++)
        CHECK(pthread_join(id[i], NULL) == 0);
    enq_buffer_close(&worker[1].b);
    enq_buffer_close(&worker[0].b);
    enq_lane_close(&other);
    enq_lane_close(&own);
}

static MPI_Datatype type_of_both(const struct enq_buffer *a,
                                 const struct enq_buffer *b)
{
    int lengths[] = {(int)a->bytes, (int)b->bytes};
    MPI_Aint places[2];
    MPI_Datatype type;

    MPI_Get_address(a->at, &places[0]);
    MPI_Get_address(b->at, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void both_move(const struct enq_lane *lane, MPI_Datatype type,
                      struct enq_buffer *a, struct enq_buffer *b)
{
    if (enq.rank == 0) {
        enq_fill(a, 1);
        enq_fill(b, 2);
        ENQ_OK(MPIX_Send_enqueue(MPI_BOTTOM, 1, type, 1, 1, lane->comm));
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Recv_enqueue(MPI_BOTTOM, 1, type, 0, 1, lane->comm,
                                 MPI_STATUS_IGNORE));
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_expect(a, a->bytes, 1);
        enq_expect(b, b->bytes, 2);
    }
}

/* One buffer on both GPUs: no kernel reaches all of it unless they are peers.
 * That is told at the call, and the communicator is as it was. */
static void buffer_on_both(void)
{
    struct enq_buffer here, there, back;
    struct enq_lane lane;
    MPI_Datatype type;

    enq_lane_open(&lane);
    enq_buffer_open(&here, 3000);
    enq_buffer_open_other(&there, 5000);
    type = type_of_both(&here, &there);
    if (enq_other_reaches()) {
        both_move(&lane, type, &here, &there);
    } else {
        enq_errors_count(lane.comm);
        CHECK(enq_class(MPIX_Send_enqueue(MPI_BOTTOM, 1, type, enq.rank, 1,
                                          lane.comm)) == MPI_ERR_BUFFER);
        CHECK(enq_errors() == 1);
        CHECK(mgds_cu.cuStreamQuery(lane.cu) == CUDA_SUCCESS);
    }
    enq_buffer_open(&back, there.bytes);
    enq_fill(&there, 3);
    self_message(&lane, &there, &back);
    enq_sync(&lane);
    enq_expect(&back, back.bytes, 3);
    MPI_Type_free(&type);
    enq_buffer_close(&back);
    enq_buffer_close(&there);
    enq_buffer_close(&here);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case38_two_gpus_two_communicators", 2, two_communicators},
        {"case38_two_gpus_self", 2, self_between_gpus},
        {"case38_two_gpus_one_waitall", 2, waitall_of_both},
        {"case38_two_gpus_short_messages", 2, short_messages},
        {"case38_two_gpus_datatypes", 2, datatypes},
        {"case38_two_gpus_order", 2, order_is_kept},
        {"case38_two_gpus_that_stand", 2, both_gpus_stand},
        {"case38_two_gpus_a_thread_each", 2, thread_for_each},
        {"case38_two_gpus_one_buffer", 2, buffer_on_both},
        {0},
    };

    return enq_main(argc, argv, "enq gpus", cases);
}
