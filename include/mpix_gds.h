/*
 * mpix-gds: MPI communication in CUDA-stream order.
 *
 * The public API. A program that includes this header is linked with
 * libmpix_gds.so before MPICH (pkg-config mpix-gds does it), or leaves the
 * symbols open and is started with the library preloaded (mpix-gds-run).
 * Sources that include only <mpi.h> are compiled with mpix-gds-cc.
 *
 * The types, constants and functions from MPIX_Stream to MPIX_Info_set_hex are
 * MPICH's, with its signatures. Where mpi.h declares them (MPICH 4.1 and later)
 * this header does not; what is said of them here holds all the same, since
 * this library answers the calls, above every version of MPICH.
 *
 * Every function has a PMPIX_ twin. Unless a function says otherwise it
 * returns an error code of MPI's, MPI_SUCCESS when all went well, and may be
 * called by any thread that the program's thread level lets call MPI, between
 * initialisation and finalisation of MPI.
 *
 * Errors (MPI-4.0 section 9.4). Below their classes are named, which
 * MPI_Error_class gives; MPI_Error_string says which argument has which value
 * and what it may be, or which operation has failed. Texts have at most 511
 * bytes. Each class has twelve codes for them: the code of a text that was not
 * met for longest is used again, and then gives a newer text of the same class.
 * Where the handler is MPI_ERRORS_ARE_FATAL or MPI_ERRORS_ABORT the text is
 * printed and the job aborted with the class. MPI_Finalize returns a class, for
 * codes end with MPI.
 */
#ifndef MPIX_GDS_H
#define MPIX_GDS_H

#include <mpi.h>
#include <stdint.h>

#define MPIX_GDS_VERSION_MAJOR 0
#define MPIX_GDS_VERSION_MINOR 2
#define MPIX_GDS_VERSION_PATCH 0

/* What MPIX_Gds_query answers; values are part of the ABI. */
#define MPIX_GDS_VERSION 0 /* major * 10000 + minor * 100 + patch */
#define MPIX_GDS_ACTIVE 1  /* 1: calls are served; 0: they only pass through */
#define MPIX_GDS_CUDA 2    /* 1: libcuda is in this process */

/* In place of an index of MPIX_Gds_counter: the counter of that name. */
#define MPIX_GDS_COUNTER_NAMED (-1)

/* What MPIX_Stream_get_native says a stream is. */
#define MPIX_GDS_STREAM_CPU 0  /* a serial context: no native handle */
#define MPIX_GDS_STREAM_CUDA 1 /* a cudaStream_t, which is a CUstream */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tells about the library that is loaded, which may be newer than this header.
 *
 * what   one of the names above
 * value  where the answer goes; owned by the caller; untouched on error
 *
 * MPIX_GDS_ACTIVE is 0 above an MPI without MPICH's handles, with
 * MPIX_GDS_ENABLE=no, and in a process without MPI.
 *
 * Errors: MPI_ERR_ARG for an unknown question or a NULL value. No error
 * handler is called. Legal before MPI_Init and after MPI_Finalize, from any
 * thread at any time. Puts nothing on a stream.
 */
int MPIX_Gds_query(int what, int64_t *value);
int PMPIX_Gds_query(int what, int64_t *value);

/*
 * Reads one of this process's counters: what has happened so far, such as
 * "send_p2p_64k", messages that went from GPU to GPU and had more than 1 KiB,
 * but not more than 64. docs/tracing.md lists them.
 *
 * index    0, 1, and so on, until MPI_ERR_ARG: each counter, in an order that
 *          is constant while the process runs; or MPIX_GDS_COUNTER_NAMED
 * name     with MPIX_GDS_COUNTER_NAMED the caller's text that names the
 *          counter, not changed; else where its name goes, or NULL
 * meaning  where a line that explains it goes, "" for those named after an MPI
 *          function, which count its calls; or NULL
 * value    where its value goes, or NULL
 *
 * The texts are the library's, and constant. Nothing is written on error. Calls
 * of functions are counted with MPIX_GDS_SUMMARY or MPIX_GDS_TRACE alone; all
 * others always are. A value holds what the calling thread has done, and what
 * it knows otherwise to have happened before. Counters never fall, but for
 * those whose meaning says "now".
 *
 * Errors: MPI_ERR_ARG for an index or a name that no counter has, and for NULL,
 * or NULL in it, as the name with MPIX_GDS_COUNTER_NAMED. No error handler is
 * called. Legal before MPI_Init and after MPI_Finalize, from any thread at any
 * time. Costs some nanoseconds for each thread that calls MPI, and a
 * microsecond or two by name. Puts nothing on a stream.
 */
int MPIX_Gds_counter(int index, const char **name, const char **meaning,
                     int64_t *value);
int PMPIX_Gds_counter(int index, const char **name, const char **meaning,
                      int64_t *value);

#ifndef MPIX_STREAM_NULL

typedef int MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)

#ifndef MPIX_ERR_STREAM
#define MPIX_ERR_STREAM (MPICH_ERR_FIRST_MPIX + 6)
#endif

/*
 * Streams
 *
 * Errors of the functions of this part: MPI_ERR_OTHER for what is no stream,
 * for an info without a value or with one that is no handle, for a process
 * whose MPI_Init this library has not seen; MPI_ERR_ARG for NULL;
 * MPI_ERR_NO_MEM. They go to the error handler of MPI_COMM_SELF; in a program
 * that has sessions only, and in all that is said of MPI_COMM_SELF below, to
 * that of the session which it has had open for longest.
 */

/*
 * Makes a stream object.
 *
 * info    key "type": "cudaStream_t" or "CUstream", then key "value" holds the
 *         native handle as MPIX_Info_set_hex writes it; MPI_INFO_NULL or no
 *         key "type": a CPU stream, that is a serial context. Streams 0,
 *         cudaStreamLegacy and cudaStreamPerThread are legal values.
 * stream  the new object; the caller frees it
 *
 * The native stream stays the program's. It must live until work enqueued here
 * is done; after that this library does not use it. What comes of the handle of
 * a destroyed stream is undefined, as it is in CUDA. Loads what the GPU needs
 * (kernels, pinned memory), so it is the slow call of this API, but it does not
 * wait for what is on the device. Local. */
int MPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);

/* Gives the object back and sets *stream to MPIX_STREAM_NULL. Legal while
 * communicators of the stream exist and while work is under way: both keep what
 * they need. Does not wait, unless communicators were freed or pinned memory
 * was short since the last one: that may wait for all that is on the device. */
int MPIX_Stream_free(MPIX_Stream *stream);

/*
 * Makes a stream communicator: collective over comm.
 *
 * comm     an intra- or intercommunicator; not changed
 * stream   this process's stream, or MPIX_STREAM_NULL; each process may give
 *          another one
 * newcomm  has the group of comm, its own matching, and the stream; freed with
 *          MPI_Comm_free
 *
 * Messages on newcomm, enqueued and ordinary ones, match each other in the
 * order of the calls. MPI_Comm_dup and its kin inherit the stream. All members
 * must run this library. If one of them fails, all get an error, and nobody a
 * communicator. Errors go to comm's error handler, which newcomm inherits.
 *
 * Not on newcomm in this version, whatever its streams and wherever buffers
 * are: partitioned communication. MPI_Psend_init and MPI_Precv_init return
 * MPI_ERR_UNSUPPORTED_OPERATION, and make no request: a persistent request for
 * each partition takes their place (MPIX_Start_enqueue). Collectives,
 * persistent ones too, go to the MPI library.
 */
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream,
                            MPI_Comm *newcomm);

/* Likewise with count streams (0 or more, each process its own number), named
 * by their index. Ordinary and enqueued calls use index 0 at both ends. */
int MPIX_Stream_comm_create_multiplex(MPI_Comm comm, int count,
                                      MPIX_Stream array_of_streams[],
                                      MPI_Comm *newcomm);

/* The stream at an index of a stream communicator; MPIX_STREAM_NULL of any
 * other. MPI_ERR_ARG: no such index. The caller does not own it; the handle
 * is valid as long as its object was not freed. */
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);

/* Lets messages of stream communicators, and MPI, make progress once. Also
 * with MPIX_STREAM_NULL. Never needed: this library has a thread of its own
 * while there is something to do. */
int MPIX_Stream_progress(MPIX_Stream stream);

/* Accepted for MPICH's sake: there is always a progress thread where one is
 * needed. Every start has its stop. */
int MPIX_Start_progress_thread(MPIX_Stream stream);
int MPIX_Stop_progress_thread(MPIX_Stream stream);

/*
 * Ordinary messages between streams of multiplex communicators: at the sender
 * source_stream_index is its own and dest_stream_index the destination's; at
 * the receiver the other way round. Otherwise as MPI_Send and its kin, on a
 * stream communicator. They are not in the order of the GPU stream: the buffer
 * is ready at the call, as MPI says. Errors: as MPI_Send; MPI_ERR_ARG for an
 * index that the rank does not have; MPI_ERR_COMM for any other communicator.
 */
int MPIX_Stream_send(const void *buf, int count, MPI_Datatype datatype,
                     int dest, int tag, MPI_Comm comm, int source_stream_index,
                     int dest_stream_index);
int MPIX_Stream_send_c(const void *buf, MPI_Count count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm,
                       int source_stream_index, int dest_stream_index);
int MPIX_Stream_isend(const void *buf, int count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index, MPI_Request *request);
int MPIX_Stream_isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index,
                        MPI_Request *request);
int MPIX_Stream_recv(void *buf, int count, MPI_Datatype datatype, int source,
                     int tag, MPI_Comm comm, int source_stream_index,
                     int dest_stream_index, MPI_Status *status);
int MPIX_Stream_recv_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                       int source, int tag, MPI_Comm comm,
                       int source_stream_index, int dest_stream_index,
                       MPI_Status *status);
int MPIX_Stream_irecv(void *buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index, MPI_Request *request);
int MPIX_Stream_irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                        int source, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index,
                        MPI_Request *request);

/*
 * Communication in stream order
 *
 * The arguments mean what they mean in MPI; comm is a stream communicator whose
 * index 0 is a GPU stream in this process. The call returns at once, but for
 * want of host memory (MPI_ERR_NO_MEM below). A send reads its buffer, and a
 * receive writes its buffer, after all work put on the stream before the call;
 * work put on the stream after a blocking call (Send, Recv), or after a wait,
 * finds it done. Isend and Irecv let the stream go on. Buffers may be in GPU or
 * host memory; they are the library's until the operation is done. Datatypes
 * and communicators may be freed at once. A status is written before the stream
 * passes the wait, so its memory must live until then; MPI_STATUS_IGNORE and
 * MPI_STATUSES_IGNORE are legal.
 *
 * At most the bytes received are written to a receive buffer. MPI_PROC_NULL
 * completes in stream order. A matching call may be an enqueued or an ordinary
 * one.
 *
 * Errors of arguments are reported at once through comm's error handler, and
 * nothing is put on the stream: MPI_ERR_COUNT, _TYPE, _RANK, _TAG, _COMM,
 * _REQUEST, _ARG; MPI_ERR_OTHER for a communicator without a GPU stream here;
 * MPI_ERR_UNSUPPORTED_OPERATION while the stream is being captured;
 * MPI_ERR_NO_MEM if the process has no memory: what may be pinned
 * (MPIX_GDS_STAGE_POOL) need not suffice for any message, or for all of them
 * (docs/fragments.md). Errors of operations,
 * as MPI_ERR_TRUNCATE (the message is longer than the receive, or it ends
 * inside an element of a datatype with gaps), go to comm's error handler at the
 * next call on comm or on the stream, once each, to the MPI_ERROR of a status
 * in an array, and to MPIX_Stream_get_error; the stream goes on. If the handler
 * returns, that call goes on as if nothing had been: it returns its own errors
 * alone. The first such error is returned by the next MPIX_Stream_synchronize
 * of a stream of comm, or by MPI_Finalize. With MPI_ERRORS_RETURN, therefore,
 * synchronise to learn whether all went well. When comm has been freed, the
 * error handler is that of MPI_COMM_SELF, and only MPI_Finalize returns it.
 *
 * When a process ends, or is out of reach, what is under way with it ends with
 * MPI_ERR_OTHER, and so do later calls; a receive from any source does when all
 * other members have ended (MPI_Iprobe does not look for that). Streams go on
 * with all else. A stream whose context the driver has ended does not: all on
 * it, and every later call, fails with MPI_ERR_OTHER, and one line says so.
 */
int MPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm);
int MPIX_Send_enqueue_c(const void *buf, MPI_Count count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm);
int MPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Status *status);
int MPIX_Recv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                        int source, int tag, MPI_Comm comm, MPI_Status *status);

/* The request is given to one of MPIX_Wait_enqueue, MPIX_Waitall_enqueue, MPI's
 * own completion calls (whose thread then waits for the stream), or
 * MPI_Request_free. MPI_Cancel works on receives, until they are matched. */
int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Isend_enqueue_c(const void *buf, MPI_Count count,
                         MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                         int source, int tag, MPI_Comm comm,
                         MPI_Request *request);

/*
 * Makes the stream of the operation's communicator wait until the operations
 * are done, in whatever order that is. The handles are MPI_REQUEST_NULL when
 * the call returns; those of persistent requests (MPIX_Start_enqueue) stay, and
 * are inactive.
 *
 * MPI_REQUEST_NULL, and a persistent request that is inactive, are done
 * already, with an empty status. Waitall: the stream is that of the first other
 * request; the others may be of other streams. MPI_ERR_REQUEST: a request that
 * no call above has made, nor an _init call on a stream communicator; then
 * nothing is put on the stream and no handle changes. Errors go to the error
 * handler of MPI_COMM_SELF when there is no communicator to name.
 */
int MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                         MPI_Status *array_of_statuses);

/* Not in this version: MPI_ERR_UNSUPPORTED_OPERATION. MPI_Allreduce works on
 * stream communicators, for one, after the stream was synchronised. */
int MPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count,
                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Allreduce_enqueue_c(const void *sendbuf, void *recvbuf,
                             MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm);

/*
 * Sets a key of info to bytes, as text: two hexadecimal digits a byte, and [n]
 * for n zero bytes in a row, n > 1.
 *
 * value       value_size bytes, borrowed
 *
 * Errors: MPI_ERR_ARG for a NULL value, a negative size, or bytes whose text
 * has more than 1023 characters; what MPI_Info_set says of info and key.
 */
int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value,
                      int value_size);

int PMPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);
int PMPIX_Stream_free(MPIX_Stream *stream);
int PMPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream,
                             MPI_Comm *newcomm);
int PMPIX_Stream_comm_create_multiplex(MPI_Comm comm, int count,
                                       MPIX_Stream array_of_streams[],
                                       MPI_Comm *newcomm);
int PMPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);
int PMPIX_Stream_progress(MPIX_Stream stream);
int PMPIX_Start_progress_thread(MPIX_Stream stream);
int PMPIX_Stop_progress_thread(MPIX_Stream stream);
int PMPIX_Stream_send(const void *buf, int count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index);
int PMPIX_Stream_send_c(const void *buf, MPI_Count count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index);
int PMPIX_Stream_isend(const void *buf, int count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm,
                       int source_stream_index, int dest_stream_index,
                       MPI_Request *request);
int PMPIX_Stream_isend_c(const void *buf, MPI_Count count,
                         MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm, int source_stream_index,
                         int dest_stream_index, MPI_Request *request);
int PMPIX_Stream_recv(void *buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index, MPI_Status *status);
int PMPIX_Stream_recv_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                        int source, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index,
                        MPI_Status *status);
int PMPIX_Stream_irecv(void *buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, int source_stream_index,
                       int dest_stream_index, MPI_Request *request);
int PMPIX_Stream_irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                         int source, int tag, MPI_Comm comm,
                         int source_stream_index, int dest_stream_index,
                         MPI_Request *request);
int PMPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm);
int PMPIX_Send_enqueue_c(const void *buf, MPI_Count count,
                         MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm);
int PMPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Status *status);
int PMPIX_Recv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                         int source, int tag, MPI_Comm comm,
                         MPI_Status *status);
int PMPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Isend_enqueue_c(const void *buf, MPI_Count count,
                          MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source,
                        int tag, MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_enqueue_c(void *buf, MPI_Count count, MPI_Datatype datatype,
                          int source, int tag, MPI_Comm comm,
                          MPI_Request *request);
int PMPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int PMPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                          MPI_Status *array_of_statuses);
int PMPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Allreduce_enqueue_c(const void *sendbuf, void *recvbuf,
                              MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm);
int PMPIX_Info_set_hex(MPI_Info info, const char *key, const void *value,
                       int value_size);

#endif /* MPIX_STREAM_NULL */

/* Ours: no MPICH has them. */

/*
 * Starts persistent requests in stream order: those that MPI_Send_init,
 * _Ssend_init, _Rsend_init, _Bsend_init, MPI_Recv_init and their _c twins have
 * made on a stream communicator. MPI_Start and MPI_Startall start them as
 * ordinary calls. Each start takes its place in matching at the call, in the
 * order of the array. The buffer is read, or written, as MPIX_Isend_enqueue
 * and MPIX_Irecv_enqueue do, on the stream of index 0. A buffered send needs no
 * MPI_Buffer_attach: its bytes get memory of the library's in stream order, and
 * it is done without its receiver.
 *
 * request(s)  inactive; the caller's. The _init call has checked its arguments;
 *             its datatype and communicator may be freed behind it
 *
 * What either kind of start has begun is completed by
 *
 *   MPIX_Wait_enqueue, _Waitall_enqueue: the handle stays, and is inactive at
 *       once, so that the next start may follow, any number of them ahead of
 *       the stream. What was started is under way until the stream has passed
 *       the wait. If that stands on another stream (Waitall), the program
 *       orders the two.
 *   MPI_Wait and its kin: wait until nothing is under way, as MPI_Start and
 *       MPI_Startall do; then as MPI says: an inactive request gives an empty
 *       status.
 *   MPI_Test and its kin: the flag is false while anything is under way.
 *       Waitany, Waitsome and theirs take no notice of an inactive request, but
 *       do not say MPI_UNDEFINED before nothing of it is under way.
 *   MPI_Request_free: at any time, and returns at once. What was started goes
 *       on, and MPIX_Stream_synchronize waits for it.
 *
 * MPI_Cancel works on receives that are not matched; a completion call follows.
 *
 * Errors, and nothing is started: MPI_ERR_REQUEST for a request that is active,
 * comes twice, or is none of those (MPI_REQUEST_NULL); MPI_ERR_ARG for NULL;
 * MPI_ERR_COUNT; MPI_ERR_OTHER for a communicator without a GPU stream here;
 * MPI_ERR_UNSUPPORTED_OPERATION while the stream is being captured. With
 * MPI_ERR_NO_MEM, or what MPIX_GDS_REQUIRE refuses, requests ahead of that one
 * in the array are active. To the error handler of the communicator, if there
 * is one to name, else of MPI_COMM_SELF. Errors of operations: as those of
 * MPIX_Isend_enqueue; MPIX_Stream_get_error names the request.
 *
 * Any thread, one at a time for a request. Semantics: MPI-4.0, 3.9, in the
 * order of streams as above; no other library has these calls.
 */
int MPIX_Start_enqueue(MPI_Request *request);
int MPIX_Startall_enqueue(int count, MPI_Request array_of_requests[]);
int PMPIX_Start_enqueue(MPI_Request *request);
int PMPIX_Startall_enqueue(int count, MPI_Request array_of_requests[]);

/*
 * Groups: what this thread enqueues on the stream from start to end (Send to
 * Waitall_enqueue, Start_enqueue, Startall_enqueue) goes there at the end, in
 * as few launches as can be, behind all that the program has put there by then.
 *
 * Messages match in the order of calls, and their receivers know of them from
 * the call on. In the stream the operations of a group have no order: no buffer
 * that one receives into is another's. The stream waits at the end for all that
 * is waited for inside, by blocking calls, too: behind all operations, so that
 * none stands for another, be it a send that crosses or is to this process.
 *
 * Starts are counted, for each thread and stream; the outermost end is the one.
 * Groups on several streams may be open at once. Some calls flush: what the
 * thread's groups have collected so far goes on the streams first, and the
 * groups go on. These are, of stream communicators, MPI_Wait, MPI_Test and
 * their kin, MPI_Request_free, MPI_Start(all), blocking sends, receives and
 * probes, MPI_Comm_free and _disconnect; and MPIX_Stream_synchronize. No other
 * call does, least of all CUDA's: cudaStreamSynchronize waits for nothing that
 * is collected. MPIX_Stream_free ends the stream's group. So does the end of
 * the thread, or MPI_Finalize, which write a line.
 *
 * Errors: a call inside that is refused leaves the others standing; so does an
 * operation that fails. The end returns what could not be put on the stream, of
 * which communicators' error handlers hear. MPI_ERR_OTHER for what is no GPU
 * stream, and for an end in a thread that has no group there;
 * MPI_ERR_UNSUPPORTED_OPERATION while the stream is being captured (an end may
 * come again later); to the error handler of MPI_COMM_SELF. MPI_ERR_REQUEST
 * from a wait on the stream for what another thread has collected there.
 */
int MPIX_Stream_group_start(MPIX_Stream stream);
int MPIX_Stream_group_end(MPIX_Stream stream);
int PMPIX_Stream_group_start(MPIX_Stream stream);
int PMPIX_Stream_group_end(MPIX_Stream stream);

/*
 * What a stream object stands for.
 *
 * type         where MPIX_GDS_STREAM_CPU or MPIX_GDS_STREAM_CUDA goes
 * handle       where the native handle goes, handle_size bytes, which must be
 *              sizeof(cudaStream_t); not touched for a CPU stream; NULL with
 *              handle_size 0: only the type is asked for
 *
 * Errors: MPI_ERR_OTHER for what is no stream, MPI_ERR_ARG for a NULL type or
 * another size, to the error handler of MPI_COMM_SELF. Puts nothing on it.
 */
int MPIX_Stream_get_native(MPIX_Stream stream, int *type, void *handle,
                           int handle_size);
int PMPIX_Stream_get_native(MPIX_Stream stream, int *type, void *handle,
                            int handle_size);

/*
 * Reads what MPIX_Info_set_hex, ours or MPICH's, has written.
 *
 * value  size bytes of the caller's; untouched unless *flag
 * flag   whether the key is there
 *
 * Errors: MPI_ERR_ARG for NULL, a negative size; MPI_ERR_INFO_VALUE for a value
 * that is no such text or does not stand for exactly size bytes, to the error
 * handler of MPI_COMM_SELF; what MPI_Info_get says of info and key.
 */
int MPIX_Info_get_hex(MPI_Info info, const char *key, void *value, int size,
                      int *flag);
int PMPIX_Info_get_hex(MPI_Info info, const char *key, void *value, int size,
                       int *flag);

/*
 * The first operation that failed on the stream since the last such call.
 *
 * errcode       its error code, or MPI_SUCCESS: none has failed
 * first_failed  the value its request handle had, for comparison only: it may
 *               name another request by now; MPI_REQUEST_NULL if it had none.
 *               NULL: not wanted
 *
 * What the stream has not reached yet is not known yet: synchronise it first.
 * Calls no error handler for that operation. Errors: MPI_ERR_OTHER for what is
 * no stream, MPI_ERR_ARG for a NULL errcode. Puts nothing on the stream.
 */
int MPIX_Stream_get_error(MPIX_Stream stream, int *errcode,
                          MPI_Request *first_failed);
int PMPIX_Stream_get_error(MPIX_Stream stream, int *errcode,
                           MPI_Request *first_failed);

/*
 * Waits until all operations enqueued on the stream are done, those too that no
 * wait was enqueued for: their buffers may be used again. Other work of the
 * stream is waited for only where it stands before them. MPI makes progress
 * meanwhile. Communicators' error handlers hear of operations that failed.
 *
 * Returns the code of the first operation that failed on a communicator that
 * has the stream and that no call has returned yet: whether or not an error
 * handler has heard of it.
 *
 * timeout_s  seconds; 0: as long as it takes
 *
 * Errors: MPI_ERR_PENDING when the time is over, then nothing has changed and
 * one line names what is left; MPI_ERR_OTHER for what is no stream; MPI_ERR_ARG
 * for a negative time. MPI_ERR_PENDING calls no error handler.
 */
int MPIX_Stream_synchronize(MPIX_Stream stream, double timeout_s);
int PMPIX_Stream_synchronize(MPIX_Stream stream, double timeout_s);

/*
 * Writes what stands, one line for each operation that is waited for: who waits
 * and for how long, the operation, its peer, tag, bytes and communicator, and
 * what is missing. docs/running.md explains the lines, which are the watchdog's
 * (MPIX_GDS_WATCHDOG) and MPIX_GDS_DUMP_SIGNAL's, too.
 *
 * stream  whose waits; MPIX_STREAM_NULL: those of all streams, and calls of
 *         this program that wait in this library in other threads. Of a stream
 *         that has work of ours ahead and stands at none of its waits one line
 *         says so
 * fd      where the lines go, a descriptor of the caller's
 *
 * If nothing stands one line says that. Legal in any thread at any time between
 * initialisation and finalisation of MPI, whatever the thread level, and while
 * streams stand; not in a signal handler (MPIX_GDS_DUMP_SIGNAL is for that). It
 * waits for no other thread: if one has kept the lists of operations for a
 * fifth of a second a line says "busy", and nothing more is written. Calls no
 * CUDA and puts nothing on the stream. A wait is seen some milliseconds after
 * the stream has come to it.
 *
 * Errors: MPI_ERR_OTHER for what is no stream; MPI_ERR_ARG for what is no open
 * descriptor; MPI_ERR_IO if not all could be written; to the error handler of
 * MPI_COMM_SELF.
 */
int MPIX_Stream_dump(MPIX_Stream stream, int fd);
int PMPIX_Stream_dump(MPIX_Stream stream, int fd);

/*
 * Which transport the message of a request takes, and why not a better one:
 * what this end settled when the operation was called. The other end may still
 * take a lesser one, as where a host call receives what was enqueued.
 *
 * request    not completed; no partitioned one. Of a persistent one of a stream
 *            communicator what it has started; "none" if that is nothing
 * transport  "self", "p2p", "ib-gpu", "ib-cpu" or "host", as MPIX_GDS_REQUIRE
 *            names them; "mpi": the MPI library below carries it; "none":
 *            nothing moves
 * reason     why it is no better one, or ""; NULL: not wanted
 * remedy     what helps, or "": nothing does in this version; NULL: not wanted
 *
 * The texts are constant and this library's. mpix-gds-doctor shows them for all
 * pairs of ranks. Errors: MPI_ERR_ARG for a NULL transport, MPI_ERR_REQUEST for
 * MPI_REQUEST_NULL; to the error handler of MPI_COMM_SELF. Any thread, but not
 * while another completes the request. Puts nothing on a stream.
 */
int MPIX_Request_get_transport(MPI_Request request, const char **transport,
                               const char **reason, const char **remedy);
int PMPIX_Request_get_transport(MPI_Request request, const char **transport,
                                const char **reason, const char **remedy);

#ifdef __cplusplus
}
#endif

#endif
