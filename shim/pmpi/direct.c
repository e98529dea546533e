/* What ranks agree on about headers; see direct.h. */
#include "shim/pmpi/direct.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/host.h"
#include "shim/base/random.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/mem/reads.h"
#include "shim/pmpi/aware.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct_facts.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"

/* Places of ranks that are none among peers. */
enum { UNSEEN = -1, OWN = -2 };

/* After a withdrawn header so many sends are staged: what waiting in vain costs
 * is little beside what these cost. */
enum { SAMPLE_BYTES = 4096, STAGED_AFTER_LATE = 16 };

/* Another rank of this host. */
struct peer {
    struct mgds_board *board;
    atomic_uint to_stage;   /* sends that do not wait for it: a hint */
    _Atomic uint32_t tried; /* a bit for each device */
    struct mgds_mapped *_Atomic mapped[MGDS_BOARD_DEVICES];
};

static struct {
    int rank, size;
    bool agreed;      /* with all ranks */
    atomic_bool open; /* the world is */
    struct mgds_board *board;
    struct peer *peers; /* near of them */
    int near;
    int *place; /* among them, by rank, from 1 on; 0: it is of another host;
                   UNSEEN: its board cannot be seen; OWN: this one's */
    int local;  /* ranks of this host */
    atomic_size_t collectives;
    unsigned below; /* ranks of this host that are lower */
    struct mgds_header_secret secret;
    MPI_Comm comm;
    MPI_Group world;
    struct mgds_shared *_Atomic sample[MGDS_BOARD_DEVICES];
    atomic_uint
        asked; /* a bit for each device: a sample was tried to be made */
    atomic_uint crowded; /* likewise: a peer's sample lies on it, too */
} direct;

/* GPU memory that the MPI below takes is left to it; a header must not land in
 * there. */
static bool is_left_below(enum mgds_staging stage)
{
    return stage == MGDS_STAGE_NEVER ||
           (stage == MGDS_STAGE_AUTO && mgds_aware_cuda_below());
}

static bool is_wanted(void)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    return config->direct > 0 && config->peers == MGDS_PEERS_ALL &&
           !is_left_below(config->stage);
}

bool mgds_direct_shared;

size_t mgds_direct_from(void)
{
    return mgds_ctx()->config.direct;
}

size_t mgds_direct_from_shared(void)
{
    return mgds_ctx()->config.direct_shared;
}

size_t mgds_direct_eager(void)
{
    return mgds_ctx()->config.direct_eager;
}

static void learn_world(void)
{
    int level = MPI_THREAD_SINGLE;

    MGDS_NEXT(Comm_rank, 2)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)&direct.rank);
    MGDS_NEXT(Comm_size, 2)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)&direct.size);
    MGDS_NEXT(Query_thread, 1)((mgds_word)&level);
    mgds_direct_shared = level == MPI_THREAD_MULTIPLE;
}

static void fill_facts(struct mgds_direct_facts *facts)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    memset(facts, 0, sizeof(*facts));
    facts->host = mgds_host_number();
    facts->sessions = mgds_init_has_sessions();
    facts->collectives = config->direct_coll;
    facts->gpus = config->gpus == MGDS_GPUS_AUTO
                      ? mgds_presence_gpus()
                      : config->gpus == MGDS_GPUS_YES;
    if (mgds_random(&facts->secret, sizeof(facts->secret)) < 0 ||
        mgds_board_create(&direct.board, (unsigned)direct.size) < 0)
        return;
    facts->takes_part = true;
    facts->place = mgds_board_place(direct.board);
}

/* Whose board cannot be seen is as if on another host: it is sent no header
 * from here, and those of its headers that come are none, since it sends none
 * to who has not mapped its sample. */
static void meet(int rank, const struct mgds_direct_facts *theirs)
{
    struct peer *peer = &direct.peers[direct.near];

    direct.place[rank] = UNSEEN;
    if (mgds_board_open(&peer->board, &theirs->place, (unsigned)direct.size) <
        0)
        return;
    direct.near++;
    direct.place[rank] = direct.near;
}

static bool is_near(const struct mgds_direct_facts *all, int rank)
{
    return rank != direct.rank && all[rank].host != 0 &&
           all[rank].host == all[direct.rank].host;
}

static bool meet_all(const struct mgds_direct_facts *all)
{
    size_t most = 1;

    for (int i = 0; i < direct.size; i++)
        most += is_near(all, i);
    for (int i = 0; i < direct.rank; i++)
        direct.below += is_near(all, i);
    direct.peers = mgds_calloc(most, sizeof(*direct.peers));
    direct.place = mgds_calloc((size_t)direct.size, sizeof(*direct.place));
    if (!direct.peers || !direct.place)
        return false;
    for (int i = 0; i < direct.size; i++)
        if (is_near(all, i))
            meet(i, &all[i]);
    direct.place[direct.rank] = OWN;
    direct.local = (int)most;
    return true;
}

/* The same in all ranks of the host, however they were set. */
static size_t choose_collectives(const struct mgds_direct_facts *all)
{
    uint64_t from = 0;
    bool gpus = false;

    for (int i = 0; i < direct.size; i++) {
        if (i != direct.rank && !is_near(all, i))
            continue;
        if (all[i].collectives == 0 || all[i].sessions)
            return 0;
        from = all[i].collectives > from ? all[i].collectives : from;
        gpus = gpus || all[i].gpus;
    }
    return gpus && direct.local > 1 ? (size_t)from : 0;
}

/* NULL: it is not of this host, or no rank. */
static struct peer *peer_of(int rank)
{
    int place = rank >= 0 && rank < direct.size ? direct.place[rank] : 0;

    return place > 0 ? &direct.peers[place - 1] : NULL;
}

static bool make_comm(void)
{
    return (int)MGDS_NEXT(Comm_dup, 2)((mgds_word)MPI_COMM_WORLD,
                                       (mgds_word)&direct.comm) ==
               MPI_SUCCESS &&
           (int)MGDS_NEXT(Comm_group, 2)((mgds_word)MPI_COMM_WORLD,
                                         (mgds_word)&direct.world) ==
               MPI_SUCCESS;
}

/* All ranks come to the same answer. */
static bool agree(void)
{
    struct mgds_direct_facts mine, *all;
    bool agreed;

    fill_facts(&mine);
    all = mgds_direct_facts_gather(&mine, direct.rank, direct.size);
    agreed = all &&
             mgds_direct_facts_agree(make_comm() && meet_all(all), direct.rank);
    atomic_store(&direct.open, agreed);
    if (agreed) {
        direct.secret = all[0].secret;
        atomic_store(&direct.collectives, choose_collectives(all));
    }
    free(all);
    return agreed;
}

static void let_peer_go(struct peer *peer)
{
    for (unsigned i = 0; i < MGDS_BOARD_DEVICES; i++)
        if (peer->mapped[i])
            mgds_mapped_destroy(peer->mapped[i]);
    mgds_board_close(peer->board);
}

static void let_go(void)
{
    for (int i = 0; i < direct.near; i++)
        let_peer_go(&direct.peers[i]);
    free(direct.peers);
    free(direct.place);
    for (unsigned i = 0; i < MGDS_BOARD_DEVICES; i++)
        if (direct.sample[i])
            mgds_shared_destroy(direct.sample[i]);
    mgds_board_close(direct.board);
    memset(&direct, 0, sizeof(direct));
}

/* Whoever sees that we are armed sees what was agreed. Whom nobody can send a
 * header need not look for one. */
void mgds_direct_init(void)
{
    if (!is_wanted())
        return;
    learn_world();
    direct.agreed = agree();
    if (!direct.agreed)
        let_go();
    if (mgds_direct_collectives() > 0)
        mgds_frame_close_shortcuts();
    if (direct.near == 0)
        return;
    mgds_reads_want();
    mgds_direct_arm_begin(mgds_ctx()->config.arm == MGDS_ARM_CONTEXT,
                          mgds_direct_shared);
}

/* Where sessions go on nobody has waited yet for bytes that went staged after
 * all. Requests that are there yet, orphans that the drain has not ended among
 * them, may be polled by delete callbacks inside of MPI_Finalize. */
void mgds_direct_leave_world(void)
{
    atomic_store(&direct.open, false);
    if (!direct.agreed || direct.comm == MPI_COMM_NULL)
        return;
    if (mgds_init_seen())
        mgds_request_orphans_drain(direct.comm);
    if (mgds_requests_any())
        return;
    MGDS_NEXT(Comm_free, 1)((mgds_word)&direct.comm);
}

void mgds_direct_fini(void)
{
    if (!direct.agreed)
        return;
    mgds_direct_arm_end();
    atomic_store(&direct.collectives, 0);
    if (direct.world != MPI_GROUP_NULL)
        mgds_below()->Group_free(&direct.world);
    if (!mgds_requests_any())
        let_go();
}

size_t mgds_direct_collectives(void)
{
    return atomic_load_explicit(&direct.collectives, memory_order_relaxed);
}

unsigned mgds_direct_place(void)
{
    return direct.below;
}

bool mgds_direct_may_carry(void)
{
    return atomic_load(&direct.open) && direct.near + 1 == direct.local &&
           !mgds_init_has_sessions();
}

static int rank_in_world(MPI_Group group, int rank)
{
    int found = MPI_UNDEFINED;

    mgds_below()->Group_translate_ranks(group, 1, &rank, direct.world, &found);
    return found == MPI_UNDEFINED ? -1 : found;
}

static int translate(MPI_Comm comm, int rank)
{
    MPI_Group group;

    if ((int)MGDS_NEXT(Comm_group, 2)((mgds_word)comm, (mgds_word)&group) !=
        MPI_SUCCESS)
        return -1;
    rank = rank_in_world(group, rank);
    mgds_below()->Group_free(&group);
    return rank;
}

int mgds_direct_world_rank(MPI_Comm comm, int rank)
{
    int between = 1, size = 0;

    if (comm == MPI_COMM_WORLD)
        return rank < direct.size ? rank : -1;
    if (mgds_init_has_sessions())
        return -1;
    MGDS_NEXT(Comm_test_inter, 2)((mgds_word)comm, (mgds_word)&between);
    if (between)
        return -1;
    MGDS_NEXT(Comm_size, 2)((mgds_word)comm, (mgds_word)&size);
    return rank >= 0 && rank < size ? translate(comm, rank) : -1;
}

static bool is_group_local(MPI_Group group, int size)
{
    bool local = true;

    for (int i = 0; local && i < size; i++) {
        int rank = rank_in_world(group, i);

        local = rank >= 0 && direct.place[rank] != 0;
    }
    return local;
}

/* Whether the world has ended here has no say: it may not have elsewhere. */
bool mgds_direct_is_local(MPI_Comm comm)
{
    MPI_Group group;
    int between = 1, size = 0;
    bool local;

    MGDS_NEXT(Comm_test_inter, 2)((mgds_word)comm, (mgds_word)&between);
    MGDS_NEXT(Comm_size, 2)((mgds_word)comm, (mgds_word)&size);
    if (between || size < 2 || size > direct.local ||
        (int)MGDS_NEXT(Comm_group, 2)((mgds_word)comm, (mgds_word)&group) !=
            MPI_SUCCESS)
        return false;
    local = is_group_local(group, size);
    mgds_below()->Group_free(&group);
    return local;
}

enum mgds_direct_peer mgds_direct_peer(int rank, int device)
{
    if (device < 0 || !peer_of(rank))
        return MGDS_DIRECT_PEER_FAR;
    if (!mgds_board_is_mapped(direct.board, (unsigned)rank, (unsigned)device))
        return MGDS_DIRECT_PEER_NEAR;
    return mgds_board_is_shared(direct.board, (unsigned)rank, (unsigned)device)
               ? MGDS_DIRECT_PEER_SHARES
               : MGDS_DIRECT_PEER_PROVEN;
}

void mgds_direct_was_late(int rank)
{
    atomic_store_explicit(&peer_of(rank)->to_stage, STAGED_AFTER_LATE,
                          memory_order_relaxed);
}

/* Threads that come at once may count less than they are. */
bool mgds_direct_stage_instead(int rank)
{
    struct peer *peer = peer_of(rank);
    unsigned left = atomic_load_explicit(&peer->to_stage, memory_order_relaxed);

    if (left > 0)
        atomic_store_explicit(&peer->to_stage, left - 1, memory_order_relaxed);
    return left > 0;
}

static int make_sample(struct mgds_shared **out, const struct mgds_ptr *ptr)
{
    struct mgds_board_sample sample;
    struct mgds_context *ctx;
    int rc = mgds_context_of_ptr(&ctx, ptr);

    if (rc < 0)
        return rc;
    rc = mgds_gpu_identify(&sample.gpu, ctx);
    if (rc >= 0)
        rc = mgds_shared_create(out, ctx, SAMPLE_BYTES);
    mgds_context_put(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_shared_tell(*out, &sample.name);
    if (rc == 0)
        mgds_board_post_sample(direct.board, (unsigned)ptr->device, &sample);
    else
        mgds_shared_destroy(*out);
    return rc;
}

void mgds_direct_post_sample(const struct mgds_ptr *ptr)
{
    unsigned device = (unsigned)ptr->device;
    struct mgds_shared *sample;

    if (device >= MGDS_BOARD_DEVICES ||
        (atomic_fetch_or(&direct.asked, 1u << device) >> device & 1) != 0)
        return;
    if (make_sample(&sample, ptr) == 0)
        direct.sample[device] = sample;
}

static void note_crowded(const struct mgds_context *ctx)
{
    if ((unsigned)ctx->device < MGDS_BOARD_DEVICES)
        atomic_fetch_or_explicit(&direct.crowded, 1u << ctx->device,
                                 memory_order_relaxed);
}

/* The mapping stands for as long as the job: its context is where headers of
 * that device are served. */
static void try_sample(struct peer *peer, unsigned device,
                       struct mgds_context *ctx)
{
    struct mgds_board_sample sample;
    struct mgds_mapped *mapped;
    struct mgds_gpu_id own;
    bool shares;

    if ((atomic_fetch_or(&peer->tried, 1u << device) >> device & 1) != 0 ||
        !mgds_board_find_sample(peer->board, device, &sample) ||
        mgds_gpu_identify(&own, ctx) < 0)
        return;
    shares = memcmp(&own, &sample.gpu, sizeof(own)) == 0;
    if (shares)
        note_crowded(ctx);
    if (mgds_mapped_create(&mapped, ctx, &sample.name) < 0)
        return;
    atomic_store(&peer->mapped[device], mapped);
    mgds_board_show_mapped(peer->board, (unsigned)direct.rank, device, shares);
}

static void try_new(struct peer *peer, const struct mgds_ptr *ptr)
{
    uint32_t fresh = mgds_board_samples(peer->board) &
                     ~atomic_load_explicit(&peer->tried, memory_order_relaxed);
    struct mgds_context *ctx;

    if (fresh == 0 || mgds_context_of_ptr(&ctx, ptr) < 0)
        return;
    for (unsigned device = 0; device < MGDS_BOARD_DEVICES; device++)
        if (fresh >> device & 1)
            try_sample(peer, device, ctx);
    mgds_context_put(ctx);
}

void mgds_direct_try_samples(const struct mgds_ptr *ptr)
{
    for (int i = 0; i < direct.near; i++)
        try_new(&direct.peers[i], ptr);
}

void mgds_direct_encode(unsigned char out[MGDS_HEADER_BYTES],
                        struct mgds_header *header, int receiver)
{
    header->sender = direct.rank;
    header->receiver = receiver;
    mgds_header_encode(out, header, &direct.secret);
}

/* The message of a slot that says FAILED is, until its receiver has seen that.
 */
static bool is_under_way(const struct mgds_header *header,
                         const struct peer *peer)
{
    enum mgds_slot_state state =
        mgds_board_state(peer->board, header->slot, header->serial);

    return state == MGDS_SLOT_OFFERED || state == MGDS_SLOT_WITHDRAWN ||
           state == MGDS_SLOT_FAILED;
}

bool mgds_direct_decode(struct mgds_header *out, const void *in,
                        MPI_Count bytes, const MPI_Status *status)
{
    const struct peer *peer;

    if (bytes != MGDS_HEADER_BYTES)
        return false;
    if (mgds_header_decode(out, in, &direct.secret) &&
        out->receiver == direct.rank && out->source == status->MPI_SOURCE &&
        out->tag == status->MPI_TAG) {
        peer = peer_of(out->sender);
        if (peer && is_under_way(out, peer))
            return true;
    }
    mgds_count(direct_alike);
    return false;
}

struct mgds_board *mgds_direct_own_board(void)
{
    return direct.board;
}

struct mgds_board *mgds_direct_board_of(const struct mgds_header *header)
{
    return peer_of(header->sender)->board;
}

struct mgds_context *mgds_direct_context(const struct mgds_header *header)
{
    const struct mgds_mapped *mapped;

    if (header->device >= MGDS_BOARD_DEVICES)
        return NULL;
    mapped = atomic_load(&peer_of(header->sender)->mapped[header->device]);
    return mapped ? mapped->ctx : NULL;
}

bool mgds_direct_is_crowded(const struct mgds_context *ctx)
{
    unsigned device = (unsigned)ctx->device;

    return device >= MGDS_BOARD_DEVICES ||
           (atomic_load_explicit(&direct.crowded, memory_order_relaxed) >>
                device &
            1) != 0;
}

void mgds_direct_give_up(const struct mgds_header *header)
{
    mgds_board_hide_mapped(peer_of(header->sender)->board,
                           (unsigned)direct.rank, header->device);
}

static bool serves(void)
{
    return mgds_direct_armed() && !mgds_direct_shared;
}

void mgds_direct_serve(bool inside)
{
    if (serves())
        mgds_board_serve(direct.board, inside);
}

void mgds_direct_pass(void)
{
    if (serves())
        mgds_board_pass(direct.board);
}

bool mgds_direct_has_refused(void)
{
    return direct.board && mgds_board_has_refused(direct.board);
}

uint64_t mgds_direct_serving(int rank)
{
    return mgds_board_serving(peer_of(rank)->board);
}

MPI_Comm mgds_direct_comm(void)
{
    return direct.comm;
}
