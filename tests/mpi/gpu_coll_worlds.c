/* The communicators that collectives are tried on. */
#include <string.h>

#include "tests/lib/mpi_check.h"
#include "tests/mpi/gpu_coll.h"

struct world worlds[TOPOLOGIES];

static void set_peers(struct world *world, int peers)
{
    CHECK(peers <= RANKS_MAX);
    world->peers = peers;
    for (int i = 0; i < peers; i++)
        world->in[i] = world->out[i] = i;
}

static void make_world(struct world *world)
{
    world->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->size);
    set_peers(world, world->size);
}

static void make_inter(struct world *world)
{
    MPI_Comm half;
    int rank = worlds[WORLD].rank, size = worlds[WORLD].size, remote;
    bool upper = rank >= (size + 1) / 2;

    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : (size + 1) / 2, 0,
                         &world->comm);
    MPI_Comm_free(&half);
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->size);
    MPI_Comm_remote_size(world->comm, &remote);
    set_peers(world, remote);
    world->is_leaf = !upper;
    world->is_root = upper && world->rank == world->size - 1;
    world->root = size - (size + 1) / 2 - 1;
    if (upper)
        world->root = world->is_root ? MPI_ROOT : MPI_PROC_NULL;
}

static void make_grid(struct world *world, int periodic)
{
    int size = worlds[WORLD].size;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &world->comm);
    MPI_Comm_rank(world->comm, &world->rank);
    world->size = size;
    set_peers(world, 2);
    MPI_Cart_shift(world->comm, 0, 1, &world->in[0], &world->in[1]);
    memcpy(world->out, world->in, sizeof(world->in));
}

/* Everybody gives to the next two, and to itself. */
static void make_graph(struct world *world)
{
    int rank = worlds[WORLD].rank, size = worlds[WORLD].size;

    world->rank = rank;
    world->size = size;
    world->peers = 3;
    for (int i = 0; i < 3; i++) {
        world->out[i] = (rank + i) % size;
        world->in[i] = (rank + 3 * size - i) % size;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, world->in, MPI_UNWEIGHTED,
                                   3, world->out, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &world->comm);
}

void make_worlds(void)
{
    for (int i = 0; i < TOPOLOGIES; i++)
        worlds[i].comm = MPI_COMM_NULL;
    make_world(&worlds[WORLD]);
    make_inter(&worlds[INTER]);
    make_grid(&worlds[OPEN_GRID], 0);
    make_grid(&worlds[CLOSED_GRID], 1);
    make_graph(&worlds[GRAPH]);
}

void free_worlds(void)
{
    for (int i = WORLD + 1; i < TOPOLOGIES; i++)
        if (worlds[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&worlds[i].comm);
}
