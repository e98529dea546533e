/* Rings of stream communicators, and lanes to those of others; see landing.h.
 */
#include "shim/gds/domain/landing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/mapping.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/ring/place.h"
#include "shim/gds/ring/ring.h"

/* Words of a region, at its end, that say what was copied. */
enum { DONES = 256 };

struct mgds_lane {
    struct mgds_ring_view *view;
    char *region;
    struct mgds_places places;
    bool hopeless; /* waiting for room was in vain, and none was made since */
    bool own;      /* of this process */
    /* words for messages that are copied by who receives them: of those that
     * go, in the own region, and of those that come; NULL: there are none */
    char *back, *there;
    uint16_t done[DONES]; /* those of back that are free */
    unsigned dones;       /* how many */
    struct mgds_mappings ours, theirs;
};

struct mgds_landing {
    unsigned refs; /* atomic */
    unsigned rank, peers, streams;
    unsigned *base;                     /* by rank: of its sources */
    int *region;                        /* by source: in own rings, or -1 */
    unsigned regions;                   /* how many there are */
    struct mgds_gstream *const *stream; /* during create and hear */
    uint64_t process;
    const struct mgds_member *members; /* likewise */
    struct mgds_ring **ring;           /* by own index */
    bool *shared; /* by own index: another process has a stream of its GPU */
    struct mgds_lane **lane; /* by own index, then by source */
    unsigned char *lack;     /* likewise: enum lack */
};

/* Why there is no lane. */
enum lack {
    NOTHING_HEARD,
    NOTHING,
    OTHER_HOST,
    NO_GPU_THERE,
    NO_GPU_HERE,
    NO_RING,
    SAME_GPU,
    NO_PEERS,
    OTHER_CONTEXT,
    NO_MAPPING
};

static const struct mgds_hindrance lacks[] = {
    [NOTHING_HEARD] = {"its communicator is between two groups",
                       "use an intracommunicator (MPI_Intercomm_merge)"},
    [OTHER_HOST] = {"it is on another host", ""},
    [NO_GPU_THERE] = {"its process has no GPU stream in the communicator",
                      "let that process give its stream to "
                      "MPIX_Stream_comm_create, too"},
    [NO_GPU_HERE] = {"the stream here has no GPU, or kernels of ours cannot "
                     "run there",
                     "use a GPU stream, and a library built for this GPU"},
    [NO_RING] = {"its process has no ring: MPIX_GDS_EAGER is 0, or GPU memory "
                 "or hardware queues are short",
                 "leave MPIX_GDS_EAGER and CUDA_DEVICE_MAX_CONNECTIONS unset, "
                 "and GPU memory free"},
    [SAME_GPU] = {"its process uses the same GPU, and the two would have it in "
                  "turns",
                  "give each process a GPU of its own, as by "
                  "CUDA_VISIBLE_DEVICES or srun --gpus-per-task=1"},
    [NO_PEERS] = {"the two GPUs are no peers",
                  "use GPUs that are: nvidia-smi topo -p2p r shows them"},
    [OTHER_CONTEXT] = {"its stream is of another CUDA context of this process",
                       "make all streams in the device's primary context"},
    [NO_MAPPING] = {"the driver does not map its ring here",
                    "run both processes as one user; in containers, with "
                    "--ipc=host and --pid=host"},
};

static unsigned streams_of(const struct mgds_member *member)
{
    return member->streams ? member->streams : 1;
}

/* Members of one host count their sources in the same order, each for itself:
 * so all of them know each other's regions. */
static int number(struct mgds_landing *landing)
{
    const struct mgds_member *members = landing->members;
    uint64_t host = members[landing->rank].host;
    unsigned sources = 0;

    landing->base = (unsigned *)mgds_calloc(landing->peers + 1, sizeof(int));
    if (!landing->base)
        return -ENOMEM;
    for (unsigned i = 0; i < landing->peers; i++)
        landing->base[i + 1] = sources += streams_of(&members[i]);
    landing->region = (int *)mgds_calloc(sources, sizeof(int));
    if (!landing->region)
        return -ENOMEM;
    for (unsigned i = 0; i < landing->peers; i++)
        for (unsigned s = landing->base[i]; s < landing->base[i + 1]; s++)
            landing->region[s] =
                host && members[i].host == host ? (int)landing->regions++ : -1;
    return 0;
}

static bool takes(const struct mgds_landing *landing, unsigned index)
{
    return landing->stream[index] &&
           mgds_gstream_has_kernels(landing->stream[index]);
}

static uint32_t units_of_region(const struct mgds_landing *landing)
{
    uint64_t bytes = mgds_ctx()->config.ring;
    uint64_t share = mgds_ctx()->config.ring_total / landing->regions;

    bytes = bytes < share ? bytes : share;
    return (uint32_t)(bytes / sizeof(struct mgds_unit));
}

/* Without a ring messages are staged: that is no error. */
static void make_rings(struct mgds_landing *landing)
{
    uint32_t units;

    if (landing->regions == 0 || mgds_ctx()->config.eager == 0)
        return;
    units = units_of_region(landing);
    for (unsigned i = 0; i < landing->streams && units > 0; i++) {
        int rc;

        if (!takes(landing, i))
            continue;
        rc = mgds_ring_create(&landing->ring[i],
                              mgds_gstream_context(landing->stream[i]),
                              landing->regions, units);
        if (rc < 0) {
            errno = -rc;
            mgds_debug("no ring for short messages: %m: they are staged");
        }
    }
}

int mgds_landing_create(struct mgds_landing **out,
                        const struct mgds_domain_spec *spec)
{
    struct mgds_landing *landing =
        (struct mgds_landing *)mgds_calloc(1, sizeof(*landing));
    int rc = -ENOMEM;

    if (!landing)
        return rc;
    landing->refs = 1;
    landing->rank = spec->rank;
    landing->peers = spec->size;
    landing->streams = spec->stream_count;
    landing->stream = spec->streams;
    landing->members = spec->members;
    landing->process = spec->members[spec->rank].process;
    rc = number(landing);
    if (rc < 0)
        goto put;
    rc = -ENOMEM;
    landing->ring = (struct mgds_ring **)mgds_calloc(
        landing->streams, sizeof(struct mgds_ring *));
    landing->lane = (struct mgds_lane **)mgds_calloc(
        (size_t)landing->streams * landing->base[landing->peers],
        sizeof(struct mgds_lane *));
    landing->lack = (unsigned char *)mgds_calloc(
        (size_t)landing->streams * landing->base[landing->peers], 1);
    landing->shared = (bool *)mgds_calloc(landing->streams, sizeof(bool));
    if (!landing->ring || !landing->lane || !landing->lack || !landing->shared)
        goto put;
    make_rings(landing);
    *out = landing;
    return 0;
put:
    mgds_landing_put(landing);
    return rc;
}

size_t mgds_landing_slot(unsigned streams)
{
    return streams * sizeof(struct mgds_ring_handle);
}

void mgds_landing_tell(const struct mgds_landing *landing, char *slot)
{
    for (unsigned i = 0; i < landing->streams; i++) {
        struct mgds_ring_handle handle = {.regions = 0};

        if (landing->ring[i])
            mgds_ring_tell(landing->ring[i], &handle);
        memcpy(slot + i * sizeof(handle), &handle, sizeof(handle));
    }
}

/* Serials of different communicators do not meet, though memory is used again:
 * they begin anywhere below 2^62. */
static uint64_t first_serial(void)
{
    uint64_t word = MGDS_COUNT_FROM;

    if (word)
        return word + 1;
    if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
        word = (uintptr_t)&word;
    return (word >> 2) | 1;
}

/* Of a region of so many. */
static uint32_t dones_of(uint32_t units)
{
    return units >= 4 * DONES ? DONES : 0;
}

static int open_lane(struct mgds_lane **out, struct mgds_context *ctx,
                     const struct mgds_ring_handle *handle, uint32_t region,
                     bool own)
{
    struct mgds_lane *lane = (struct mgds_lane *)mgds_calloc(1, sizeof(*lane));
    int rc;

    if (!lane)
        return -ENOMEM;
    rc = mgds_ring_view_create(&lane->view, ctx, handle, own);
    if (rc < 0)
        goto drop;
    lane->region = mgds_ring_view_region(lane->view, region);
    rc = mgds_places_init(
        &lane->places, handle->units - dones_of(handle->units), first_serial());
    if (rc < 0)
        goto close;
    lane->own = own;
    *out = lane;
    return 0;
close:
    mgds_ring_view_destroy(lane->view);
drop:
    free(lane);
    return rc;
}

/* Both regions have words, and both ends use them, or neither. */
static void open_back(struct mgds_lane *lane, const struct mgds_ring *ring,
                      uint32_t region, const struct mgds_ring_handle *there)
{
    struct mgds_ring_handle here = {.regions = 0};
    uint32_t dones;

    if (!ring)
        return;
    mgds_ring_tell(ring, &here);
    dones = dones_of(here.units);
    if (dones == 0 || dones_of(there->units) == 0)
        return;
    lane->back = mgds_ring_region(ring, region) +
                 (here.units - dones) * sizeof(struct mgds_unit);
    lane->there =
        lane->region + (there->units - dones) * sizeof(struct mgds_unit);
    while (lane->dones < dones) {
        lane->done[lane->dones] = (uint16_t)lane->dones;
        lane->dones++;
    }
}

static struct mgds_lane **lane_at(const struct mgds_landing *landing,
                                  unsigned index, unsigned to)
{
    return &landing->lane[(size_t)index * landing->base[landing->peers] + to];
}

/* Processes that share a GPU have it in turns: while one waits in a kernel the
 * other one, which it waits for, does not run. There waits are left to memory
 * operations, unless kernels are asked for. */
static bool shares(const struct mgds_landing *landing, unsigned index,
                   const struct mgds_ring_handle *handle)
{
    struct mgds_ring_handle mine;

    if (!landing->ring[index] || handle->regions == 0 ||
        mgds_ctx()->config.trigger == MGDS_TRIGGER_KERNEL)
        return false;
    mgds_ring_tell(landing->ring[index], &mine);
    return memcmp(&mine.gpu, &handle->gpu, sizeof(mine.gpu)) == 0;
}

static enum lack lack_of(const struct mgds_landing *landing, unsigned index,
                         unsigned rank, const struct mgds_ring_handle *handle)
{
    const struct mgds_member *there = &landing->members[rank];
    int mine = landing->region[landing->base[landing->rank] + index];

    if (!takes(landing, index) || mine < 0)
        return NO_GPU_HERE;
    if (there->host == 0)
        return NO_GPU_THERE;
    if (there->host != landing->members[landing->rank].host)
        return OTHER_HOST;
    if ((uint32_t)mine >= handle->regions)
        return NO_RING;
    if (there->process != landing->process && shares(landing, index, handle))
        return SAME_GPU;
    return NOTHING;
}

static enum lack lack_by(int rc)
{
    if (rc == -ENOTSUP)
        return NO_PEERS;
    return rc == -EXDEV ? OTHER_CONTEXT : NO_MAPPING;
}

static enum lack open_to(struct mgds_landing *landing, unsigned index,
                         unsigned rank, unsigned to,
                         const struct mgds_ring_handle *handle)
{
    int mine = landing->region[landing->base[landing->rank] + index];
    bool own = landing->members[rank].process == landing->process;
    int rc = open_lane(lane_at(landing, index, to),
                       mgds_gstream_context(landing->stream[index]), handle,
                       (uint32_t)mine, own);

    if (rc < 0) {
        errno = -rc;
        mgds_debug("no lane to rank %u: %m: messages are staged", rank);
        return lack_by(rc);
    }
    open_back(*lane_at(landing, index, to), landing->ring[index],
              (uint32_t)landing->region[to], handle);
    return NOTHING;
}

static unsigned char *lack_at(const struct mgds_landing *landing,
                              unsigned index, unsigned to)
{
    return &landing->lack[(size_t)index * landing->base[landing->peers] + to];
}

static void hear(struct mgds_landing *landing, unsigned index, unsigned rank,
                 unsigned to_index, const struct mgds_ring_handle *handle)
{
    unsigned to = landing->base[rank] + to_index;
    enum lack lack = lack_of(landing, index, rank, handle);

    if (lack == SAME_GPU)
        landing->shared[index] = true;
    if (lack == NOTHING)
        lack = open_to(landing, index, rank, to, handle);
    *lack_at(landing, index, to) = (unsigned char)lack;
}

/* For who wants to know where the time goes. */
static void say(const struct mgds_landing *landing, unsigned rank)
{
    unsigned to = landing->base[rank];
    const struct mgds_lane *lane = *lane_at(landing, 0, to);

    if (lane)
        mgds_info("rank %u: enqueued messages in GPU memory take %s", rank,
                  mgds_path_names[lane->own ? MGDS_PATH_SELF : MGDS_PATH_P2P]);
    else
        mgds_info("rank %u: enqueued messages take host: %s", rank,
                  mgds_landing_why(landing, 0, to)->why);
}

void mgds_landing_hear(struct mgds_landing *landing, unsigned rank,
                       const char *slot)
{
    unsigned streams = streams_of(&landing->members[rank]);

    for (unsigned i = 0; i < landing->streams; i++)
        for (unsigned j = 0; j < streams; j++) {
            struct mgds_ring_handle handle;

            memcpy(&handle, slot + j * sizeof(handle), sizeof(handle));
            hear(landing, i, rank, j, &handle);
        }
    if (landing->streams > 0)
        say(landing, rank);
}

const struct mgds_hindrance *
mgds_landing_why(const struct mgds_landing *landing, unsigned index,
                 unsigned to)
{
    return &lacks[landing ? *lack_at(landing, index, to) : NOTHING_HEARD];
}

void mgds_landing_get(struct mgds_landing *landing)
{
    __atomic_fetch_add(&landing->refs, 1, __ATOMIC_RELAXED);
}

static void close_lane(struct mgds_lane *lane)
{
    if (!lane)
        return;
    mgds_mappings_clear(&lane->ours);
    mgds_mappings_clear(&lane->theirs);
    mgds_ring_view_destroy(lane->view);
    mgds_places_fini(&lane->places);
    free(lane);
}

void mgds_landing_put(struct mgds_landing *landing)
{
    size_t lanes;

    if (!landing || __atomic_sub_fetch(&landing->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    lanes = landing->base
                ? (size_t)landing->streams * landing->base[landing->peers]
                : 0;
    for (size_t i = 0; landing->lane && i < lanes; i++)
        close_lane(landing->lane[i]);
    for (unsigned i = 0; landing->ring && i < landing->streams; i++)
        mgds_ring_destroy(landing->ring[i]);
    free(landing->shared);
    free(landing->lane);
    free(landing->lack);
    free(landing->ring);
    free(landing->region);
    free(landing->base);
    free(landing);
}

bool mgds_landing_is_shared(const struct mgds_landing *landing, unsigned index)
{
    return landing && landing->shared[index];
}

bool mgds_landing_takes(const struct mgds_landing *landing, unsigned index)
{
    return landing && landing->ring[index] && !landing->shared[index];
}

static bool take_place(struct mgds_lane *lane, size_t units,
                       struct mgds_landing_place *place)
{
    if (mgds_places_take(&lane->places, (uint32_t)units, &place->units,
                         &place->serial) < 0)
        return false;
    place->address =
        lane->region + (size_t)place->units * sizeof(struct mgds_unit);
    return true;
}

/* Of a message. */
static size_t units_of(size_t bytes)
{
    return bytes ? (bytes - 1) / sizeof(uint64_t) + 1 : 1;
}

struct mgds_lane *mgds_landing_place(const struct mgds_landing *landing,
                                     unsigned index, unsigned to, size_t bytes,
                                     struct mgds_landing_place *place)
{
    size_t units = units_of(bytes);
    struct mgds_lane *lane;

    lane = *lane_at(landing, index, to);
    if (!take_place(lane, units, place))
        return NULL;
    mgds_count(ring_sends);
    return lane;
}

struct mgds_lane *mgds_landing_lane(const struct mgds_landing *landing,
                                    unsigned index, unsigned to)
{
    if (!landing || index >= landing->streams)
        return NULL;
    return *lane_at(landing, index, to);
}

bool mgds_lane_pulls(const struct mgds_lane *lane)
{
    return lane && lane->back;
}

bool mgds_lane_is_own(const struct mgds_lane *lane)
{
    return lane->own;
}

bool mgds_lane_reserve(struct mgds_lane *lane, struct mgds_landing_place *place,
                       uint32_t *done)
{
    if (lane->dones == 0 || !take_place(lane, 1, place))
        return false;
    *done = lane->done[--lane->dones];
    return true;
}

void mgds_lane_give_done(struct mgds_lane *lane, uint32_t done)
{
    lane->done[lane->dones++] = (uint16_t)done;
}

static uint64_t *word_of(char *words, uint32_t done)
{
    return (uint64_t *)(void *)(words + done * sizeof(struct mgds_unit));
}

uint64_t *mgds_lane_done_here(const struct mgds_lane *lane, uint32_t done)
{
    return word_of(lane->back, done);
}

uint64_t *mgds_lane_done_there(const struct mgds_lane *lane, uint32_t done)
{
    return done < DONES ? word_of(lane->there, done) : NULL;
}

struct mgds_mappings *mgds_lane_ours(struct mgds_lane *lane)
{
    return &lane->ours;
}

struct mgds_mappings *mgds_lane_theirs(struct mgds_lane *lane)
{
    return &lane->theirs;
}

bool mgds_landing_is_full(const struct mgds_landing *landing, unsigned index,
                          unsigned to, size_t bytes, bool direct)
{
    const struct mgds_lane *lane = *lane_at(landing, index, to);

    return (direct || !lane->hopeless) &&
           bytes / sizeof(uint64_t) < lane->places.units &&
           mgds_places_out(&lane->places) > 0;
}

void mgds_landing_despair(const struct mgds_landing *landing, unsigned index,
                          unsigned to)
{
    (*lane_at(landing, index, to))->hopeless = true;
}

void mgds_landing_give(struct mgds_lane *lane,
                       const struct mgds_landing_place *place)
{
    lane->hopeless = false;
    if (mgds_places_give(&lane->places, place->serial) < 0)
        mgds_err("place %" PRIu64 " of a ring came back, but was not out: it "
                 "is passed over",
                 place->serial);
}

/* The words at its end are for no place. */
bool mgds_landing_holds(const struct mgds_landing *landing, unsigned index,
                        unsigned source, uint32_t units, size_t bytes)
{
    uint32_t room;

    if (!landing || !landing->ring[index] || landing->region[source] < 0)
        return false;
    room = mgds_ring_units(landing->ring[index]);
    room -= dones_of(room);
    return units < room && units_of(bytes) <= room - units;
}

uint64_t mgds_landing_units(const struct mgds_landing *landing, unsigned index,
                            unsigned source, uint32_t units)
{
    char *region = mgds_ring_region(landing->ring[index],
                                    (uint32_t)landing->region[source]);

    return (uintptr_t)region + units * sizeof(struct mgds_unit);
}
