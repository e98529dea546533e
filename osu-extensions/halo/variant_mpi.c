/*
 * MPI's ways: the host waits for the stream and for the messages; or everything
 * is enqueued: request by request, as a group, as persistent requests. Calls
 * that this library may lack are looked up when the program runs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/halo/halo.h"
#include "osu-extensions/queue.h"
#include "osu-extensions/stream_comm.h"

#define TAG_FACE 20
#define REQUESTS (2 * MGDS_HALO_FACES)

struct mgds_halo_lane {
    struct mgds_bench_stream_comm by_stream; /* not of the host's variant */
    MPI_Comm comm; /* of the stream; variant of the host: h->world.comm */
    int count;
    MPI_Request requests[REQUESTS]; /* persistent ones stay */
};

static struct {
    int (*group_start)(MPIX_Stream stream);
    int (*group_end)(MPIX_Stream stream);
    int (*startall)(int count, MPI_Request requests[]);
} later; /* than version 0.2 */

static int later_find(const char *name, void *to, char why[256])
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (!found) {
        snprintf(why, 256, "this libmpix_gds.so has no %s", name);
        return -ENOSYS;
    }
    memcpy(to, &found, sizeof(found));
    return 0;
}

static int group_find(const struct mgds_halo_options *options, char why[256])
{
    int rc = later_find("MPIX_Stream_group_start", &later.group_start, why);

    (void)options;
    return rc < 0 ? rc
                  : later_find("MPIX_Stream_group_end", &later.group_end, why);
}

static int startall_find(const struct mgds_halo_options *options, char why[256])
{
    (void)options;
    return later_find("MPIX_Startall_enqueue", &later.startall, why);
}

static int host_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                     char why[256])
{
    struct mgds_halo_lane *lane = calloc(1, sizeof(*lane));

    (void)why;
    if (!lane)
        return -ENOMEM;
    lane->comm = h->world.comm;
    *out = lane;
    return 0;
}

static void host_close(struct mgds_halo_lane *lane)
{
    free(lane);
}

static int stream_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                       char why[256])
{
    struct mgds_halo_lane *lane = calloc(1, sizeof(*lane));

    (void)why;
    if (!lane)
        return -ENOMEM;
    mgds_bench_stream_comm_open(&lane->by_stream, h->world.comm, h->stream);
    lane->comm = lane->by_stream.comm;
    *out = lane;
    return 0;
}

static void stream_close(struct mgds_halo_lane *lane)
{
    mgds_bench_stream_comm_close(&lane->by_stream);
    free(lane);
}

/* One request for each face that has a neighbour, by the call that is given:
 * receives first. Tags name the face of the sender. */
struct starts {
    int (*recv)(void *buf, int count, MPI_Datatype type, int source, int tag,
                MPI_Comm comm, MPI_Request *request);
    int (*send)(const void *buf, int count, MPI_Datatype type, int dest,
                int tag, MPI_Comm comm, MPI_Request *request);
};

static int requests_make(struct mgds_halo_lane *lane, const struct mgds_halo *h,
                         const struct starts *starts)
{
    int faces = 2 * (int)h->args.dims;
    int rc = MPI_SUCCESS;

    lane->count = 0;
    for (int f = 0; f < faces && rc == MPI_SUCCESS; f++) {
        if (h->neighbours >> f & 1)
            rc = starts->recv(mgds_halo_in(h, f), (int)h->bytes, MPI_BYTE,
                              h->neighbour[f], TAG_FACE + (f ^ 1), lane->comm,
                              &lane->requests[lane->count++]);
    }
    for (int f = 0; f < faces && rc == MPI_SUCCESS; f++) {
        if (h->neighbours >> f & 1)
            rc = starts->send(mgds_halo_out(h, f), (int)h->bytes, MPI_BYTE,
                              h->neighbour[f], TAG_FACE + f, lane->comm,
                              &lane->requests[lane->count++]);
    }
    return rc;
}

static void host_exchange(struct mgds_halo_lane *lane,
                          const struct mgds_halo *h)
{
    static const struct starts starts = {MPI_Irecv, MPI_Isend};
    MPI_Status statuses[REQUESTS];

    mgds_halo_must(h, mgds_bench_queue_wait(h->queue), "the stream");
    requests_make(lane, h, &starts);
    MPI_Waitall(lane->count, lane->requests, statuses);
}

static void enqueued_exchange(struct mgds_halo_lane *lane,
                              const struct mgds_halo *h)
{
    static const struct starts starts = {MPIX_Irecv_enqueue,
                                         MPIX_Isend_enqueue};

    requests_make(lane, h, &starts);
    MPIX_Waitall_enqueue(lane->count, lane->requests, MPI_STATUSES_IGNORE);
}

static void group_exchange(struct mgds_halo_lane *lane,
                           const struct mgds_halo *h)
{
    later.group_start(lane->by_stream.stream);
    enqueued_exchange(lane, h);
    later.group_end(lane->by_stream.stream);
}

/* A library may have the call and yet refuse requests of a stream. */
static int startall_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                         char why[256])
{
    static const struct starts starts = {MPI_Recv_init, MPI_Send_init};
    struct mgds_halo_lane *lane = NULL;
    char text[MPI_MAX_ERROR_STRING] = "";
    int rc = stream_open(&lane, h, why);
    int length;

    if (rc < 0)
        return rc;
    MPI_Comm_set_errhandler(lane->comm, MPI_ERRORS_RETURN);
    rc = requests_make(lane, h, &starts);
    if (rc != MPI_SUCCESS)
        goto close;
    MPI_Comm_set_errhandler(lane->comm, MPI_ERRORS_ARE_FATAL);
    *out = lane;
    return 0;
close:
    MPI_Error_string(rc, text, &length);
    snprintf(why, 256, "persistent requests of a stream: %.200s", text);
    stream_close(lane);
    return -EIO;
}

static void startall_close(struct mgds_halo_lane *lane)
{
    for (int i = 0; i < lane->count; i++)
        MPI_Request_free(&lane->requests[i]);
    stream_close(lane);
}

static void startall_exchange(struct mgds_halo_lane *lane,
                              const struct mgds_halo *h)
{
    (void)h;
    later.startall(lane->count, lane->requests);
    MPIX_Waitall_enqueue(lane->count, lane->requests, MPI_STATUSES_IGNORE);
}

const struct mgds_halo_variant mgds_halo_host = {
    .name = "host",
    .title = "MPI, host waits",
    .open = host_open,
    .close = host_close,
    .exchange = host_exchange,
};

const struct mgds_halo_variant mgds_halo_enqueued = {
    .name = "enqueued",
    .title = "MPI enqueued",
    .open = stream_open,
    .close = stream_close,
    .exchange = enqueued_exchange,
};

const struct mgds_halo_variant mgds_halo_group = {
    .name = "group",
    .title = "MPI group",
    .find = group_find,
    .open = stream_open,
    .close = stream_close,
    .exchange = group_exchange,
};

const struct mgds_halo_variant mgds_halo_startall = {
    .name = "startall",
    .title = "MPI Startall",
    .find = startall_find,
    .open = startall_open,
    .close = startall_close,
    .exchange = startall_exchange,
};
