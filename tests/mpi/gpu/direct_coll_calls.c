/* Every collective that may go by direct copies, in both of its forms. */
#include "tests/mpi/gpu/direct_coll.h"

#define CALL(name, lower, ...)                                                 \
    static int call_##name(const struct args *a, MPI_Request *request)         \
    {                                                                          \
        if (request)                                                           \
            return MPI_I##lower(__VA_ARGS__, request);                         \
        return MPI_##name(__VA_ARGS__);                                        \
    }

#define EVEN(side) a->side.at, a->side.count, a->side.type
#define LISTS(side) a->side.at, a->side.counts, a->side.displs, a->side.type
#define TYPES(side) a->side.at, a->side.counts, a->side.bytes, a->side.types
#define FAR(side) a->side.at, a->side.counts, a->side.far, a->side.types

CALL(Allgather, allgather, EVEN(send), EVEN(recv), a->comm)
CALL(Allgatherv, allgatherv, EVEN(send), LISTS(recv), a->comm)
CALL(Alltoall, alltoall, EVEN(send), EVEN(recv), a->comm)
CALL(Alltoallv, alltoallv, LISTS(send), LISTS(recv), a->comm)
CALL(Alltoallw, alltoallw, TYPES(send), TYPES(recv), a->comm)
CALL(Bcast, bcast, EVEN(recv), a->root, a->comm)
CALL(Gather, gather, EVEN(send), EVEN(recv), a->root, a->comm)
CALL(Gatherv, gatherv, EVEN(send), LISTS(recv), a->root, a->comm)
CALL(Scatter, scatter, EVEN(send), EVEN(recv), a->root, a->comm)
CALL(Scatterv, scatterv, LISTS(send), EVEN(recv), a->root, a->comm)
CALL(Neighbor_allgather, neighbor_allgather, EVEN(send), EVEN(recv), a->comm)
CALL(Neighbor_allgatherv, neighbor_allgatherv, EVEN(send), LISTS(recv), a->comm)
CALL(Neighbor_alltoall, neighbor_alltoall, EVEN(send), EVEN(recv), a->comm)
CALL(Neighbor_alltoallv, neighbor_alltoallv, LISTS(send), LISTS(recv), a->comm)
CALL(Neighbor_alltoallw, neighbor_alltoallw, FAR(send), FAR(recv), a->comm)

#define NAMED(of) .name = #of, .call = call_##of

const struct collective collectives[] = {
    {NAMED(Allgather), .one_sent = true},
    {NAMED(Allgatherv), .one_sent = true, .form = ITS_COUNT},
    {NAMED(Alltoall)},
    {NAMED(Alltoallv), .form = ITS_COUNT},
    {NAMED(Alltoallw), .form = ITS_TYPE},
    {NAMED(Bcast), .rooted = ONE_BUFFER, .one_sent = true,
     .one_received = true},
    {NAMED(Gather), .rooted = TO_ROOT, .one_sent = true},
    {NAMED(Gatherv), .rooted = TO_ROOT, .one_sent = true, .form = ITS_COUNT},
    {NAMED(Scatter), .rooted = FROM_ROOT, .one_received = true},
    {NAMED(Scatterv), .rooted = FROM_ROOT, .one_received = true,
     .form = ITS_COUNT},
    {NAMED(Neighbor_allgather), .one_sent = true, .neighbours = true},
    {NAMED(Neighbor_allgatherv), .one_sent = true, .form = ITS_COUNT,
     .neighbours = true},
    {NAMED(Neighbor_alltoall), .neighbours = true},
    {NAMED(Neighbor_alltoallv), .form = ITS_COUNT, .neighbours = true},
    {NAMED(Neighbor_alltoallw), .form = ITS_TYPE, .neighbours = true}};
const int collective_count = sizeof(collectives) / sizeof(*collectives);
