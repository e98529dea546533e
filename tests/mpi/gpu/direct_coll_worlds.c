/* The communicators that direct collectives are tried on. */
#include "tests/mpi/gpu/direct_coll.h"

#include <dlfcn.h>
#include <string.h>

/* The MPI library's own, which our library does not see. */
static void *below(const char *name)
{
    void *mpi = dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD), *found;

    CHECK(mpi);
    found = dlsym(mpi, name);
    CHECK(found);
    return found;
}

static void set_members(struct world *world)
{
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->size);
}

static void set_peers(struct world *world, int peers)
{
    CHECK(peers <= BLOCKS);
    world->sends = world->receives = peers;
    for (int i = 0; i < peers; i++)
        for (int form = 0; form < FORMS; form++)
            world->from[form][i] = (struct origin){i, world->rank};
}

static void set_plain(struct world *world, MPI_Comm comm)
{
    world->comm = comm;
    set_members(world);
    set_peers(world, world->size);
}

static void make_reversed(struct world *world)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, gpu_size - gpu_rank, &comm);
    set_plain(world, comm);
    CHECK(world->rank == gpu_size - 1 - gpu_rank);
}

static void make_inter(struct world *world)
{
    bool upper = gpu_rank >= (gpu_size + 1) / 2;
    MPI_Comm half;
    int remote;

    world->comm = MPI_COMM_NULL;
    world->inter = true;
    if (gpu_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, upper, gpu_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
                         upper ? 0 : (gpu_size + 1) / 2, 0, &world->comm);
    MPI_Comm_free(&half);
    set_members(world);
    MPI_Comm_remote_size(world->comm, &remote);
    set_peers(world, remote);
    world->group = upper;
    world->senders = !upper;
}

typedef int even_fn(const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                    MPI_Comm);
typedef int uneven_fn(const void *, const int[], const int[], MPI_Datatype,
                      void *, const int[], const int[], MPI_Datatype, MPI_Comm);
typedef int typed_fn(const void *, const int[], const MPI_Aint[],
                     const MPI_Datatype[], void *, const int[],
                     const MPI_Aint[], const MPI_Datatype[], MPI_Comm);

/* Which of whose blocks comes in which place is what the MPI library says, by
 * each form of the call: where two ranks are neighbours twice, MPICH 4.0.2's
 * forms differ. */
static void exchange_below(const struct origin *mine, struct world *world)
{
    even_fn *even = (even_fn *)below("PMPI_Neighbor_alltoall");
    uneven_fn *uneven = (uneven_fn *)below("PMPI_Neighbor_alltoallv");
    typed_fn *typed = (typed_fn *)below("PMPI_Neighbor_alltoallw");
    MPI_Datatype types[BLOCKS];
    int counts[BLOCKS], displs[BLOCKS];
    MPI_Aint far[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        types[i] = MPI_2INT;
        counts[i] = 1;
        displs[i] = i;
        far[i] = i * (MPI_Aint)sizeof(*mine);
    }
    even(mine, 1, MPI_2INT, world->from[NOTHING], 1, MPI_2INT, world->comm);
    uneven(mine, counts, displs, MPI_2INT, world->from[ITS_COUNT], counts,
           displs, MPI_2INT, world->comm);
    if (!world->unequal)
        typed(mine, counts, far, types, world->from[ITS_TYPE], counts, far,
              types, world->comm);
}

static void set_neighbours(struct world *world, int sends, int receives)
{
    struct origin mine[BLOCKS], nobody = {MPI_PROC_NULL, 0};

    CHECK(sends <= BLOCKS && receives <= BLOCKS);
    set_members(world);
    world->neighbours = true;
    world->sends = sends;
    world->receives = receives;
    for (int i = 0; i < BLOCKS; i++) {
        mine[i] = (struct origin){world->rank, i};
        for (int form = 0; form < FORMS; form++)
            world->from[form][i] = nobody;
    }
    exchange_below(mine, world);
}

static void make_line(struct world *world, int periodic)
{
    MPI_Cart_create(MPI_COMM_WORLD, 1, &gpu_size, &periodic, 0, &world->comm);
    set_neighbours(world, 2, 2);
}

/* How many edges go from a rank to another: to the next, all to 0, and from odd
 * ones to themselves. */
static int unequal_edges(int from, int to)
{
    int next = (from + 1) % gpu_size == to;

    return next + (from && !to) + (from == to && from % 2);
}

/* To the next twice, and to itself. */
static int doubled_edges(int from, int to)
{
    return 2 * ((from + 1) % gpu_size == to) + (from == to);
}

static int list_edges(int (*edges)(int, int), int *peers, bool come)
{
    int many = 0;

    for (int peer = 0; peer < gpu_size; peer++) {
        int each = come ? edges(peer, gpu_rank) : edges(gpu_rank, peer);

        CHECK(many + each <= BLOCKS);
        while (each-- > 0)
            peers[many++] = peer;
    }
    return many;
}

static void make_graph(struct world *world, int (*edges)(int, int))
{
    int in[BLOCKS], out[BLOCKS];
    int receives = list_edges(edges, in, true);
    int sends = list_edges(edges, out, false);

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, receives, in, MPI_UNWEIGHTED,
                                   sends, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &world->comm);
    world->unequal = edges == unequal_edges;
    set_neighbours(world, sends, receives);
}

void make_worlds(struct world worlds[WORLDS])
{
    memset(worlds, 0, WORLDS * sizeof(*worlds));
    set_plain(&worlds[WORLD], MPI_COMM_WORLD);
    make_reversed(&worlds[REVERSED]);
    set_plain(&worlds[ALONE], MPI_COMM_SELF);
    make_inter(&worlds[INTER]);
    make_line(&worlds[RING], 1);
    make_line(&worlds[OPEN], 0);
    make_graph(&worlds[GRAPH], unequal_edges);
    make_graph(&worlds[TWICE], doubled_edges);
}

void free_worlds(struct world worlds[WORLDS])
{
    for (int i = WORLD + 1; i < WORLDS; i++)
        if (i != ALONE && worlds[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&worlds[i].comm);
}
