/* One collective call: buffers before, arguments, and buffers afterwards. */
#include "tests/mpi/gpu/direct_coll.h"

#include <string.h>

enum {
    GUARD = 64,
    GUARDS = 2 * GUARD,
    CAPACITY = 3200 << 10,
    GAP_MAX = 4,
    SEND = 0,
    RECV = 1
};

/* MPICH 4.0.2 cuts longer blocks of an MPI_Allgatherv by their types' extent,
 * which must be the same at all members then. */
enum { LONG = 4000 };

/* How an element of two integers may be laid out. */
struct spelling {
    int per; /* as so many of type */
    int first, second, extent;
};
enum { INTS, PAIR, HOLED, WIDE, TURNED, SPELLINGS };
static const struct spelling spellings[SPELLINGS] = {[INTS] = {2, 0, 4, 8},
                                                     [PAIR] = {1, 0, 4, 8},
                                                     [HOLED] = {1, 0, 8, 12},
                                                     [WIDE] = {1, 4, 8, 20},
                                                     [TURNED] = {1, 8, 0, 16}};
static MPI_Datatype types[SPELLINGS];

static const enum mgds_test_kind kinds[] = {MGDS_TEST_DEVICE, MGDS_TEST_HOST,
                                            MGDS_TEST_MANAGED, MGDS_TEST_ASYNC};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* One of the two buffers of a call. */
struct side {
    struct mgds_test_memory memories[KINDS], *memory; /* NULL: has none */
    char *image; /* what it must hold, guards and all */
    size_t bytes;
    int blocks;
    struct origin from[BLOCKS];
    int elements[BLOCKS], spelt[BLOCKS];
    int counts[BLOCKS], displs[BLOCKS], at[BLOCKS];
    MPI_Aint far[BLOCKS];
    MPI_Datatype types[BLOCKS];
};

struct bench {
    struct side sides[SIDES];
    char *got;
    struct lap lap;
    struct args args;
};

/* What is drawn, in a lap and by whom. */
enum { KIND = 1, SPELLING, COUNT, GAP, VALUE, NOISE };

static unsigned mix(unsigned a, unsigned b)
{
    a = (a ^ b * 0x9e3779b1u) * 0x85ebca6bu;
    a = (a ^ a >> 15) * 0xc2b2ae35u;
    return a ^ a >> 13;
}

static unsigned draw(const struct lap *lap, int what, int member, int index)
{
    unsigned seed = mix(mix(lap->seed, (unsigned)what), (unsigned)member);

    return mix(seed, (unsigned)index);
}

int drawn_alike(unsigned seed, int limit)
{
    return (int)(mix(seed, 77) % (unsigned)limit);
}

static void make_type(int spelling, MPI_Datatype bare)
{
    MPI_Type_create_resized(bare, 0, spellings[spelling].extent,
                            &types[spelling]);
    MPI_Type_commit(&types[spelling]);
    MPI_Type_free(&bare);
}

void make_types(void)
{
    MPI_Datatype bare;

    types[INTS] = MPI_INT;
    for (int i = PAIR; i < SPELLINGS; i++) {
        int at[] = {spellings[i].first / 4, spellings[i].second / 4};

        if (i == HOLED)
            MPI_Type_vector(2, 1, 2, MPI_INT, &bare);
        else
            MPI_Type_create_indexed_block(2, 1, at, MPI_INT, &bare);
        make_type(i, bare);
    }
}

void free_types(void)
{
    for (int i = PAIR; i < SPELLINGS; i++)
        MPI_Type_free(&types[i]);
}

static void create_side(struct side *side)
{
    for (int i = 0; i < KINDS; i++)
        CHECK(!mgds_test_memory_alloc(&side->memories[i], kinds[i], CAPACITY));
    side->image = malloc(CAPACITY);
    CHECK(side->image);
}

struct bench *bench_create(void)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    CHECK(bench);
    bench->got = malloc(CAPACITY);
    CHECK(bench->got);
    for (int i = 0; i < SIDES; i++)
        create_side(&bench->sides[i]);
    return bench;
}

void bench_destroy(struct bench *bench)
{
    for (int i = 0; i < SIDES; i++) {
        for (int kind = 0; kind < KINDS; kind++)
            mgds_test_memory_free(&bench->sides[i].memories[kind]);
        free(bench->sides[i].image);
    }
    free(bench->got);
    free(bench);
}

/* MPICH 4.0.2's MPI_Neighbor_alltoallw returns ahead of its last receives where
 * a member has more of them than sends. */
bool fits(const struct collective *how, const struct world *world)
{
    if (world->comm == MPI_COMM_NULL || how->neighbours != world->neighbours)
        return false;
    if (how->form == ITS_TYPE && world->unequal)
        return false;
    return !world->inter || how->rooted == NO_ROOT;
}

/* Who has which buffer. */

static bool is_root(const struct lap *lap)
{
    return lap->world->rank == lap->root;
}

/* Does the member give its call something in place of a buffer? */
static bool in_place(const struct lap *lap)
{
    enum rooted rooted = lap->how->rooted;

    if (!(lap->options & IN_PLACE) || rooted == ONE_BUFFER)
        return false;
    if (lap->world->neighbours || lap->world->inter)
        return false;
    return rooted == NO_ROOT || is_root(lap);
}

static bool sends(const struct lap *lap)
{
    enum rooted rooted = lap->how->rooted;

    if (rooted == FROM_ROOT)
        return is_root(lap);
    return rooted != ONE_BUFFER && !in_place(lap);
}

static bool receives(const struct lap *lap)
{
    enum rooted rooted = lap->how->rooted;

    if (rooted == TO_ROOT)
        return is_root(lap);
    return rooted != FROM_ROOT || !in_place(lap);
}

static struct mgds_test_memory *drawn_memory(const struct lap *lap,
                                             struct side *side, int which)
{
    unsigned kind = draw(lap, KIND, lap->world->rank, which) % KINDS;

    return &side->memories[kind];
}

static struct mgds_test_memory *memory_for(const struct lap *lap,
                                           struct side *side, int which)
{
    bool odd = lap->world->rank % 2 != 0;
    int kind = 0;

    if (lap->placement == DRAWN)
        return drawn_memory(lap, side, which);
    if (lap->placement == ON_HOST)
        kind = 1;
    else if (lap->placement == BY_RANK)
        kind = odd;
    else if (lap->placement == TO_HOST)
        kind = which == RECV;
    else if (lap->placement == FROM_HOST)
        kind = which == SEND;
    else if (lap->placement == ONE_MANAGED)
        kind = lap->world->rank == 0 ? 2 : 0;
    return &side->memories[kind];
}

/* Blocks. */

/* In place both of a pair send as much. */
static int elements_of(const struct lap *lap, struct origin from)
{
    int low = from.rank, high = from.index;
    unsigned drawn;

    if (lap->how->form == NOTHING || !(lap->options & UNEVEN) || !lap->elements)
        return lap->elements;
    if (lap->options & IN_PLACE && low > high) {
        low = from.index;
        high = from.rank;
    }
    drawn = draw(lap, COUNT, low, high);
    return drawn % 4 == 0 ? 0 : (int)(drawn / 4 % (unsigned)lap->elements) + 1;
}

static int spelling_of(const struct lap *lap, int which, int block)
{
    const struct collective *how = lap->how;
    bool cut = how->one_sent && how->form != NOTHING && lap->elements > LONG;
    int member = cut ? 0 : lap->world->rank + 8 * which;

    if (!(lap->options & TYPED))
        return INTS;
    return (
        int)(draw(lap, SPELLING, member, how->form == ITS_TYPE ? block : 0) %
             SPELLINGS);
}

static void set_origins(const struct lap *lap, struct side *side, int which)
{
    const struct world *world = lap->world;
    const struct collective *how = lap->how;
    bool one = which == SEND ? how->one_sent : how->one_received;

    side->blocks = which == SEND ? world->sends : world->receives;
    if (one)
        side->blocks = 1;
    for (int i = 0; i < side->blocks; i++) {
        side->from[i] = world->from[how->form][i];
        if (which == SEND)
            side->from[i] = (struct origin){world->rank, i};
        else if (how->rooted == FROM_ROOT || how->rooted == ONE_BUFFER)
            side->from[i] = (struct origin){lap->root, world->rank};
        if (how->one_sent)
            side->from[i].index = 0;
    }
}

static void set_block(const struct lap *lap, struct side *side, int i, int at)
{
    const struct spelling *spelling = &spellings[side->spelt[i]];

    side->types[i] = types[side->spelt[i]];
    side->counts[i] = side->elements[i] * spelling->per;
    side->displs[i] = at * spelling->per / spelling->extent;
    side->far[i] = side->at[i] = at;
    CHECK(lap->how->form == ITS_TYPE ||
          side->displs[i] * spelling->extent == at * spelling->per);
}

/* MPICH 4.0.2 puts the only block of an Allgatherv at 0 in any case. */
static int gap_before(const struct lap *lap, const struct side *side, int which,
                      int i)
{
    unsigned drawn = draw(lap, GAP, lap->world->rank, i * SIDES + which);

    if (!(lap->options & GAPS) || lap->how->form == NOTHING || side->blocks < 2)
        return 0;
    return (int)(drawn % GAP_MAX) * spellings[side->spelt[i]].extent;
}

static void lay_out(const struct lap *lap, struct side *side, int which)
{
    bool reverse = lap->options & REVERSE && lap->how->form != NOTHING;
    int at = 0;

    set_origins(lap, side, which);
    for (int n = 0; n < side->blocks; n++) {
        int i = reverse ? side->blocks - 1 - n : n;

        side->elements[i] = elements_of(lap, side->from[i]);
        side->spelt[i] = spelling_of(lap, which, i);
        at += gap_before(lap, side, which, i);
        set_block(lap, side, i, at);
        at += side->elements[i] * spellings[side->spelt[i]].extent;
    }
    side->bytes = (size_t)at + GUARDS;
    CHECK(side->bytes <= CAPACITY);
}

/* Images. */

static void put_noise(const struct lap *lap, struct side *side, int which)
{
    unsigned seed = draw(lap, NOISE, lap->world->rank, which);

    for (size_t i = 0; i < side->bytes; i++)
        side->image[i] = (char)(seed + i * 13);
}

static void put_block(const struct lap *lap, struct side *side, int i,
                      struct origin from)
{
    const struct spelling *spelling = &spellings[side->spelt[i]];
    char *to = side->image + GUARD + side->at[i];
    unsigned value = draw(lap, VALUE, from.rank, from.index);

    for (int n = 0; n < side->elements[i]; n++, to += spelling->extent) {
        unsigned second = value + 0x9e3779b1u;

        memcpy(to + spelling->first, &value, sizeof(value));
        memcpy(to + spelling->second, &second, sizeof(second));
        value = second + 0x9e3779b1u;
    }
}

/* The group goes into the rank: groups count theirs from 0 each. */
static struct origin in_group(struct origin from, int group)
{
    return (struct origin){from.rank + 100 * group, from.index};
}

/* What lies in a receive buffer ahead of the call that is given no other. */
static void put_own(const struct lap *lap, struct side *side)
{
    int rank = lap->world->rank;

    for (int i = 0; i < side->blocks; i++) {
        struct origin own = {rank, lap->how->one_sent ? 0 : i};
        bool mine = side->from[i].rank == rank || !lap->how->one_sent;

        if (mine)
            put_block(lap, side, i, in_group(own, lap->world->group));
    }
}

static void put_received(const struct lap *lap, struct side *side)
{
    for (int i = 0; i < side->blocks; i++)
        if (side->from[i].rank != MPI_PROC_NULL)
            put_block(lap, side, i,
                      in_group(side->from[i], lap->world->senders));
}

static void fill_send(const struct lap *lap, struct side *side)
{
    put_noise(lap, side, SEND);
    for (int i = 0; i < side->blocks; i++)
        put_block(lap, side, i, in_group(side->from[i], lap->world->group));
    mgds_test_memory_write(side->memory, side->image, side->bytes);
}

static void fill_recv(const struct lap *lap, struct side *side)
{
    bool sent_from =
        in_place(lap) || (lap->how->rooted == ONE_BUFFER && is_root(lap));

    put_noise(lap, side, RECV);
    if (sent_from)
        put_own(lap, side);
    mgds_test_memory_write(side->memory, side->image, side->bytes);
    put_received(lap, side);
}

/* Arguments. */

/* Of a buffer that means nothing to the call. */
static struct part nothing(const struct lap *lap)
{
    struct part part = {.at = (void *)16, .count = -7, .type = 0};

    part.type = MPI_DATATYPE_NULL;
    if (in_place(lap))
        part.at = MPI_IN_PLACE;
    return part;
}

static struct part part_of(struct side *side)
{
    return (struct part){.at = side->memory->at + GUARD,
                         .count = side->counts[0],
                         .type = side->types[0],
                         .counts = side->counts,
                         .displs = side->displs,
                         .bytes = side->at,
                         .far = side->far,
                         .types = side->types};
}

static struct part begin_side(const struct lap *lap, struct side *side,
                              int which)
{
    side->memory = NULL;
    if (!(which == SEND ? sends(lap) : receives(lap)))
        return nothing(lap);
    lay_out(lap, side, which);
    side->memory = memory_for(lap, side, which);
    if (which == SEND)
        fill_send(lap, side);
    else
        fill_recv(lap, side);
    return part_of(side);
}

struct args *lap_begin(struct bench *bench, const struct lap *lap)
{
    bench->lap = *lap;
    bench->args.send = begin_side(lap, &bench->sides[SEND], SEND);
    bench->args.recv = begin_side(lap, &bench->sides[RECV], RECV);
    bench->args.root = lap->root;
    bench->args.comm = lap->world->comm;
    return &bench->args;
}

static void report(const struct bench *bench, int which, size_t at)
{
    const struct lap *lap = &bench->lap;
    const struct side *side = &bench->sides[which];

    fprintf(stderr,
            "MPI_%s, rank %d of %d, root %d, seed %u, elements %d, options %u, "
            "placement %d, neighbours %d, inter %d: %s buffer (%s) differs at "
            "%ld of %zu: 0x%02x, should be 0x%02x\n",
            lap->how->name, lap->world->rank, lap->world->size, lap->root,
            lap->seed, lap->elements, lap->options, (int)lap->placement,
            lap->world->neighbours, lap->world->inter,
            which == SEND ? "send" : "receive",
            mgds_test_kind_name(side->memory->kind), (long)at - GUARD,
            side->bytes - GUARDS, (unsigned char)bench->got[at],
            (unsigned char)side->image[at]);
    abort();
}

static void check_side(const struct bench *bench, int which)
{
    const struct side *side = &bench->sides[which];

    if (!side->memory)
        return;
    mgds_test_memory_read(side->memory, bench->got, side->bytes);
    if (memcmp(bench->got, side->image, side->bytes) == 0)
        return;
    for (size_t i = 0; i < side->bytes; i++)
        if (bench->got[i] != side->image[i])
            report(bench, which, i);
}

void lap_check(const struct bench *bench)
{
    check_side(bench, SEND);
    check_side(bench, RECV);
}

void lap_run(struct bench *bench, const struct lap *lap)
{
    struct args *args = lap_begin(bench, lap);

    CHECK(lap->how->call(args, NULL) == MPI_SUCCESS);
    lap_check(bench);
}
