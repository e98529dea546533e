/* What is wrong with arguments is told at the call, as the MPI below tells it
 * of its own calls: the same class, of what it looks at first. */
#include "tests/enq/enq.h"

/* Some of each, the last one being right. A peer that is right is nobody, so
 * that nothing is sent. */
struct wrong {
    void *at;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
    void *last; /* the request, or the status of a blocking receive */
};

enum { WAYS = 5 };

/* Send, Recv, Isend, Irecv, Ssend: of MPI, then of ours. */
static int of_mpi(int way, const struct wrong *w, MPI_Comm comm)
{
    int count = (int)w->count;

    switch (way) {
    case 0:
        return MPI_Send(w->at, count, w->type, w->peer, w->tag, comm);
    case 1:
        return MPI_Recv(w->at, count, w->type, w->peer, w->tag, comm, w->last);
    case 2:
        return MPI_Isend(w->at, count, w->type, w->peer, w->tag, comm, w->last);
    case 3:
        return MPI_Irecv(w->at, count, w->type, w->peer, w->tag, comm, w->last);
    default:
        return MPI_Ssend(w->at, count, w->type, w->peer, w->tag, comm);
    }
}

static int enqueued(int way, const struct wrong *w, MPI_Comm comm)
{
    int count = (int)w->count;

    switch (way) {
    case 0:
        return MPIX_Send_enqueue(w->at, count, w->type, w->peer, w->tag, comm);
    case 1:
        return MPIX_Recv_enqueue(w->at, count, w->type, w->peer, w->tag, comm,
                                 w->last);
    case 2:
        return MPIX_Isend_enqueue(w->at, count, w->type, w->peer, w->tag, comm,
                                  w->last);
    case 3:
        return MPIX_Irecv_enqueue(w->at, count, w->type, w->peer, w->tag, comm,
                                  w->last);
    default:
        return MPIX_Send_enqueue_c(w->at, w->count, w->type, w->peer, w->tag,
                                   comm);
    }
}

static int by_index(int way, const struct wrong *w, MPI_Comm comm)
{
    int count = (int)w->count;

    switch (way) {
    case 0:
        return MPIX_Stream_send(w->at, count, w->type, w->peer, w->tag, comm, 0,
                                0);
    case 1:
        return MPIX_Stream_recv(w->at, count, w->type, w->peer, w->tag, comm, 0,
                                0, w->last);
    case 2:
        return MPIX_Stream_isend(w->at, count, w->type, w->peer, w->tag, comm,
                                 0, 0, w->last);
    case 3:
        return MPIX_Stream_irecv(w->at, count, w->type, w->peer, w->tag, comm,
                                 0, 0, w->last);
    default:
        return MPIX_Stream_send_c(w->at, w->count, w->type, w->peer, w->tag,
                                  comm, 0, 0);
    }
}

static int (*const callers[])(int, const struct wrong *,
                              MPI_Comm) = {enqueued, by_index, of_mpi};
enum { CALLERS = sizeof(callers) / sizeof(callers[0]) };

static bool is_receive(int way)
{
    return way == 1 || way == 3;
}

/* Requests of both are done with: they were for nobody. */
static int run(int caller, int way, struct wrong w, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int class;

    if (w.last && way == 1)
        w.last = &status;
    else if (w.last)
        w.last = &request;
    class = enq_class((caller < 0 ? of_mpi : callers[caller])(way, &w, comm));
    if (request != MPI_REQUEST_NULL)
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return class;
}

/* Returns how many are told otherwise than MPI does. */
static int compare(int caller, int way, const struct wrong *w, MPI_Comm comm)
{
    int want = run(-1, way, *w, MPI_COMM_WORLD);
    int got = run(caller, way, *w, comm);

    if (got == want)
        return 0;
    fprintf(stderr,
            "caller %d, way %d: class %d, MPI says %d: at %p, count %d, type "
            "%x, peer %d, tag %d, last %p\n",
            caller, way, got, want, w->at, (int)w->count, (unsigned)w->type,
            w->peer, w->tag, w->last);
    return 1;
}

struct choices {
    void *at[2];
    MPI_Count count[3];
    MPI_Datatype type[5];
    int peer[5], tag[5];
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int compare_all(const struct choices *c, int caller, int way,
                       MPI_Comm comm)
{
    const size_t n[] = {COUNT_OF(c->at),   COUNT_OF(c->count),
                        COUNT_OF(c->type), COUNT_OF(c->peer),
                        COUNT_OF(c->tag),  2};
    size_t all = 1;
    int others = 0;

    for (size_t k = 0; k < COUNT_OF(n); k++)
        all *= n[k];
    for (size_t i = 0; i < all; i++) {
        size_t j = i;
        struct wrong w;

        w.at = c->at[j % n[0]];
        j /= n[0];
        w.count = c->count[j % n[1]];
        j /= n[1];
        w.type = c->type[j % n[2]];
        j /= n[2];
        w.peer = c->peer[j % n[3]];
        j /= n[3];
        w.tag = c->tag[j % n[4]];
        j /= n[4];
        w.last = j ? &w : NULL;
        if (!w.last && (way == 0 || way == 4))
            continue;
        if (is_receive(way) && w.peer == MPI_ANY_SOURCE)
            continue;
        /* the standard says that nothing is touched then */
        if (!w.at && w.peer == MPI_PROC_NULL && w.count > 0)
            continue;
        others += compare(caller, way, &w, comm);
    }
    return others;
}

static void as_mpi_says(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Datatype open_type, empty;
    struct choices choices;
    int others = 0;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &open_type);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    choices = (struct choices){
        .at = {NULL, b.at},
        .count = {-1, 0, 1},
        .type = {open_type, MPI_DATATYPE_NULL, MPI_FLOAT_INT, empty, MPI_BYTE},
        .peer = {-9, enq.size, MPI_ANY_SOURCE, 0x7fffffff, MPI_PROC_NULL},
        .tag = {-7, MPI_ANY_TAG, 0x7fffffff, 0, 1},
    };
    for (int caller = 0; caller < CALLERS; caller++)
        for (int way = 0; way < WAYS; way++)
            others += compare_all(&choices, caller, way, lane.comm);
    CHECK(others == 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&open_type);
    MPI_Type_free(&empty);
    enq_expect(&b, 0, 1);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void return_errors(MPI_Errhandler handler)
{
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
}

/* A probe of each kind that has nowhere to put what it finds. */
static int probe(int way, MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    int flag;

    switch (way) {
    case 0:
        return MPI_Probe(MPI_PROC_NULL, 0, comm, NULL);
    case 1:
        return MPI_Iprobe(MPI_PROC_NULL, 0, comm, NULL, &status);
    case 2:
        return MPI_Iprobe(MPI_PROC_NULL, 0, comm, &flag, NULL);
    case 3:
        return MPI_Mprobe(MPI_PROC_NULL, 0, comm, NULL, &status);
    case 4:
        return MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, NULL);
    case 5:
        return MPI_Improbe(MPI_PROC_NULL, 0, comm, NULL, &message, &status);
    default:
        return MPI_Improbe(MPI_PROC_NULL, 0, comm, &flag, NULL, &status);
    }
}

static void probes_of_nothing(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    return_errors(MPI_ERRORS_RETURN);
    for (int way = 0; way < 7; way++)
        CHECK(enq_class(probe(way, lane.comm)) ==
              enq_class(probe(way, MPI_COMM_WORLD)));
    return_errors(MPI_ERRORS_ARE_FATAL);
    enq_lane_close(&lane);
}

/* What a wait is not given is said before it takes anything: the request is
 * still there. */
static void waits_of_nothing(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    return_errors(MPI_ERRORS_RETURN);
    enq_isend(&lane, &b, MPI_PROC_NULL, 1, &request);
    CHECK(enq_class(MPIX_Wait_enqueue(NULL, &status)) ==
          enq_class(MPI_Wait(NULL, &status)));
    CHECK(enq_class(MPIX_Wait_enqueue(&request, NULL)) ==
          enq_class(MPI_Wait(&request, NULL)));
    CHECK(enq_class(MPIX_Waitall_enqueue(1, &request, NULL)) ==
          enq_class(MPI_Waitall(1, &request, NULL)));
    CHECK(enq_class(MPIX_Waitall_enqueue(1, NULL, &status)) ==
          enq_class(MPI_Waitall(1, NULL, &status)));
    CHECK(enq_class(MPIX_Waitall_enqueue(-1, &request, &status)) ==
          enq_class(MPI_Waitall(-1, &request, &status)));
    ENQ_OK(MPIX_Waitall_enqueue(0, NULL, NULL));
    CHECK(request != MPI_REQUEST_NULL);
    enq_wait(&request, &status);
    enq_sync(&lane);
    enq_status_is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    return_errors(MPI_ERRORS_ARE_FATAL);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void handles_of_nothing(void)
{
    MPIX_Stream stream = MPIX_STREAM_NULL;

    return_errors(MPI_ERRORS_RETURN);
    CHECK(enq_class(MPIX_Comm_get_stream(MPI_COMM_NULL, 0, &stream)) ==
          MPI_ERR_COMM);
    ENQ_OK(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &stream));
    CHECK(stream == MPIX_STREAM_NULL);
    CHECK(MPIX_Stream_create((MPI_Info)0x1234, &stream) != MPI_SUCCESS);
    CHECK(stream == MPIX_STREAM_NULL);
    return_errors(MPI_ERRORS_ARE_FATAL);
}

/* To this very rank, twice: the second call finds what the first has learnt. */
static void send_twice(const struct enq_lane *lane, struct enq_buffer *in,
                       const struct enq_buffer *out, MPI_Datatype type)
{
    MPI_Request request[2];

    for (int lap = 0; lap < 2; lap++) {
        ENQ_OK(MPIX_Irecv_enqueue(in->at, (int)in->bytes, MPI_BYTE, enq.rank,
                                  lap, lane->comm, &request[0]));
        ENQ_OK(MPIX_Isend_enqueue(out->at, 1, type, enq.rank, lap, lane->comm,
                                  &request[1]));
        enq_waitall(2, request);
    }
    enq_sync(lane);
}

enum { AGAIN = 20, WIDE = 40 };

/* A datatype that comes by the handle of one that was freed is another one. */
static void type_comes_again(const struct enq_lane *lane, MPI_Datatype old,
                             int ints, struct enq_buffer *in,
                             struct enq_buffer *out)
{
    MPI_Request request;
    MPI_Datatype type;

    MPI_Type_contiguous(ints, MPI_INT, &type);
    CHECK(type == old);
    CHECK(enq_class(MPIX_Isend_enqueue(out->at, 1, type, enq.rank, 0,
                                       lane->comm, &request)) == MPI_ERR_TYPE);
    MPI_Type_commit(&type);
    enq_wipe(in);
    enq_fill(out, (unsigned)ints);
    send_twice(lane, in, out, type);
    enq_expect(in, (size_t)ints * sizeof(int), (unsigned)ints);
    MPI_Type_free(&type);
}

static void types_come_again(void)
{
    struct enq_buffer in, out;
    struct enq_lane lane;
    MPI_Datatype first, old;

    enq_lane_open(&lane);
    enq_buffer_open(&in, WIDE * sizeof(int));
    enq_buffer_open(&out, WIDE * sizeof(int));
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(1, MPI_INT, &first);
    MPI_Type_commit(&first);
    send_twice(&lane, &in, &out, first);
    old = first;
    MPI_Type_free(&first);
    for (int i = 0; i < AGAIN; i++)
        type_comes_again(&lane, old, 2 + i, &in, &out);
    enq_lane_close(&lane);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

/* A communicator that comes by the handle of a freed one, without a stream. */
static bool plain_comes_again(MPI_Comm old, struct enq_buffer *b)
{
    MPI_Request request;
    MPI_Comm plain;
    bool again;

    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN);
    again = plain == old;
    CHECK(enq_class(MPIX_Isend_enqueue(b->at, 1, MPI_BYTE, enq.rank, 0, plain,
                                       &request)) == MPI_ERR_OTHER);
    MPI_Comm_free(&plain);
    return again;
}

/* Each is on a stream of its own, and is used twice. */
static void comms_come_again(void)
{
    struct enq_buffer in, out;
    int again = 0, others = 0;
    struct enq_lane lane;
    MPI_Comm old = MPI_COMM_NULL;

    enq_buffer_open(&in, 64);
    enq_buffer_open(&out, 64);
    for (int i = 0; i < AGAIN; i++) {
        enq_lane_open(&lane);
        again += lane.comm == old;
        old = lane.comm;
        enq_wipe(&in);
        enq_fill(&out, 1 + (unsigned)i);
        send_twice(&lane, &in, &out, MPI_BYTE);
        enq_expect(&in, 1, 1 + (unsigned)i);
        enq_lane_close(&lane);
        others += plain_comes_again(old, &out);
    }
    CHECK(again > 0 && others > 0);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"as_mpi_says", 1, as_mpi_says},
        {"probes_of_nothing", 1, probes_of_nothing},
        {"waits_of_nothing", 1, waits_of_nothing},
        {"handles_of_nothing", 1, handles_of_nothing},
        {"types_come_again", 1, types_come_again},
        {"comms_come_again", 1, comms_come_again},
        {0},
    };

    return enq_main(argc, argv, "enq argument", cases);
}
