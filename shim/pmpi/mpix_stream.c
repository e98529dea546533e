/*
 * The exported MPIX_ functions of streams. Each asks whether this library
 * serves the process. Switched off, it passes the call to the MPI below if that
 * has the function; without an MPI that is initialised it refuses.
 */
#include <stddef.h>
#include <stdint.h>

#include "mpix_gds.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/errtext.h"
#include "shim/pmpi/mpix.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/seen.h"

#define MGDS_EXPORT __attribute__((visibility("default")))

/* Called with a stack frame of ours above: nothing of MPI is touched before. */
static int refuse(const char *name)
{
    if (!mgds_process()->active)
        mgds_warn_once("%s: this library is inactive, and the MPI below does "
                       "not have that function",
                       name);
    else
        mgds_warn_once(
            "%s: MPI is not initialised, or was before this library "
            "was loaded: preload it (mpix-gds-run) or link it before "
            "MPI, and call MPI_Init first",
            name);
    return MPI_ERR_OTHER;
}

static bool serves(void)
{
    if (!mgds_process()->active || !mgds_init_seen())
        return false;
    if (mgds_presence_changed())
        mgds_presence_scan();
    return true;
}

/* What the MPI below has in its place, if we are switched off. */
static void *below(const char *name)
{
    return mgds_process()->active ? NULL : mgds_next_symbol(name);
}

static inline void begin(struct mgds_seen *seen, enum mgds_seen_call call,
                         uintptr_t stack)
{
    mgds_errtext_function = mgds_seen_names[call];
    if (mgds_process()->watched)
        mgds_seen_enter(seen, call, stack);
}

static inline int end(const struct mgds_seen *seen, int result)
{
    if (mgds_process()->watched)
        mgds_seen_leave(seen, result);
    mgds_errtext_function = NULL;
    return result;
}

#define MGDS_FUNCTION(name, body, params, args, body_args)                     \
    MGDS_EXPORT int MPIX_##name params                                         \
    {                                                                          \
        __typeof__(MPIX_##name) *next;                                         \
                                                                               \
        if (serves()) {                                                        \
            struct mgds_seen seen;                                             \
            int rc;                                                            \
                                                                               \
            begin(&seen, MGDS_SEEN_##name,                                     \
                  (uintptr_t)__builtin_frame_address(0));                      \
            rc = mgds_mpix_##body body_args;                                   \
            return end(&seen, rc);                                             \
        }                                                                      \
        next = (__typeof__(next))(uintptr_t)below("PMPIX_" #name);             \
        return next ? next args : refuse("MPIX_" #name);                       \
    }                                                                          \
    extern __typeof__(MPIX_##name) PMPIX_##name MGDS_EXPORT                    \
        __attribute__((alias("MPIX_" #name)));

/* A function and its large-count twin, which share a body. The last arguments
 * are those of mgds_mpix_args, from the peer on. */
#define MGDS_COUNTED(name, buffer, rest, args, peer, ...)                      \
    MGDS_FUNCTION(name, name, (buffer, int count, MGDS_UNWRAP rest), args,     \
                  (&(struct mgds_mpix_args){buf, count, datatype, peer, tag,   \
                                            comm, __VA_ARGS__}))               \
    MGDS_FUNCTION(name##_c, name, (buffer, MPI_Count count, MGDS_UNWRAP rest), \
                  args,                                                        \
                  (&(struct mgds_mpix_args){buf, count, datatype, peer, tag,   \
                                            comm, __VA_ARGS__}))
#define MGDS_UNWRAP(...) __VA_ARGS__

MGDS_FUNCTION(Stream_create, Stream_create,
              (MPI_Info info, MPIX_Stream *stream), (info, stream),
              (info, stream))
MGDS_FUNCTION(Stream_free, Stream_free, (MPIX_Stream * stream), (stream),
              (stream))
MGDS_FUNCTION(Stream_comm_create, Stream_comm_create,
              (MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm),
              (comm, stream, newcomm), (comm, stream, newcomm))
MGDS_FUNCTION(Stream_comm_create_multiplex, Stream_comm_create_multiplex,
              (MPI_Comm comm, int count, MPIX_Stream streams[],
               MPI_Comm *newcomm),
              (comm, count, streams, newcomm), (comm, count, streams, newcomm))
MGDS_FUNCTION(Comm_get_stream, Comm_get_stream,
              (MPI_Comm comm, int idx, MPIX_Stream *stream),
              (comm, idx, stream), (comm, idx, stream))
MGDS_FUNCTION(Stream_progress, Stream_progress, (MPIX_Stream stream), (stream),
              (stream))
MGDS_FUNCTION(Start_progress_thread, Start_progress_thread,
              (MPIX_Stream stream), (stream), (stream))
MGDS_FUNCTION(Stop_progress_thread, Stop_progress_thread, (MPIX_Stream stream),
              (stream), (stream))
MGDS_FUNCTION(Stream_get_native, Stream_get_native,
              (MPIX_Stream stream, int *type, void *handle, int size),
              (stream, type, handle, size), (stream, type, handle, size))
MGDS_FUNCTION(Stream_get_error, Stream_get_error,
              (MPIX_Stream stream, int *code, MPI_Request *first),
              (stream, code, first), (stream, code, first))
MGDS_FUNCTION(Stream_synchronize, Stream_synchronize,
              (MPIX_Stream stream, double timeout), (stream, timeout),
              (stream, timeout))
MGDS_FUNCTION(Stream_dump, Stream_dump, (MPIX_Stream stream, int fd),
              (stream, fd), (stream, fd))
MGDS_FUNCTION(Stream_group_start, Stream_group_start, (MPIX_Stream stream),
              (stream), (stream))
MGDS_FUNCTION(Stream_group_end, Stream_group_end, (MPIX_Stream stream),
              (stream), (stream))
MGDS_FUNCTION(Request_get_transport, Request_get_transport,
              (MPI_Request request, const char **transport, const char **reason,
               const char **remedy),
              (request, transport, reason, remedy),
              (request, transport, reason, remedy))
MGDS_FUNCTION(Info_set_hex, Info_set_hex,
              (MPI_Info info, const char *key, const void *value, int size),
              (info, key, value, size), (info, key, value, size))
MGDS_FUNCTION(Info_get_hex, Info_get_hex,
              (MPI_Info info, const char *key, void *value, int size,
               int *flag),
              (info, key, value, size, flag), (info, key, value, size, flag))

MGDS_COUNTED(Stream_send, const void *buf,
             (MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              int source_stream_index, int dest_stream_index),
             (buf, count, datatype, dest, tag, comm, source_stream_index,
              dest_stream_index),
             dest, source_stream_index, dest_stream_index, NULL, NULL)
MGDS_COUNTED(Stream_isend, const void *buf,
             (MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              int source_stream_index, int dest_stream_index,
              MPI_Request *request),
             (buf, count, datatype, dest, tag, comm, source_stream_index,
              dest_stream_index, request),
             dest, source_stream_index, dest_stream_index, request, NULL)
MGDS_COUNTED(Stream_recv, void *buf,
             (MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              int source_stream_index, int dest_stream_index,
              MPI_Status *status),
             (buf, count, datatype, source, tag, comm, source_stream_index,
              dest_stream_index, status),
             source, source_stream_index, dest_stream_index, NULL, status)
MGDS_COUNTED(Stream_irecv, void *buf,
             (MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              int source_stream_index, int dest_stream_index,
              MPI_Request *request),
             (buf, count, datatype, source, tag, comm, source_stream_index,
              dest_stream_index, request),
             source, source_stream_index, dest_stream_index, request, NULL)

MGDS_COUNTED(Send_enqueue, const void *buf,
             (MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
             (buf, count, datatype, dest, tag, comm), dest, 0, 0, NULL, NULL)
MGDS_COUNTED(Recv_enqueue, void *buf,
             (MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status *status),
             (buf, count, datatype, source, tag, comm, status), source, 0, 0,
             NULL, status)
MGDS_COUNTED(Isend_enqueue, const void *buf,
             (MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request),
             (buf, count, datatype, dest, tag, comm, request), dest, 0, 0,
             request, NULL)
MGDS_COUNTED(Irecv_enqueue, void *buf,
             (MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request),
             (buf, count, datatype, source, tag, comm, request), source, 0, 0,
             request, NULL)
MGDS_FUNCTION(Start_enqueue, Start_enqueue, (MPI_Request * request), (request),
              (request))
MGDS_FUNCTION(Startall_enqueue, Startall_enqueue,
              (int count, MPI_Request requests[]), (count, requests),
              (count, requests))
MGDS_FUNCTION(Wait_enqueue, Wait_enqueue,
              (MPI_Request * request, MPI_Status *status), (request, status),
              (request, status))
MGDS_FUNCTION(Waitall_enqueue, Waitall_enqueue,
              (int count, MPI_Request requests[], MPI_Status *statuses),
              (count, requests, statuses), (count, requests, statuses))
/* The twins' second buffer comes before the count. */
MGDS_FUNCTION(Allreduce_enqueue, Allreduce_enqueue,
              (const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
               MPI_Op op, MPI_Comm comm),
              (sendbuf, recvbuf, count, type, op, comm), (comm))
MGDS_FUNCTION(Allreduce_enqueue_c, Allreduce_enqueue,
              (const void *sendbuf, void *recvbuf, MPI_Count count,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm),
              (sendbuf, recvbuf, count, type, op, comm), (comm))
