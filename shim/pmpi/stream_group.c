/* Groups of enqueued calls: start and end. */
#include <errno.h>

#include "shim/gds/comm/comm.h"
#include "shim/pmpi/enqueue.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/stream.h"
#include "shim/pmpi/stream_comm.h"

static int lacks_gpu(MPIX_Stream handle)
{
    return mgds_mpi_refuse(
        MPI_COMM_NULL, MPI_ERR_OTHER,
        "stream is 0x%08x, which is of the CPU: make it with "
        "MPIX_Stream_create and a \"type\" cudaStream_t",
        (unsigned)handle);
}

static int lacks_group(MPIX_Stream handle)
{
    return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                           "this thread has no group open on the stream "
                           "0x%08x: call MPIX_Stream_group_start, in the same "
                           "thread, first",
                           (unsigned)handle);
}

/* With a reference, of a stream that may be used now; or NULL, and the code of
 * what was raised. */
static struct mgds_stream *find(MPIX_Stream handle, int *code)
{
    struct mgds_stream *stream = mgds_stream_find(handle);

    if (!stream)
        *code = mgds_stream_refuse(handle);
    else if (!stream->gpu)
        *code = lacks_gpu(handle);
    else
        *code = mgds_enqueue_check_capture(stream->gpu, MPI_COMM_NULL);
    if (*code == MPI_SUCCESS)
        return stream;
    mgds_stream_put(stream);
    return NULL;
}

int mgds_mpix_Stream_group_start(MPIX_Stream handle)
{
    int code;
    struct mgds_stream *stream = find(handle, &code);
    int rc;

    if (!stream)
        return code;
    rc = mgds_group_start(stream->gpu, true);
    mgds_stream_put(stream);
    return mgds_mpi_error(MPI_COMM_NULL, rc);
}

/* What could not be put its communicators' error handlers hear of. */
static int end(const struct mgds_stream *stream)
{
    int rc = mgds_group_end(stream->gpu, true);
    int code = MPI_SUCCESS;

    if (rc == -ENOENT)
        return lacks_group(stream->handle);
    if (rc < 0)
        code = mgds_scomms_raise(stream);
    return code == MPI_SUCCESS ? mgds_mpi_error(MPI_COMM_NULL, rc) : code;
}

int mgds_mpix_Stream_group_end(MPIX_Stream handle)
{
    int code;
    struct mgds_stream *stream = find(handle, &code);

    if (!stream)
        return code;
    code = end(stream);
    mgds_stream_put(stream);
    return code;
}
