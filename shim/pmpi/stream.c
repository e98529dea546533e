/* MPIX_Stream objects and the calls on them. */
#include "shim/pmpi/stream.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/domain/domain.h"
#include "shim/gds/domain/dump.h"
#include "shim/gds/queue/gstream.h"
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

static int bad_info(const char *what)
{
    mgds_err("MPIX_Stream_create: %s: set the info's \"type\" to "
             "\"cudaStream_t\", then \"value\" with MPIX_Info_set_hex",
             what);
    return -EINVAL;
}

/* 1 and the text, 0 without one, or -EBADF: MPI has said that it is no info. */
static int read_key(char text[MGDS_HEX_TEXT], MPI_Info info, const char *key)
{
    int flag = 0;
    int rc = mgds_below()->Info_get(info, key, MGDS_HEX_TEXT - 1, text, &flag);

    return rc == MPI_SUCCESS ? flag != 0 : -EBADF;
}

/* 1: *native is set; 0: a CPU stream; -EINVAL, said; -EBADF likewise. */
static int read_info(void **native, MPI_Info info)
{
    char text[MGDS_HEX_TEXT] = "";
    int rc;

    if (info == MPI_INFO_NULL)
        return 0;
    rc = read_key(text, info, "type");
    if (rc != 1)
        return rc;
    if (strcmp(text, "cudaStream_t") != 0 && strcmp(text, "CUstream") != 0)
        return bad_info("the info's \"type\" is no stream of CUDA");
    rc = read_key(text, info, "value");
    if (rc == 0)
        return bad_info("the info has a \"type\" but no \"value\"");
    if (rc == 1 && mgds_hex_decode(native, sizeof(*native), text) < 0)
        return bad_info("the info's \"value\" is no handle of a stream");
    return rc;
}

static int say_no_gpu(int rc)
{
    switch (rc) {
    case -EINVAL:
        return bad_info("the info's \"value\" is not a stream of this "
                        "process's CUDA context");
    case -ENODEV:
        mgds_err("MPIX_Stream_create: no GPU can be used in this process: "
                 "mpix-gds-doctor says why");
        return rc;
    default:
        return rc; /* said where it was met */
    }
}

static int create(struct mgds_stream **out, MPI_Info info)
{
    struct mgds_stream *stream = mgds_calloc(1, sizeof(*stream));
    int rc;

    if (!stream)
        return -ENOMEM;
    stream->refs = 1;
    rc = read_info(&stream->native, info);
    if (rc < 0)
        goto free_stream;
    if (rc == 1) {
        mgds_presence_scan();
        rc = mgds_gstream_create(&stream->gpu, stream->native);
    }
    if (rc < 0) {
        rc = say_no_gpu(rc);
        goto free_stream;
    }
    rc = mgds_handles_add(&stream->handle, &streams, stream);
    if (rc < 0)
        goto release_gpu;
    *out = stream;
    return 0;
release_gpu:
    if (stream->gpu)
        mgds_gstream_release(stream->gpu);
free_stream:
    free(stream);
    return rc;
}

/* Every error of a stream is MPICH's MPI_ERR_OTHER. */
static int fail(int rc)
{
    return mgds_mpi_raise(MPI_COMM_NULL,
                          rc == -ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_OTHER);
}

static int no_stream(void)
{
    mgds_warn_once("a handle that is no MPIX_Stream, or of one that was freed, "
                   "was given to an MPIX call");
    return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_OTHER);
}

int mgds_mpix_Stream_create(MPI_Info info, MPIX_Stream *handle)
{
    struct mgds_stream *stream;
    int rc;

    if (!handle)
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    mgds_domains_let_go();
    mgds_domains_safe_point();
    rc = create(&stream, info);
    if (rc == -EBADF)
        return MPI_ERR_INFO;
    if (rc < 0)
        return fail(rc);
    *handle = stream->handle;
    return MPI_SUCCESS;
}

int mgds_mpix_Stream_free(MPIX_Stream *handle)
{
    struct mgds_stream *stream;

    if (!handle)
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    stream = mgds_stream_find(*handle);
    if (!stream)
        return no_stream();
    if (__atomic_exchange_n(&stream->freed, true, __ATOMIC_RELAXED)) {
        mgds_stream_put(stream);
        return no_stream();
    }
    mgds_stream_put(stream); /* the program's */
    mgds_stream_put(stream); /* find's */
    mgds_domains_let_go();
    mgds_domains_safe_point();
    *handle = MPIX_STREAM_NULL;
    return MPI_SUCCESS;
}

int mgds_mpix_Stream_get_native(MPIX_Stream handle, int *type, void *native,
                                int size)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    int rc = MPI_SUCCESS;

    if (!stream)
        return no_stream();
    if (!type || size < 0 ||
        (stream->gpu && size && (!native || size != sizeof(stream->native)))) {
        rc = mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
        goto put_stream;
    }
    *type = stream->gpu ? MPIX_GDS_STREAM_CUDA : MPIX_GDS_STREAM_CPU;
    if (stream->gpu && size)
        memcpy(native, &stream->native, sizeof(stream->native));
put_stream:
    mgds_stream_put(stream);
    return rc;
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
        return no_stream();
    if (mgds_scomms_used())
        mgds_op_progress();
    mgds_below_progress();
    return MPI_SUCCESS;
}

int mgds_mpix_Start_progress_thread(MPIX_Stream handle)
{
    return is_legal(handle) ? MPI_SUCCESS : no_stream();
}

int mgds_mpix_Stop_progress_thread(MPIX_Stream handle)
{
    return is_legal(handle) ? MPI_SUCCESS : no_stream();
}

int mgds_mpix_Stream_get_error(MPIX_Stream handle, int *code,
                               MPI_Request *first)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    uint64_t name = 0;
    int rc = 0;

    if (!stream)
        return no_stream();
    if (!code) {
        mgds_stream_put(stream);
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    }
    if (stream->gpu)
        rc = mgds_gstream_take_error(stream->gpu, &name);
    mgds_stream_put(stream);
    *code = mgds_mpi_class(rc);
    if (first)
        *first = rc < 0 && name ? (MPI_Request)name : MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int synchronize(const struct mgds_stream *stream, double timeout)
{
    const struct mgds_drain_rule rule = {.call = "MPIX_Stream_synchronize",
                                         .timeout = timeout,
                                         .idle = mgds_below_progress};
    unsigned left = 0;
    int rc = 0;

    if (stream->gpu && mgds_scomms_used())
        rc = mgds_op_drain(stream->gpu, &rule, &left);
    if (rc == -ETIMEDOUT)
        return MPI_ERR_PENDING;
    if (rc < 0)
        return fail(rc);
    return mgds_scomms_raise(stream);
}

int mgds_mpix_Stream_synchronize(MPIX_Stream handle, double timeout)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    int rc;

    if (!stream)
        return no_stream();
    if (timeout >= 0)
        rc = synchronize(stream, timeout);
    else
        rc = mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    mgds_stream_put(stream);
    return rc;
}

int mgds_mpix_Stream_dump(MPIX_Stream handle, int fd)
{
    struct mgds_stream *stream = mgds_stream_find(handle);
    int rc = 0;

    if (!stream && handle != MPIX_STREAM_NULL)
        return no_stream();
    if (fd < 0)
        rc = -EBADF;
    else if (!stream || stream->gpu)
        rc = mgds_dump(stream ? stream->gpu : NULL, fd);
    else
        rc = mgds_log_to(fd, "nothing stands");
    mgds_stream_put(stream);
    if (rc == 0)
        return MPI_SUCCESS;
    return mgds_mpi_raise(MPI_COMM_NULL,
                          rc == -EBADF ? MPI_ERR_ARG : MPI_ERR_IO);
}

int mgds_mpix_Info_set_hex(MPI_Info info, const char *key, const void *value,
                           int size)
{
    char text[MGDS_HEX_TEXT];

    if (!value || size < 0 || mgds_hex_encode(text, value, (size_t)size) < 0)
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    return mgds_below()->Info_set(info, key, text);
}

int mgds_mpix_Info_get_hex(MPI_Info info, const char *key, void *value,
                           int size, int *flag)
{
    char text[MGDS_HEX_TEXT] = "";
    char *bytes;
    int found = 0;
    int rc;

    if (!value || size < 0 || !flag)
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    rc = mgds_below()->Info_get(info, key, (int)sizeof(text) - 1, text, &found);
    if (rc != MPI_SUCCESS || !found) {
        *flag = 0;
        return rc;
    }
    bytes = mgds_malloc((size_t)size + 1);
    if (!bytes)
        return mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM);
    rc = mgds_hex_decode(bytes, (size_t)size, text);
    *flag = rc == 0;
    if (rc == 0)
        memcpy(value, bytes, (size_t)size);
    free(bytes);
    return rc == 0 ? MPI_SUCCESS
                   : mgds_mpi_raise(MPI_COMM_NULL, MPI_ERR_INFO_VALUE);
}
