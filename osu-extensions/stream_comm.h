/* A communicator whose messages are in the order of a CUDA stream, as MPICH's
 * stream API makes it. */
#ifndef MGDS_BENCH_STREAM_COMM_H
#define MGDS_BENCH_STREAM_COMM_H

#include <mpix_gds.h>

struct mgds_bench_stream_comm {
    MPIX_Stream stream;
    MPI_Comm comm;
};

/* From a native handle, a CUstream. Collective over `parent`, as close is over
 * it. MPI errors are fatal. */
void mgds_bench_stream_comm_open(struct mgds_bench_stream_comm *it,
                                 MPI_Comm parent, void *stream);
void mgds_bench_stream_comm_close(struct mgds_bench_stream_comm *it);

#endif
