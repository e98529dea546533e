/*
 * Messages of GPU memory between every two ranks, each of which is asked for
 * its transport. What cannot begin here (no GPU, no library) is a fact. What
 * then fails ends the job with one line: others wait for it.
 *
 * Rank r sends to r + d and receives from r - d, for every d: so each pair has
 * its turn, and a rank itself, too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <mpi.h>

#include "mpix_gds.h"
#include "shim/base/log.h"
#include "tools/probe/cores.h"
#include "tools/probe/driver.h"
#include "tools/probe/facts.h"
#include "tools/probe/symbols.h"

/* Of this library, through the loader (process.c says why). */
#define CALLS(X)                                                               \
    X(Info_set_hex)                                                            \
    X(Stream_create)                                                           \
    X(Stream_free)                                                             \
    X(Stream_comm_create)                                                      \
    X(Isend_enqueue)                                                           \
    X(Irecv_enqueue)                                                           \
    X(Waitall_enqueue)                                                         \
    X(Stream_synchronize)                                                      \
    X(Request_get_transport)

struct calls {
#define X(name) __typeof__(&MPIX_##name) name;
    CALLS(X)
#undef X
};

/* A length that goes through rings, and one that receivers copy. */
static const size_t lengths[] = {(size_t)1 << 10, (size_t)4 << 20};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
enum { LONGEST = 4 << 20 };

/* Memory is mapped after the first message from it, and a message may be over
 * before that. */
enum { LAPS = 8 };

enum { TAG = 1, UNTOUCHED = 0xee };

static const double patience = 20; /* seconds, for one message each way */

struct exam {
    const struct mgds_probe_world *world;
    struct mgds_probe_driver cuda;
    struct calls mpix;
    void *ctx, *cu;    /* the device's primary context, a stream of it */
    uintptr_t out, in; /* device memory */
    unsigned char *seen;
    MPIX_Stream stream;
    MPI_Comm able; /* the ranks that can take part */
    MPI_Comm lane;
    int *rank; /* in the world, by that in able */
    int me, others;
    json_t *ways;
};

/* A message each way, as one end sees them. */
struct turn {
    bool enqueued;
    size_t bytes;
    int to, from; /* in able */
    MPI_Request request[2];
    const char *transport[2], *reason[2], *remedy[2]; /* sent, received */
};

__attribute__((format(printf, 2, 3))) static _Noreturn void
stop(const struct exam *exam, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING + 256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "mpix-gds-probe: rank %d: %s\n", exam->world->rank, text);
    mgds_log_settle();
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1); /* an abort may return */
}

static void must_mpi(const struct exam *exam, const char *call, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    if (strncmp(text, call, strlen(call)) == 0) /* of this library */
        stop(exam, "%s", text);
    stop(exam, "%s: %s", call, text);
}

static void must_cuda(const struct exam *exam, const char *call, int rc)
{
    if (rc != 0)
        stop(exam, "%s",
             json_string_value(mgds_probe_driver_error(&exam->cuda, call, rc)));
}

/* What comes before the first collective call: what is missing, or NULL. */

static const char *find_calls(struct calls *mpix)
{
    static const struct mgds_symbol row[] = {
#define X(name) {offsetof(struct calls, name), "MPIX_" #name},
        CALLS(X)
#undef X
    };

    return mgds_symbols_find(mpix, RTLD_DEFAULT, row,
                             sizeof(row) / sizeof(row[0]));
}

static json_t *failed(const struct exam *exam, const char *call, int rc)
{
    return mgds_probe_driver_error(&exam->cuda, call, rc);
}

/* Ranks of a host share out its devices, as the benchmarks do. */
static json_t *choose_device(struct exam *exam, int *chosen)
{
    int count = 0, device = 0, rc = exam->cuda.init(0);

    if (rc != 0)
        return failed(exam, "cuInit", rc);
    rc = exam->cuda.count(&count);
    if (rc != 0)
        return failed(exam, "cuDeviceGetCount", rc);
    if (count == 0)
        return json_string("the driver shows no device");
    *chosen = exam->world->local % count;
    rc = exam->cuda.get(&device, *chosen);
    if (rc == 0)
        rc = exam->cuda.retain(&exam->ctx, device);
    if (rc == 0)
        rc = exam->cuda.set_current(exam->ctx);
    return rc == 0 ? NULL : failed(exam, "the device's context", rc);
}

static json_t *make_memory(struct exam *exam)
{
    int rc = exam->cuda.stream_create(&exam->cu, 0);

    if (rc == 0)
        rc = exam->cuda.alloc(&exam->out, LONGEST);
    if (rc == 0)
        rc = exam->cuda.alloc(&exam->in, LONGEST);
    return rc == 0 ? NULL : failed(exam, "a stream, and memory", rc);
}

static json_t *make_stream(struct exam *exam)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Info info;
    int length, rc;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    exam->mpix.Info_set_hex(info, "value", &exam->cu, sizeof(exam->cu));
    rc = exam->mpix.Stream_create(info, &exam->stream);
    MPI_Info_free(&info);
    if (rc == MPI_SUCCESS)
        return NULL;
    MPI_Error_string(rc, text, &length);
    return json_string(text);
}

static json_t *prepare(struct exam *exam, int *device)
{
    void *library = mgds_probe_driver_load();
    const char *missing;
    json_t *error;

    if (!library)
        return json_string("libcuda.so.1 cannot be loaded");
    missing = mgds_probe_driver_use(&exam->cuda, library);
    if (!missing)
        missing = find_calls(&exam->mpix);
    if (missing)
        return json_sprintf("there is no %s", missing);
    error = choose_device(exam, device);
    if (!error)
        error = make_memory(exam);
    return error ? error : make_stream(exam);
}

/* From here on whoever fails ends the job. */

static void ask(const struct exam *exam, struct turn *turn)
{
    for (int i = 0; i < 2; i++)
        must_mpi(exam, "MPIX_Request_get_transport",
                 exam->mpix.Request_get_transport(
                     turn->request[i], &turn->transport[i], &turn->reason[i],
                     &turn->remedy[i]));
}

/* What rank r sends. */
static unsigned char byte_of(int rank)
{
    return (unsigned char)(1 + rank % 200);
}

static void expect(const struct exam *exam, const struct turn *turn)
{
    const int from = exam->rank[turn->from];

    must_cuda(exam, "cuMemcpyDtoH",
              exam->cuda.read(exam->seen, exam->in, turn->bytes));
    for (size_t i = 0; i < turn->bytes; i++)
        if (exam->seen[i] != byte_of(from))
            stop(exam,
                 "byte %zu of %zu from rank %d, %s, is 0x%02x, not 0x%02x", i,
                 turn->bytes, from,
                 turn->enqueued ? "enqueued" : "by MPI_Isend", exam->seen[i],
                 byte_of(from));
}

static void wait_in_stream(const struct exam *exam, struct turn *turn)
{
    int rc;

    must_mpi(exam, "MPIX_Waitall_enqueue",
             exam->mpix.Waitall_enqueue(2, turn->request, MPI_STATUSES_IGNORE));
    rc = exam->mpix.Stream_synchronize(exam->stream, patience);
    if (rc == MPI_ERR_PENDING)
        stop(exam, "messages to rank %d, from rank %d are not done after %g s",
             exam->rank[turn->to], exam->rank[turn->from], patience);
    must_mpi(exam, "MPIX_Stream_synchronize", rc);
}

static void exchange(const struct exam *exam, struct turn *turn)
{
    void *in = (void *)exam->in, *out = (void *)exam->out;
    int bytes = (int)turn->bytes;
    MPI_Request *r = turn->request;

    must_cuda(exam, "cuMemsetD8",
              exam->cuda.fill(exam->in, UNTOUCHED, turn->bytes));
    must_cuda(exam, "cuCtxSynchronize", exam->cuda.synchronize());
    if (turn->enqueued) {
        must_mpi(exam, "MPIX_Irecv_enqueue",
                 exam->mpix.Irecv_enqueue(in, bytes, MPI_BYTE, turn->from, TAG,
                                          exam->lane, &r[1]));
        must_mpi(exam, "MPIX_Isend_enqueue",
                 exam->mpix.Isend_enqueue(out, bytes, MPI_BYTE, turn->to, TAG,
                                          exam->lane, &r[0]));
        ask(exam, turn);
        wait_in_stream(exam, turn);
    } else {
        must_mpi(
            exam, "MPI_Irecv",
            MPI_Irecv(in, bytes, MPI_BYTE, turn->from, TAG, exam->able, &r[1]));
        must_mpi(
            exam, "MPI_Isend",
            MPI_Isend(out, bytes, MPI_BYTE, turn->to, TAG, exam->able, &r[0]));
        ask(exam, turn);
        for (int i = 0; i < 2; i++)
            must_mpi(exam, "MPI_Wait", MPI_Wait(&r[i], MPI_STATUS_IGNORE));
    }
    expect(exam, turn);
}

/* Is there something better to come, here or elsewhere? */
static bool is_cold(const struct exam *exam, const struct turn *turn)
{
    int cold = turn->reason[0][0] || turn->reason[1][0];

    must_mpi(
        exam, "MPI_Allreduce",
        MPI_Allreduce(MPI_IN_PLACE, &cold, 1, MPI_INT, MPI_MAX, exam->able));
    return turn->enqueued && cold;
}

static void tell(const struct exam *exam, const struct turn *turn)
{
    const int peer[2] = {turn->to, turn->from};

    for (int i = 0; i < 2; i++)
        json_array_append_new(
            exam->ways,
            json_pack("{s:i s:b s:b s:I s:s s:s s:s}", "peer",
                      exam->rank[peer[i]], "sent", i == 0, "enqueued",
                      (int)turn->enqueued, "bytes", (json_int_t)turn->bytes,
                      "transport", turn->transport[i], "reason",
                      turn->reason[i], "remedy", turn->remedy[i]));
}

static void examine(const struct exam *exam, struct turn turn)
{
    int lap = 0;

    do
        exchange(exam, &turn);
    while (is_cold(exam, &turn) && ++lap < LAPS);
    tell(exam, &turn);
}

static void examine_all(const struct exam *exam)
{
    for (int d = 0; d < exam->others; d++)
        for (int i = 0; i < 2 * LENGTHS; i++)
            examine(exam, (struct turn){.enqueued = i < LENGTHS,
                                        .bytes = lengths[i % LENGTHS],
                                        .to = (exam->me + d) % exam->others,
                                        .from = (exam->me - d + exam->others) %
                                                exam->others});
}

static void meet(struct exam *exam)
{
    int mine = exam->world->rank;

    MPI_Comm_set_errhandler(exam->able, MPI_ERRORS_RETURN);
    MPI_Comm_rank(exam->able, &exam->me);
    MPI_Comm_size(exam->able, &exam->others);
    exam->rank = calloc((size_t)exam->others, sizeof(*exam->rank));
    exam->seen = malloc(LONGEST);
    if (!exam->rank || !exam->seen)
        stop(exam, "no memory");
    must_mpi(
        exam, "MPI_Allgather",
        MPI_Allgather(&mine, 1, MPI_INT, exam->rank, 1, MPI_INT, exam->able));
    must_mpi(
        exam, "MPIX_Stream_comm_create",
        exam->mpix.Stream_comm_create(exam->able, exam->stream, &exam->lane));
    must_cuda(exam, "cuMemsetD8",
              exam->cuda.fill(exam->out, byte_of(mine), LONGEST));
}

/* Device memory stays: others may still have it mapped. */
static void part(struct exam *exam)
{
    MPI_Comm_free(&exam->lane);
    MPI_Comm_free(&exam->able);
    exam->mpix.Stream_free(&exam->stream);
    free(exam->seen);
    free(exam->rank);
}

json_t *mgds_probe_messages(const struct mgds_probe_world *world)
{
    struct exam exam = {.world = world, .ways = json_array()};
    int device = -1, cores = 0;
    json_t *error = prepare(&exam, &device);

    MPI_Comm_split(MPI_COMM_WORLD, error ? MPI_UNDEFINED : 0, world->rank,
                   &exam.able);
    if (!error) {
        meet(&exam);
        examine_all(&exam);
        cores = mgds_probe_progress_cores();
        part(&exam);
    }
    return json_pack("{s:i s:o s:i s:o}", "device", device, "error",
                     error ? error : json_string(""), "progress_cores", cores,
                     "ways", exam.ways);
}
