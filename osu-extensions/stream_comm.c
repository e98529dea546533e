/* An info, a stream of MPI's, a communicator. */
#include "osu-extensions/stream_comm.h"

void mgds_bench_stream_comm_open(struct mgds_bench_stream_comm *it,
                                 MPI_Comm parent, void *stream)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "CUstream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    MPIX_Stream_create(info, &it->stream);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(parent, it->stream, &it->comm);
}

void mgds_bench_stream_comm_close(struct mgds_bench_stream_comm *it)
{
    MPI_Comm_free(&it->comm);
    MPIX_Stream_free(&it->stream);
}
