/* MPIX_Stream objects and the calls on them. */
#include "shim/pmpi/stream.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/comm/dump.h"
#include "shim/gds/stream/gstream.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/handles.h"
#include "shim/pmpi/info_hex.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_comm.h"

/* Not one that is on its way out. */
static bool get_alive(void *object)
{
    struct mgds_stream *stream = object;
    unsigned refs = __atomic_load_n(&stream->refs, __ATOMIC_RELAXED);

    while (refs > 0)
        if (__atomic_compare_exchange_n(&stream->refs, &refs, refs + 1, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    return false;
}

static struct mgds_handles streams =
    MGDS_HANDLES_INIT((uint32_t)MPIX_STREAM_NULL, get_alive);

struct mgds_stream *mgds_stream_find(MPIX_Stream handle)
{
    return mgds_handles_find(&streams, handle);
}

void mgds_stream_get(struct mgds_stream *stream)
{
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
}

void mgds_stream_put(struct mgds_stream *stream)
{
    if (!stream || __atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_handles_remove(&streams, stream->handle);
    if (stream->gpu)
        mgds_gstream_release(stream->gpu);
    free(stream);
}

/* 1 and the text, 0 without one, or -EBADF: MPI has said that it is no info. */
static int read_key(char text[MGDS_HEX_TEXT], MPI_Info info, const char *key)
{
    int flag = 0;
    int rc = mgds_below()->Info_get(info, key, MGDS_HEX_TEXT - 1, text, &flag);

    return rc == MPI_SUCCESS ? flag != 0 : -EBADF;
}

/* What is asked for: MPI_SUCCESS, and *gpu tells whether *native is set; or the
 * code that was raised. */
static int read_info(void **native, bool *gpu, MPI_Info info)
{
    char text[MGDS_HEX_TEXT] = "";
    int rc = info == MPI_INFO_NULL ? 0 : read_key(text, info, "type");

    *gpu = rc == 1;
    if (rc < 0)
        return MPI_ERR_INFO;
    if (rc == 0)
        return MPI_SUCCESS;
    if (strcmp(text, "cudaStream_t") != 0 && strcmp(text, "CUstream") != 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "the info's \"type\" is \"%s\", must be "
                               "\"cudaStream_t\"",
                               text);
    rc = read_key(text, info, "value");
    if (rc < 0)
        return MPI_ERR_INFO;
    if (rc == 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "the info has a \"type\" but no \"value\": set "
                               "it with MPIX_Info_set_hex");
    if (mgds_hex_decode(native, sizeof(*native), text) < 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "the info's \"value\" is \"%s\", must be a "
                               "cudaStream_t that MPIX_Info_set_hex has set",
                               text);
    return MPI_SUCCESS;
}

/* Every error of a stream is MPICH's MPI_ERR_OTHER. */
static int refuse_gpu(const void *native, int rc)
{
    switch (rc) {
    case -ENOMEM:
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_NO_MEM,
                               "no memory for the stream");
    case -EINVAL:
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "the info's \"value\" is %p, which is not a "
                               "stream of this process's CUDA context",
                               native);
    case -ENODEV:
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "no GPU can be used in this process: "
                               "mpix-gds-doctor says why");
    default:
        errno = -rc;
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "the stream %p cannot be used: %m", native);
    }
}

static int open_stream(struct mgds_stream *stream, bool gpu)
{
    int rc = 0;

    stream->refs = 1;
    if (gpu) {
        mgds_presence_scan();
        rc = mgds_gstream_create(&stream->gpu, stream->native);
    }
    if (rc < 0)
        return rc;
    rc = mgds_handles_add(&stream->handle, &streams, stream);
    if (rc < 0 && gpu)
        mgds_gstream_release(stream->gpu);
    return rc;
}

static int create(struct mgds_stream **out, void *native, bool gpu)
{
    struct mgds_stream *stream = mgds_calloc(1, sizeof(*stream));
    int rc = -ENOMEM;

    if (stream) {
        stream->native = native;
        rc = open_stream(stream, gpu);
    }
    if (rc < 0) {
        free(stream);
        return refuse_gpu(native, rc);
    }
    *out = stream;
    return MPI_SUCCESS;
}

int mgds_stream_refuse(MPIX_Stream handle)
{
    if (handle == MPIX_STREAM_NULL)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                               "stream is MPIX_STREAM_NULL");
    return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_OTHER,
                           "stream is 0x%08x, which is no MPIX_Stream, or one "
                           "that was freed",
                           (unsigned)handle);
}

int mgds_mpix_Stream_create(MPI_Info info, MPIX_Stream *handle)
{
    struct mgds_stream *stream = NULL;
    void *native = NULL;
    bool gpu;
    int rc;

    if (!handle)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "stream");
    mgds_comms_let_go();
    rc = read_info(&native, &gpu, info);
    if (rc == MPI_SUCCESS)
        rc = create(&stream, native, gpu);
    if (stream)
        *handle = stream->handle;
    return rc;
}

int mgds_mpix_Stream_free(MPIX_Stream *handle)
{
    struct mgds_stream *stream;

    if (!handle)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "stream");
    stream = mgds_stream_find(*handle);
    if (!stream)
        return mgds_stream_refuse(*handle);
    if (__atomic_exchange_n(&stream->freed, true, __ATOMIC_RELAXED)) {
        mgds_stream_put(stream);
        return mgds_stream_refuse(*handle);
    }
    if (stream->gpu)
        mgds_group_leave(stream->gpu);
    /* the program's reference, and then find's */
    __atomic_fetch_sub(&stream->refs, 1, __ATOMIC_RELAXED);
    mgds_stream_put(stream);
    mgds_comms_let_go();
    mgds_comms_trim();
    mgds_comms_safe_point();
    *handle = MPIX_STREAM_NULL;
    return MPI_SUCCESS;
}

/* A size of 0 asks for the type alone. */
static int check_native(const int *type, const void *native, int size, bool gpu)
{
    if (!type)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "type");
    if (size < 0 || (gpu && size && size != sizeof(void *)))
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_ARG,
                               "handle_size is %d, must be 0 or %zu", size,
                               sizeof(void *));
    return gpu && size && !native
               ? mgds_mpi_refuse_null(MPI_COMM_NULL, "handle")
               : MPI_SUCCESS;
}

int mgds_mpix_Stream_get_native(MPIX_Stream handle, int *type, void *native,
                                int size)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    void *of;
    bool gpu;
    int rc;

    if (!stream)
        return mgds_stream_refuse(handle);
    of = stream->native;
    gpu = stream->gpu;
    mgds_stream_put(stream);
    rc = check_native(type, native, size, gpu);
    if (rc != MPI_SUCCESS)
        return rc;
    *type = gpu ? MPIX_GDS_STREAM_CUDA : MPIX_GDS_STREAM_CPU;
    if (gpu && size)
        memcpy(native, &of, sizeof(of));
    return MPI_SUCCESS;
}

/* MPIX_STREAM_NULL is legal here: MPICH's "all that is not a stream's". */
static bool is_legal(MPIX_Stream handle)
{
    struct mgds_stream *stream = mgds_stream_find(handle);

    mgds_stream_put(stream);
    return stream || handle == MPIX_STREAM_NULL;
}

int mgds_mpix_Stream_progress(MPIX_Stream handle)
{
    if (!is_legal(handle))
        return mgds_stream_refuse(handle);
    if (mgds_scomms_used())
        mgds_op_progress();
    mgds_below_progress();
    return MPI_SUCCESS;
}

int mgds_mpix_Start_progress_thread(MPIX_Stream handle)
{
    return is_legal(handle) ? MPI_SUCCESS : mgds_stream_refuse(handle);
}

int mgds_mpix_Stop_progress_thread(MPIX_Stream handle)
{
    return is_legal(handle) ? MPI_SUCCESS : mgds_stream_refuse(handle);
}

int mgds_mpix_Stream_get_error(MPIX_Stream handle, int *code,
                               MPI_Request *first)
{
    struct mgds_failure failure = {.error = 0};
    struct mgds_stream *stream;

    if (!code)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "errcode");
    stream = mgds_stream_find(handle);
    if (!stream)
        return mgds_stream_refuse(handle);
    if (stream->gpu)
        mgds_gstream_take_error(stream->gpu, &failure);
    mgds_stream_put(stream);
    *code = mgds_mpi_failure(&failure);
    if (first)
        *first = failure.error && failure.name ? (MPI_Request)failure.name
                                               : MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* Without a handler: 0, -ETIMEDOUT, or what makes the stream unfit. */
static int drain(const struct mgds_stream *stream, double timeout)
{
    const struct mgds_drain_rule rule = {.call = "MPIX_Stream_synchronize",
                                         .timeout = timeout,
                                         .idle = mgds_below_progress};
    unsigned left = 0;

    return stream->gpu && mgds_scomms_used()
               ? mgds_op_drain(stream->gpu, &rule, &left)
               : 0;
}

static int synchronize(const struct mgds_stream *stream, double timeout)
{
    int rc = drain(stream, timeout);

    if (rc == -ETIMEDOUT)
        return MPI_ERR_PENDING;
    if (rc < 0)
        return refuse_gpu(stream->native, rc);
    return mgds_scomms_raise(stream);
}

int mgds_mpix_Stream_synchronize(MPIX_Stream handle, double timeout)
{
    struct mgds_stream *stream;
    int rc;

    if (!(timeout >= 0))
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_ARG,
                               "timeout_s is %g, must be 0 or more", timeout);
    stream = mgds_stream_find(handle);
    if (!stream)
        return mgds_stream_refuse(handle);
    rc = synchronize(stream, timeout);
    mgds_stream_put(stream);
    return rc;
}

int mgds_mpix_Stream_dump(MPIX_Stream handle, int fd)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    int rc = 0;

    if (!stream && handle != MPIX_STREAM_NULL)
        return mgds_stream_refuse(handle);
    if (fd < 0)
        rc = -EBADF;
    else if (!stream || stream->gpu)
        rc = mgds_dump(stream ? stream->gpu : NULL, fd);
    else
        rc = mgds_log_to(fd, "nothing stands");
    mgds_stream_put(stream);
    if (rc == 0)
        return MPI_SUCCESS;
    errno = -rc;
    return mgds_mpi_refuse(MPI_COMM_NULL,
                           rc == -EBADF ? MPI_ERR_ARG : MPI_ERR_IO,
                           "fd is %d, to which nothing can be written: %m", fd);
}

static int refuse_size(int size)
{
    return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_ARG,
                           "value_size is %d, must be 0 or more", size);
}

int mgds_mpix_Info_set_hex(MPI_Info info, const char *key, const void *value,
                           int size)
{
    char text[MGDS_HEX_TEXT];

    if (!value)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, "value");
    if (size < 0)
        return refuse_size(size);
    if (mgds_hex_encode(text, value, (size_t)size) < 0)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_ARG,
                               "value_size is %d, of which the text is longer "
                               "than %d characters",
                               size, MGDS_HEX_TEXT - 1);
    return mgds_below()->Info_set(info, key, text);
}

/* The bytes of the text, into size of them. MPI_SUCCESS, or what was raised. */
static int decode(void *value, int size, const char *text)
{
    char *bytes = mgds_malloc((size_t)size + 1);
    int rc = bytes ? mgds_hex_decode(bytes, (size_t)size, text) : -ENOMEM;

    if (rc == 0)
        memcpy(value, bytes, (size_t)size);
    free(bytes);
    if (rc == -ENOMEM)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_NO_MEM,
                               "no memory for %d bytes", size);
    if (rc < 0)
        return mgds_mpi_refuse(
            MPI_COMM_NULL, MPI_ERR_INFO_VALUE,
            "the info's value is \"%.100s\", which is not %d "
            "bytes that MPIX_Info_set_hex has set",
            text, size);
    return MPI_SUCCESS;
}

int mgds_mpix_Info_get_hex(MPI_Info info, const char *key, void *value,
                           int size, int *flag)
{
    char text[MGDS_HEX_TEXT] = "";
    int found = 0;
    int rc;

    if (!value || !flag)
        return mgds_mpi_refuse_null(MPI_COMM_NULL, value ? "flag" : "value");
    if (size < 0)
        return refuse_size(size);
    rc = mgds_below()->Info_get(info, key, (int)sizeof(text) - 1, text, &found);
    *flag = 0;
    if (rc != MPI_SUCCESS || !found)
        return rc;
    rc = decode(value, size, text);
    *flag = rc == MPI_SUCCESS;
    return rc;
}
