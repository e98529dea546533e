/*
 * Ordinary MPI calls on stream communicators without a GPU stream: every
 * member has MPIX_STREAM_NULL or a CPU stream, so all goes through the engine,
 * and nothing through CUDA. Two ranks or more; the first two are a pair.
 */
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#include "mpix_gds.h"
#include "tests/api/check.h"

enum { TAG = 7, BIG = 300000 };

static int rank; /* beyond 1: only in what is collective */
static MPI_Comm comm;

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static void fill(int *data, int count, int seed)
{
    for (int i = 0; i < count; i++)
        data[i] = seed + i;
}

static bool is_filled(const int *data, int count, int seed)
{
    for (int i = 0; i < count; i++)
        if (data[i] != seed + i)
            return false;
    return true;
}

static void blocking_sends_arrive_in_order(void)
{
    static int data[BIG];
    MPI_Status status;
    int count;

    if (rank == 0) {
        fill(data, BIG, 1);
        CHECK(MPI_Send(data, 10, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
        CHECK(MPI_Ssend(data, BIG, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
        CHECK(MPI_Rsend(data, 1, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
        CHECK(MPI_Bsend(data, 5, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
    } else if (rank == 1) {
        static const int counts[4] = {10, BIG, 1, 5};

        for (int i = 0; i < 4; i++) {
            memset(data, 0, sizeof(data));
            CHECK(MPI_Recv(data, BIG, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0,
                           i % 2 ? TAG : MPI_ANY_TAG, comm,
                           &status) == MPI_SUCCESS);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == counts[i]);
            CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == TAG);
            CHECK(is_filled(data, count, 1));
        }
    }
}

static void a_pair_exchanges(void)
{
    int mine[4], theirs[4], both[4];
    MPI_Request request;
    int peer = 1 - rank;

    fill(mine, 4, 100 * rank);
    CHECK(MPI_Sendrecv(mine, 4, MPI_INT, peer, 1, theirs, 4, MPI_INT, peer, 1,
                       comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_filled(theirs, 4, 100 * peer));
    fill(both, 4, 100 * rank);
    CHECK(MPI_Sendrecv_replace(both, 4, MPI_INT, peer, 2, peer, 2, comm,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_filled(both, 4, 100 * peer));
    fill(both, 4, 7 * rank);
    CHECK(MPI_Isendrecv_replace(both, 4, MPI_INT, peer, 3, peer, 3, comm,
                                &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_filled(both, 4, 7 * peer));
    CHECK(MPI_Isendrecv(mine, 4, MPI_INT, peer, 4, theirs, 4, MPI_INT, peer, 4,
                        comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_filled(theirs, 4, 100 * peer));
}

/* Without a GPU stream the host alone starts them. */
static void persistent_requests_start_again(void)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int mine, theirs, peer = 1 - rank;

    CHECK(MPI_Recv_init(&theirs, 1, MPI_INT, peer, 5, comm, &request[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Ssend_init(&mine, 1, MPI_INT, peer, 5, comm, &request[1]) ==
          MPI_SUCCESS);
    CHECK(class_of(MPIX_Start_enqueue(&request[0])) == MPI_ERR_OTHER);
    for (int lap = 0; lap < 3; lap++) {
        mine = 10 * lap + rank;
        CHECK(MPI_Startall(2, request) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, request, status) == MPI_SUCCESS);
        CHECK(theirs == 10 * lap + peer && status[0].MPI_SOURCE == peer);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Request_free(&request[i]) == MPI_SUCCESS);
        CHECK(request[i] == MPI_REQUEST_NULL);
    }
}

static void requests_complete_by_every_call(void)
{
    enum { MANY = 40 };
    static int data[MANY];
    MPI_Request request[MANY];
    MPI_Status status[MANY];
    int indices[MANY];
    int n, index, flag = 0;

    for (int i = 0; i < MANY; i++) {
        data[i] = rank == 0 ? i : -1;
        if (rank == 0)
            MPI_Isend(&data[i], 1, MPI_INT, 1, i, comm, &request[i]);
        else
            MPI_Irecv(&data[i], 1, MPI_INT, 0, i, comm, &request[i]);
    }
    CHECK(MPI_Wait(&request[0], &status[0]) == MPI_SUCCESS);
    CHECK(request[0] == MPI_REQUEST_NULL);
    while (!flag)
        CHECK(MPI_Test(&request[1], &flag, &status[1]) == MPI_SUCCESS);
    CHECK(rank == 0 || (status[1].MPI_TAG == 1 && status[1].MPI_SOURCE == 0));
    CHECK(MPI_Waitany(2, &request[2], &index, &status[0]) == MPI_SUCCESS);
    CHECK(index == 0 || index == 1);
    CHECK(MPI_Waitsome(8, &request[2], &n, indices, status) == MPI_SUCCESS);
    CHECK(n >= 1);
    for (flag = 0; !flag;)
        CHECK(MPI_Request_get_status(request[12], &flag, &status[0]) ==
              MPI_SUCCESS);
    for (flag = 0; !flag;)
        CHECK(MPI_Testall(MANY, request, &flag, status) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        CHECK(request[i] == MPI_REQUEST_NULL && data[i] == i);
}

/* An ordinary rendezvous stands behind the wait of a stream communicator. */
static void other_communication_goes_on_meanwhile(void)
{
    static int data[BIG], other[BIG];
    MPI_Request request;

    if (rank == 0) {
        MPI_Irecv(data, BIG, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        CHECK(MPI_Recv(other, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(is_filled(data, BIG, 9));
    } else {
        fill(data, BIG, 9);
        MPI_Ssend(data, BIG, MPI_INT, 0, 1, MPI_COMM_WORLD);
        CHECK(MPI_Send(data, 1, MPI_INT, 0, 1, comm) == MPI_SUCCESS);
    }
}

static void probes_see_and_take_messages(void)
{
    MPI_Message message;
    MPI_Status status;
    int data = 5 + rank;
    int flag = 0;

    if (rank == 0) {
        for (int tag = 20; tag < 24; tag++)
            MPI_Send(&data, 1, MPI_INT, 1, tag, comm);
        return;
    }
    CHECK(MPI_Probe(MPI_ANY_SOURCE, 20, comm, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 20);
    while (!flag)
        CHECK(MPI_Iprobe(0, 21, comm, &flag, &status) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(0, 22, comm, &message, &status) == MPI_SUCCESS);
    data = 0;
    CHECK(MPI_Mrecv(&data, 1, MPI_INT, &message, &status) == MPI_SUCCESS);
    CHECK(data == 5 && message == MPI_MESSAGE_NULL && status.MPI_TAG == 22);
    for (flag = 0; !flag;)
        CHECK(MPI_Improbe(0, 23, comm, &flag, &message, &status) ==
              MPI_SUCCESS);
    data = 0;
    CHECK(MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(data == 5);
    for (int tag = 20; tag < 22; tag++)
        CHECK(MPI_Recv(&data, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
}

static void nobody_is_a_partner(void)
{
    MPI_Status status;
    MPI_Request request;
    int data = 3;
    int count;

    CHECK(MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status) ==
          MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && count == 0 && data == 3);
    CHECK(status.MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void receives_are_cancelled_and_requests_freed(void)
{
    static int data;
    MPI_Request request;
    MPI_Status status;
    int flag;

    MPI_Irecv(&data, 1, MPI_INT, 1 - rank, 99, comm, &request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    data = rank;
    MPI_Isend(&data, 1, MPI_INT, 1 - rank, 98, comm, &request);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPI_Recv(&flag, 1, MPI_INT, 1 - rank, 98, comm, &status) ==
          MPI_SUCCESS);
    CHECK(flag == 1 - rank);
}

static void truncation_is_an_error_and_no_more(void)
{
    int data[4] = {1, 2, 3, 4};
    MPI_Request request;
    MPI_Status status;
    int rc;

    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            CHECK(MPI_Send(data, 4, MPI_INT, 1, 5, comm) == MPI_SUCCESS);
        return;
    }
    memset(data, 0, sizeof(data));
    rc = MPI_Recv(data, 2, MPI_INT, 0, 5, comm, &status);
    CHECK(class_of(rc) == MPI_ERR_TRUNCATE);
    CHECK(data[0] == 1 && data[1] == 2 && data[2] == 0);
    MPI_Irecv(data, 2, MPI_INT, 0, 5, comm, &request);
    rc = MPI_Waitall(1, &request, &status);
    CHECK(class_of(rc) == MPI_ERR_IN_STATUS);
    CHECK(class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPI_Recv(data, 4, MPI_INT, 0, 5, comm, &status) == MPI_SUCCESS);
    CHECK(data[3] == 4);
}

static void arguments_are_checked(void)
{
    MPI_Datatype open_type;
    MPI_Request request;
    int data = 0, size, *ub, flag;

    MPI_Comm_size(comm, &size);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &ub, &flag);
    MPI_Type_contiguous(2, MPI_INT, &open_type);
    CHECK(class_of(MPI_Send(&data, -1, MPI_INT, 1, 0, comm)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Send(&data, 1, MPI_INT, size, 0, comm)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&data, 1, MPI_INT, 0, -5, comm)) == MPI_ERR_TAG);
    if (*ub < 2147483647)
        CHECK(class_of(MPI_Send(&data, 1, MPI_INT, 0, *ub + 1, comm)) ==
              MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(&data, 1, open_type, 0, 0, comm)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(NULL, 1, MPI_INT, 0, 0, comm)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Recv(&data, 1, MPI_DATATYPE_NULL, 0, 0, comm,
                            MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Psend_init(&data, 1, 1, MPI_INT, 0, 0, comm,
                                  MPI_INFO_NULL, &request)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPIX_Send_enqueue(&data, 1, MPI_INT, 0, 0, comm)) ==
          MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Isend_enqueue(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                                      &request)) == MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Send_enqueue(&data, 1, MPI_INT, 0, 0, MPI_COMM_NULL)) ==
          MPI_ERR_COMM);
    CHECK(class_of(MPIX_Allreduce_enqueue(&data, &flag, 1, MPI_INT, MPI_SUM,
                                          comm)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Type_free(&open_type);
}

static void collectives_and_duplicates_work(void)
{
    MPI_Comm dup, idup, copy = comm;
    MPI_Request request;
    int sum, data = rank, one = 1;
    MPIX_Stream stream;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum >= 2);
    CHECK(MPI_Comm_dup(comm, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(dup, &idup, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPIX_Comm_get_stream(idup, 0, &stream) == MPI_SUCCESS);
    if (rank == 0) {
        for (int i = 0; i < 3; i++, data++)
            MPI_Send(&data, 1, MPI_INT, 1, 0,
                     i == 0   ? idup
                     : i == 1 ? dup
                              : copy);
    } else if (rank == 1) {
        for (int i = 2; i >= 0; i--) {
            MPI_Recv(&data, 1, MPI_INT, 0, 0,
                     i == 0   ? idup
                     : i == 1 ? dup
                              : copy,
                     MPI_STATUS_IGNORE);
            CHECK(data == i);
        }
    }
    MPI_Comm_free(&idup);
    MPI_Comm_free(&dup);
}

/* Everybody to everybody, received by wildcards in any order. */
static void all_to_all(void)
{
    int size, out, got;
    MPI_Request request;
    MPI_Status status;
    int seen = 0;

    MPI_Comm_size(comm, &size);
    out = rank + 1000;
    for (int to = 0; to < size; to++) {
        CHECK(MPI_Isend(&out, 1, MPI_INT, to, TAG, comm, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
    for (int i = 0; i < size; i++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status) ==
              MPI_SUCCESS);
        CHECK(got == status.MPI_SOURCE + 1000);
        seen |= 1 << status.MPI_SOURCE;
    }
    CHECK(seen == (1 << size) - 1);
    MPI_Barrier(comm);
}

static void pair_on(void)
{
    blocking_sends_arrive_in_order();
    a_pair_exchanges();
    persistent_requests_start_again();
    requests_complete_by_every_call();
    other_communication_goes_on_meanwhile();
    probes_see_and_take_messages();
    nobody_is_a_partner();
    receives_are_cancelled_and_requests_freed();
    truncation_is_an_error_and_no_more();
}

static void all_on(MPI_Comm which)
{
    comm = which;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank < 2)
        pair_on();
    MPI_Barrier(comm);
    all_to_all();
    arguments_are_checked();
    collectives_and_duplicates_work();
    MPI_Barrier(comm);
}

static void streams_are_objects(void)
{
    MPIX_Stream stream, other;
    MPI_Request first;
    int type, code;

    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_get_native(stream, &type, NULL, 0) == MPI_SUCCESS);
    CHECK(type == MPIX_GDS_STREAM_CPU);
    CHECK(MPIX_Stream_progress(stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_progress(MPIX_STREAM_NULL) == MPI_SUCCESS);
    CHECK(MPIX_Start_progress_thread(stream) == MPI_SUCCESS);
    CHECK(MPIX_Stop_progress_thread(stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_synchronize(stream, 1) == MPI_SUCCESS);
    CHECK(MPIX_Stream_get_error(stream, &code, &first) == MPI_SUCCESS);
    CHECK(code == MPI_SUCCESS && first == MPI_REQUEST_NULL);
    other = stream;
    CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS);
    CHECK(stream == MPIX_STREAM_NULL);
    CHECK(class_of(MPIX_Stream_free(&other)) == MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Stream_progress(other)) == MPI_ERR_OTHER);
}

static void infos_carry_bytes(void)
{
    unsigned char bytes[8] = {0, 0, 0, 0xab, 0, 1, 0, 0}, back[8];
    char text[64], big[600];
    MPI_Info info;
    int flag;

    MPI_Info_create(&info);
    CHECK(MPIX_Info_set_hex(info, "value", bytes, 8) == MPI_SUCCESS);
    MPI_Info_get(info, "value", 63, text, &flag);
    CHECK(flag && !strcmp(text, "[3]AB0001[2]"));
    CHECK(MPIX_Info_get_hex(info, "value", back, 8, &flag) == MPI_SUCCESS);
    CHECK(flag && !memcmp(bytes, back, 8));
    CHECK(class_of(MPIX_Info_get_hex(info, "value", back, 7, &flag)) ==
          MPI_ERR_INFO_VALUE);
    CHECK(MPIX_Info_get_hex(info, "none", back, 8, &flag) == MPI_SUCCESS);
    CHECK(!flag);
    memset(big, 1, sizeof(big));
    CHECK(class_of(MPIX_Info_set_hex(info, "big", big, 600)) == MPI_ERR_ARG);
    MPI_Info_free(&info);
}

static void a_failing_member_fails_all(void)
{
    MPI_Comm none = MPI_COMM_NULL;
    MPIX_Stream bad = rank == 1 ? MPIX_STREAM_NULL + 12345 : MPIX_STREAM_NULL;
    int rc = MPIX_Stream_comm_create(MPI_COMM_WORLD, bad, &none);

    CHECK(class_of(rc) == MPI_ERR_OTHER);
    CHECK(none == MPI_COMM_NULL);
}

static void multiplexed_streams_are_apart(void)
{
    MPIX_Stream streams[3], found;
    MPI_Comm many;
    int data = rank;

    for (int i = 0; i < 3; i++)
        CHECK(MPIX_Stream_create(MPI_INFO_NULL, &streams[i]) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 3, streams,
                                            &many) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(many, MPI_ERRORS_RETURN);
    CHECK(MPIX_Comm_get_stream(many, 2, &found) == MPI_SUCCESS);
    CHECK(found == streams[2]);
    CHECK(class_of(MPIX_Comm_get_stream(many, 3, &found)) == MPI_ERR_ARG);
    if (rank == 0) {
        for (data = 0; data < 3; data++)
            CHECK(MPIX_Stream_send(&data, 1, MPI_INT, 1, 0, many, data,
                                   2 - data) == MPI_SUCCESS);
    } else if (rank == 1) {
        for (int i = 2; i >= 0; i--) {
            CHECK(MPIX_Stream_recv(&data, 1, MPI_INT, 0, 0, many, i, 2 - i,
                                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(data == i);
        }
    }
    CHECK(class_of(MPIX_Stream_send(&data, 1, MPI_INT, 1, 0, many, 3, 0)) ==
          MPI_ERR_ARG);
    for (int i = 0; i < 3; i++)
        MPIX_Stream_free(&streams[i]);
    MPI_Barrier(many);
    MPI_Comm_free(&many);
}

/* Ranks of the other group: each sends to the first of them, which hears all.
 * Their numbers may differ. */
static void talk_across(MPI_Comm inter)
{
    int mine, theirs, got;
    MPI_Status status;
    MPI_Request request;
    int seen = 0;

    MPI_Comm_rank(inter, &mine);
    MPI_Comm_remote_size(inter, &theirs);
    CHECK(MPI_Isend(&mine, 1, MPI_INT, 0, TAG, inter, &request) == MPI_SUCCESS);
    for (int i = 0; i < theirs && mine == 0; i++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, TAG, inter, &status) ==
              MPI_SUCCESS);
        CHECK(got == status.MPI_SOURCE);
        seen |= 1 << got;
    }
    CHECK(mine != 0 || seen == (1 << theirs) - 1);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Made of stream communicators, and made into ones, in every way there is. */
static void intercommunicators_name_the_other_group(MPI_Comm world)
{
    MPI_Comm half, stream_half, inter, stream_inter, dup, merged;
    int size, sum, one = 1, own;

    MPI_Comm_rank(world, &own);
    MPI_Comm_size(world, &size);
    CHECK(MPI_Comm_split(world, own % 2, own, &half) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(half, MPIX_STREAM_NULL, &stream_half) ==
          MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(stream_half, 0, world, 1 - own % 2, 0, &inter) ==
          MPI_SUCCESS);
    talk_across(inter);
    CHECK(MPIX_Stream_comm_create(inter, MPIX_STREAM_NULL, &stream_inter) ==
          MPI_SUCCESS);
    talk_across(stream_inter);
    CHECK(MPI_Comm_dup(stream_inter, &dup) == MPI_SUCCESS);
    talk_across(dup);
    CHECK(MPI_Intercomm_merge(stream_inter, own % 2, &merged) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged) ==
          MPI_SUCCESS);
    CHECK(sum == size);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&stream_inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&stream_half);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm without, with;
    MPIX_Stream stream;
    int value;

    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_ERR_OTHER);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    streams_are_objects();
    infos_carry_bytes();
    a_failing_member_fails_all();
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &without) ==
          MPI_SUCCESS);
    all_on(without);
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD,
                                  rank ? stream : MPIX_STREAM_NULL,
                                  &with) == MPI_SUCCESS);
    MPIX_Stream_free(&stream);
    all_on(with);
    multiplexed_streams_are_apart();
    intercommunicators_name_the_other_group(with);
    MPI_Comm_free(&with);
    MPI_Comm_free(&without);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    if (rank == 0)
        printf("plain: all well\n");
    return 0;
}
