/*
 * NVSHMEM's put with signal, and the wait for it, on a stream. Its host
 * library is opened if it is here; nothing of its device code is used.
 */
#include "osu-extensions/way.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/gpu.h"
#include "osu-extensions/library.h"

#define INIT_WITH_UNIQUEID (1u << 3)
#define SIGNAL_ADD 10
#define COMPARE_GE 5
/* Beside the benchmark's buffers: signals, and what alignment costs. */
#define HEAP_SPARE ((size_t)64 << 20)

struct nvshmem_id {
    int version;
    char bytes[124];
};

/* The first form of the arguments, which every 3.x library takes. Later ones
 * have a device number, -1 for the current one, where ours has `later`. */
struct nvshmem_attr {
    int version;
    void *mpi_comm;
    struct {
        int version;
        struct {
            int version;
            struct nvshmem_id *id;
            int rank;
            int ranks;
        } uid;
        int later;
        char unused[92];
    } args;
};
static_assert(sizeof(struct nvshmem_id) == 128, "an id is 128 bytes");
static_assert(sizeof(struct nvshmem_attr) == 144, "arguments are 144 bytes");

#define VERSION_1(object) ((1 << 16) + (int)sizeof(object))

/* Each rank has one peer, so one word counts all that has come from it. */
struct mgds_bench_lane {
    void *stream;
    uint64_t *signal;  /* symmetric */
    uint64_t received; /* what it will be, once the stream is done */
};

static const struct mgds_bench_library library = {
    "libnvshmem_host.so.3", "nvidia/nvshmem/lib", "--nvshmem"};

static struct {
#define X(name, result, params) result(*name) params;
#include "osu-extensions/nvshmem.def"
#undef X
} shmem;

static int table_fill(void *handle, char why[256])
{
    void *found;

#define X(name, result, params)                                                \
    found = mgds_bench_library_find(handle, &library, #name, why);             \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&shmem.name, &found, sizeof(found));
#include "osu-extensions/nvshmem.def"
#undef X
    return 0;
}

static int nvshmem_find(const struct mgds_bench_options *options, char why[256])
{
    void *handle = mgds_bench_library_open(&library, options->nvshmem, why);

    return handle ? table_fill(handle, why) : -ENOENT;
}

static int failed(int result, const char *call, char why[256])
{
    if (result == 0)
        return 0;
    snprintf(why, 256, "%s: status %d (NVSHMEM_DEBUG=WARN says more)", call,
             result);
    return -EIO;
}

/* All ranks at once. */
static int library_start(const struct mgds_bench_site *site, char why[256])
{
    struct nvshmem_id id = {.version = VERSION_1(id)};
    struct nvshmem_attr attr = {.version = VERSION_1(attr)};
    int result = 0;
    int rc;

    if (site->rank == 0)
        result = shmem.nvshmemx_get_uniqueid(&id);
    MPI_Bcast(&result, 1, MPI_INT, 0, site->comm);
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, site->comm);
    if (failed(result, "nvshmemx_get_uniqueid", why) < 0)
        return -EIO;
    attr.args.version = VERSION_1(attr.args);
    attr.args.uid.version = VERSION_1(attr.args.uid);
    attr.args.later = -1;
    rc = failed(shmem.nvshmemx_set_attr_uniqueid_args(site->rank, site->ranks,
                                                      &id, &attr),
                "nvshmemx_set_attr_uniqueid_args", why);
    if (rc < 0)
        return rc;
    return failed(shmem.nvshmemx_hostlib_init_attr(INIT_WITH_UNIQUEID, &attr),
                  "nvshmemx_hostlib_init_attr", why);
}

/* A heap that cannot grow must be large enough from the start. */
static void heap_size_set(size_t bytes)
{
    char text[32];

    snprintf(text, sizeof(text), "%zu", bytes + HEAP_SPARE);
    setenv("NVSHMEM_SYMMETRIC_SIZE", text, 0);
}

static int nvshmem_open(struct mgds_bench_lane **out,
                        const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    const uint64_t zero = 0;
    int rc;

    if (!lane)
        return -ENOMEM;
    lane->stream = site->stream;
    heap_size_set(site->heap);
    rc = library_start(site, why);
    if (rc < 0)
        goto free_lane;
    lane->signal = shmem.nvshmem_malloc(sizeof(*lane->signal));
    if (!lane->signal) {
        snprintf(why, 256, "nvshmem_malloc: no memory for a signal");
        rc = -ENOMEM;
        goto finalize;
    }
    rc = mgds_bench_device.put(lane->signal, &zero, sizeof(zero));
    if (rc < 0)
        goto free_signal;
    *out = lane;
    return 0;
free_signal:
    shmem.nvshmem_free(lane->signal);
finalize:
    shmem.nvshmemx_hostlib_finalize();
free_lane:
    free(lane);
    return rc;
}

static void nvshmem_close(struct mgds_bench_lane *lane)
{
    shmem.nvshmem_free(lane->signal);
    shmem.nvshmemx_hostlib_finalize();
    free(lane);
}

static void nvshmem_version(char out[32])
{
    int part[3] = {0, 0, 0};

    shmem.nvshmemx_vendor_get_version_info(&part[0], &part[1], &part[2]);
    snprintf(out, 32, "%d.%d.%d", part[0], part[1], part[2]);
}

static int heap_alloc(void **out, size_t bytes)
{
    *out = shmem.nvshmem_malloc(bytes);
    return *out ? 0 : -ENOMEM;
}

static void heap_free(void *at)
{
    shmem.nvshmem_free(at);
}

static int heap_put(void *to, const void *from_host, size_t bytes)
{
    return mgds_bench_device.put(to, from_host, bytes);
}

static int heap_get(void *to_host, const void *from, size_t bytes)
{
    return mgds_bench_device.get(to_host, from, bytes);
}

static const struct mgds_bench_memory heap = {
    .name = "SYMMETRIC",
    .alloc = heap_alloc,
    .free = heap_free,
    .put = heap_put,
    .get = heap_get,
};

/* A symmetric address is named by the one that this rank has for it. */
static void put(const struct mgds_bench_lap *lap, void *to, const void *from,
                size_t bytes)
{
    shmem.nvshmemx_putmem_signal_on_stream(to, from, bytes, lap->lane->signal,
                                           1, SIGNAL_ADD, lap->peer,
                                           lap->lane->stream);
}

static void wait_more(const struct mgds_bench_lap *lap, uint64_t more)
{
    lap->lane->received += more;
    shmem.nvshmemx_signal_wait_until_on_stream(
        lap->lane->signal, COMPARE_GE, lap->lane->received, lap->lane->stream);
}

static void nvshmem_start_send(const struct mgds_bench_lap *lap, const void *at,
                               int index)
{
    put(lap, lap->places + mgds_bench_lap_place(lap, index), at, lap->bytes);
}

static void nvshmem_send(const struct mgds_bench_lap *lap, const void *at)
{
    nvshmem_start_send(lap, at, 0);
}

static void nvshmem_recv(const struct mgds_bench_lap *lap, void *at)
{
    (void)at;
    wait_more(lap, 1);
}

/* Nothing to start: the wait at the end is for all that were. */
static void nvshmem_start_recv(const struct mgds_bench_lap *lap, void *at,
                               int index)
{
    (void)at;
    (void)index;
    lap->lane->received++;
}

/* Puts on a stream are complete, here, when the stream has passed them. */
static void nvshmem_complete(const struct mgds_bench_lap *lap, int count)
{
    (void)count;
    if (lap->receives)
        wait_more(lap, 0);
}

static void nvshmem_send_answer(const struct mgds_bench_lap *lap)
{
    put(lap, lap->answer, lap->answer, sizeof(*lap->answer));
}

static void nvshmem_recv_answer(const struct mgds_bench_lap *lap)
{
    wait_more(lap, 1);
}

const struct mgds_bench_way mgds_bench_way_nvshmem = {
    .name = "nvshmem",
    .title = "NVSHMEM",
    .rival = MGDS_BENCH_RIVAL_NVSHMEM,
    .memory = &heap,
    .find = nvshmem_find,
    .open = nvshmem_open,
    .close = nvshmem_close,
    .version = nvshmem_version,
    .send = nvshmem_send,
    .recv = nvshmem_recv,
    .start_send = nvshmem_start_send,
    .start_recv = nvshmem_start_recv,
    .complete = nvshmem_complete,
    .send_answer = nvshmem_send_answer,
    .recv_answer = nvshmem_recv_answer,
};
