/* Every collective in every form. */
#include "tests/mpi/gpu_coll.h"

/* Arguments of the plain and of the large-count form. */
#define FORMS_OF(name, lower, SMALL, LARGE_ARGS)                               \
    static int call_##name(enum form form, const struct args *a,               \
                           MPI_Request *request)                               \
    {                                                                          \
        switch (form) {                                                        \
        case BLOCKING:                                                         \
            return MPI_##name(SMALL);                                          \
        case NONBLOCKING:                                                      \
            return MPI_I##lower(SMALL, request);                               \
        case PERSISTENT:                                                       \
            return MPI_##name##_init(SMALL, MPI_INFO_NULL, request);           \
        case LARGE:                                                            \
            return MPI_##name##_c(LARGE_ARGS);                                 \
        case LARGE_NONBLOCKING:                                                \
            return MPI_I##lower##_c(LARGE_ARGS, request);                      \
        default:                                                               \
            return MPI_##name##_init_c(LARGE_ARGS, MPI_INFO_NULL, request);    \
        }                                                                      \
    }

#define SEND a->send, a->count, a->type
#define RECV a->recv, a->count, a->type
#define LIST_S(side) side.count, side.displ, a->type
#define LIST_L(side) side.count_c, side.displ_c, a->type
#define TYPES_S(side) side.count, side.displ, side.type
#define TYPES_L(side) side.count_c, side.displ_c, side.type
#define TYPES_A(side) side.count, side.displ_c, side.type
#define REDUCE a->send, a->recv, a->count, a->type, a->op

#define BOTH(name, lower, ...)                                                 \
    FORMS_OF(name, lower, EACH(__VA_ARGS__), EACH(__VA_ARGS__))
#define EACH(...) __VA_ARGS__

BOTH(Allgather, allgather, SEND, RECV, a->comm)
FORMS_OF(Allgatherv, allgatherv, EACH(SEND, a->recv, LIST_S(a->recvs), a->comm),
         EACH(SEND, a->recv, LIST_L(a->recvs), a->comm))
BOTH(Allreduce, allreduce, REDUCE, a->comm)
BOTH(Alltoall, alltoall, SEND, RECV, a->comm)
FORMS_OF(Alltoallv, alltoallv,
         EACH(a->send, LIST_S(a->sends), a->recv, LIST_S(a->recvs), a->comm),
         EACH(a->send, LIST_L(a->sends), a->recv, LIST_L(a->recvs), a->comm))
FORMS_OF(Alltoallw, alltoallw,
         EACH(a->send, TYPES_S(a->sends_w), a->recv, TYPES_S(a->recvs_w),
              a->comm),
         EACH(a->send, TYPES_L(a->sends_w), a->recv, TYPES_L(a->recvs_w),
              a->comm))
BOTH(Bcast, bcast, RECV, a->root, a->comm)
BOTH(Exscan, exscan, REDUCE, a->comm)
BOTH(Gather, gather, SEND, RECV, a->root, a->comm)
FORMS_OF(Gatherv, gatherv,
         EACH(SEND, a->recv, LIST_S(a->recvs), a->root, a->comm),
         EACH(SEND, a->recv, LIST_L(a->recvs), a->root, a->comm))
BOTH(Reduce, reduce, REDUCE, a->root, a->comm)
FORMS_OF(Reduce_scatter, reduce_scatter,
         EACH(a->send, a->recv, a->recvs.count, a->type, a->op, a->comm),
         EACH(a->send, a->recv, a->recvs.count_c, a->type, a->op, a->comm))
BOTH(Reduce_scatter_block, reduce_scatter_block, REDUCE, a->comm)
BOTH(Scan, scan, REDUCE, a->comm)
BOTH(Scatter, scatter, SEND, RECV, a->root, a->comm)
FORMS_OF(Scatterv, scatterv,
         EACH(a->send, LIST_S(a->sends), RECV, a->root, a->comm),
         EACH(a->send, LIST_L(a->sends), RECV, a->root, a->comm))
BOTH(Neighbor_allgather, neighbor_allgather, SEND, RECV, a->comm)
FORMS_OF(Neighbor_allgatherv, neighbor_allgatherv,
         EACH(SEND, a->recv, LIST_S(a->recvs), a->comm),
         EACH(SEND, a->recv, LIST_L(a->recvs), a->comm))
BOTH(Neighbor_alltoall, neighbor_alltoall, SEND, RECV, a->comm)
FORMS_OF(Neighbor_alltoallv, neighbor_alltoallv,
         EACH(a->send, LIST_S(a->sends), a->recv, LIST_S(a->recvs), a->comm),
         EACH(a->send, LIST_L(a->sends), a->recv, LIST_L(a->recvs), a->comm))
FORMS_OF(Neighbor_alltoallw, neighbor_alltoallw,
         EACH(a->send, TYPES_A(a->sends_w), a->recv, TYPES_A(a->recvs_w),
              a->comm),
         EACH(a->send, TYPES_L(a->sends_w), a->recv, TYPES_L(a->recvs_w),
              a->comm))

#define ROW(name, counting, idle, ...)                                         \
    {#name, call_##name, counting, idle, __VA_ARGS__},

const struct collective collectives[] = {
    /* in place, reduces, neighbours, inter */
    ROW(Allgather, EVEN, NONE_IDLE, true, false, false,
        true) ROW(Allgatherv, BY_RANK, NONE_IDLE, true, false, false,
                  true) ROW(Allreduce, EVEN, NONE_IDLE, true, true, false, true)
        ROW(Alltoall, EVEN, NONE_IDLE, true, false, false,
            true) ROW(Alltoallv, BY_PAIR, NONE_IDLE, true, false, false, true)
            ROW(Alltoallw, BY_PAIR, NONE_IDLE, true, false, false, true) ROW(
                Bcast, EVEN, BOTH_SAME, false, false, false,
                true) ROW(Exscan, EVEN, NONE_IDLE, true, true, false, false)
                ROW(Gather, EVEN, RECV_IDLE, true, false, false, true) ROW(
                    Gatherv, BY_RANK, RECV_IDLE, true, false, false,
                    true) ROW(Reduce, EVEN, RECV_IDLE, true, true, false, true)
                    ROW(Reduce_scatter, BY_RANK, NONE_IDLE, true, true, false,
                        true) ROW(Reduce_scatter_block, EVEN, NONE_IDLE, true,
                                  true, false, true)
                        ROW(Scan, EVEN, NONE_IDLE, true, true, false, false)
                            ROW(Scatter, EVEN, SEND_IDLE, true, false, false,
                                true) ROW(Scatterv, BY_RANK, SEND_IDLE, true,
                                          false, false, true)
                                ROW(Neighbor_allgather, EVEN, NONE_IDLE, false,
                                    false, true, false)
                                    ROW(Neighbor_allgatherv, BY_RANK, NONE_IDLE,
                                        false, false, true, false)
                                        ROW(Neighbor_alltoall, EVEN, NONE_IDLE,
                                            false, false, true, false)
                                            ROW(Neighbor_alltoallv, BY_PAIR,
                                                NONE_IDLE, false, false, true,
                                                false)
                                                ROW(Neighbor_alltoallw, BY_PAIR,
                                                    NONE_IDLE, false, false,
                                                    true, false)};
const int collective_count = sizeof(collectives) / sizeof(*collectives);
