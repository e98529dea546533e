/* What a collective's communicator and types are like: asked of the MPI below.
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/coll_stage.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"

/* Inquiries that are not in the interception table. */
static struct {
    int (*topo_test)(MPI_Comm, int *);
    int (*cartdim_get)(MPI_Comm, int *);
    int (*cart_get)(MPI_Comm, int, int[], int[], int[]);
    int (*graph_neighbors_count)(MPI_Comm, int, int *);
    int (*dist_graph_neighbors_count)(MPI_Comm, int *, int *, int *);
    int (*cart_shift)(MPI_Comm, int, int, int *, int *);
    int (*graph_neighbors)(MPI_Comm, int, int, int[]);
    int (*dist_graph_neighbors)(MPI_Comm, int, int[], int[], int, int[], int[]);
} ask;
static pthread_once_t ask_once = PTHREAD_ONCE_INIT;

static void find_inquiries(void)
{
    ask.topo_test = mgds_next_symbol("PMPI_Topo_test");
    ask.cartdim_get = mgds_next_symbol("PMPI_Cartdim_get");
    ask.cart_get = mgds_next_symbol("PMPI_Cart_get");
    ask.graph_neighbors_count = mgds_next_symbol("PMPI_Graph_neighbors_count");
    ask.dist_graph_neighbors_count =
        mgds_next_symbol("PMPI_Dist_graph_neighbors_count");
    ask.cart_shift = mgds_next_symbol("PMPI_Cart_shift");
    ask.graph_neighbors = mgds_next_symbol("PMPI_Graph_neighbors");
    ask.dist_graph_neighbors = mgds_next_symbol("PMPI_Dist_graph_neighbors");
}

/* Is the grid open at an end in some dimension? */
static int ask_gaps(bool *gaps, MPI_Comm comm, int dims)
{
    size_t n = (size_t)dims;
    int *periods = mgds_calloc(3 * n + 1, sizeof(*periods));
    int rc;

    if (!periods)
        return mgds_mpi_error(comm, -ENOMEM);
    rc = ask.cart_get(comm, dims, periods + n, periods, periods + 2 * n);
    for (int i = 0; rc == MPI_SUCCESS && i < dims; i++)
        *gaps = *gaps || !periods[i];
    free(periods);
    return rc;
}

static int ask_cart(struct mgds_coll_facts *facts, MPI_Comm comm)
{
    int dims = 0;
    int rc = ask.cartdim_get(comm, &dims);

    if (rc != MPI_SUCCESS)
        return rc;
    facts->in = facts->out = 2 * dims;
    return ask_gaps(&facts->gaps, comm, dims);
}

static int ask_topo(struct mgds_coll_facts *facts, MPI_Comm comm)
{
    int kind = MPI_UNDEFINED, weighted;
    int rc;

    pthread_once(&ask_once, find_inquiries);
    rc = ask.topo_test(comm, &kind);
    if (rc != MPI_SUCCESS)
        return rc;
    if (kind == MPI_CART)
        return ask_cart(facts, comm);
    if (kind == MPI_DIST_GRAPH)
        return ask.dist_graph_neighbors_count(comm, &facts->in, &facts->out,
                                              &weighted);
    if (kind != MPI_GRAPH)
        return MPI_SUCCESS;
    rc = ask.graph_neighbors_count(comm, facts->rank, &facts->in);
    facts->out = facts->in;
    return rc;
}

static int ask_remote(struct mgds_coll_facts *facts, mgds_word comm)
{
    int inter = 0;
    int rc = (int)MGDS_NEXT(Comm_test_inter, 2)(comm, (mgds_word)&inter);

    if (rc != MPI_SUCCESS || !inter)
        return rc;
    return (int)MGDS_NEXT(Comm_remote_size, 2)(comm, (mgds_word)&facts->remote);
}

static bool needs_topo(const struct mgds_coll_row *row)
{
    return row->recv.many == MGDS_COLL_IN;
}

int mgds_coll_ask(struct mgds_coll_facts *facts,
                  const struct mgds_coll_row *row, mgds_word comm)
{
    int rc;

    *facts = (struct mgds_coll_facts){.size = 1};
    if (row->comm == MGDS_COLL_NONE)
        return MPI_SUCCESS;
    rc = (int)MGDS_NEXT(Comm_rank, 2)(comm, (mgds_word)&facts->rank);
    if (rc == MPI_SUCCESS)
        rc = (int)MGDS_NEXT(Comm_size, 2)(comm, (mgds_word)&facts->size);
    if (rc == MPI_SUCCESS)
        rc = ask_remote(facts, comm);
    if (rc == MPI_SUCCESS && needs_topo(row))
        rc = ask_topo(facts, (MPI_Comm)comm);
    return rc;
}

/* Along each dimension the one before, then the one behind. */
static int cart_neighbors(int *ranks, const struct mgds_coll_facts *facts,
                          MPI_Comm comm)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < facts->in; i += 2)
        rc = ask.cart_shift(comm, i / 2, 1, &ranks[i], &ranks[i + 1]);
    return rc;
}

static int dist_neighbors(int *sources, int *dests,
                          const struct mgds_coll_facts *facts, MPI_Comm comm)
{
    size_t n = (size_t)facts->in + (size_t)facts->out;
    int *weights = (int *)mgds_calloc(n + 1, sizeof(*weights));
    int rc;

    if (!weights)
        return mgds_mpi_error(comm, -ENOMEM);
    rc = ask.dist_graph_neighbors(comm, facts->in, sources, weights, facts->out,
                                  dests, weights + facts->in);
    free(weights);
    return rc;
}

int mgds_coll_neighbors(int *sources, int *dests,
                        const struct mgds_coll_facts *facts, MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;
    int rc = ask.topo_test(comm, &kind);

    if (rc != MPI_SUCCESS)
        return rc;
    if (kind == MPI_DIST_GRAPH)
        return dist_neighbors(sources, dests, facts, comm);
    rc = kind == MPI_CART
             ? cart_neighbors(sources, facts, comm)
             : ask.graph_neighbors(comm, facts->rank, facts->in, sources);
    memcpy(dests, sources, (size_t)facts->out * sizeof(*dests));
    return rc;
}

int mgds_coll_extent(MPI_Aint *out, MPI_Datatype type)
{
    MPI_Count lb, extent;

    if (type == MPI_DATATYPE_NULL ||
        mgds_below()->Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        return -EINVAL;
    *out = (MPI_Aint)extent;
    return 0;
}
