/* Buffers of both ends of the ring, filled and checked. */
#include "tests/mpi/matrix/exchange.h"

#include <errno.h>
#include <stdlib.h>

int mgds_mx_exchange_init(struct mgds_mx_exchange *x, struct mgds_mx_case *c,
                          int extra)
{
    size_t room;

    mgds_mx_type_init(&x->type, c->type_kind, c->bytes, &x->count);
    x->room = x->count * (size_t)(1 + extra);
    /* An empty message still comes to a real address. */
    room = x->room > 0 ? x->room : 1;
    x->from = (c->rank + c->ranks - 1) % c->ranks;
    x->to = (c->rank + 1) % c->ranks;
    if (mgds_mx_buffer_init(&x->send, "send buffer", c->kind[0], &x->type,
                            x->count > 0 ? x->count : 1) < 0)
        goto fini_type;
    if (mgds_mx_buffer_init(&x->recv, "receive buffer", c->kind[1], &x->type,
                            room) < 0)
        goto fini_send;
    x->packed = mgds_mx_alloc(x->count * x->type.data);
    mgds_mx_exchange_refill(c, x, 0);
    return 0;
fini_send:
    mgds_mx_buffer_fini(&x->send);
fini_type:
    mgds_mx_type_fini(&x->type);
    mgds_mx_fail(c, "no memory for the buffers");
    return -ENOMEM;
}

void mgds_mx_exchange_fini(struct mgds_mx_exchange *x)
{
    free(x->packed);
    mgds_mx_buffer_fini(&x->recv);
    mgds_mx_buffer_fini(&x->send);
    mgds_mx_type_fini(&x->type);
}

void mgds_mx_exchange_refill(struct mgds_mx_case *c, struct mgds_mx_exchange *x,
                             int round)
{
    size_t bytes = x->count * x->type.data;

    mgds_mx_stream(c, c->rank, x->to, round, x->packed, bytes);
    mgds_mx_buffer_place(&x->send, 0, x->packed, bytes);
    mgds_mx_buffer_upload(&x->send);
    mgds_mx_buffer_poison(&x->recv);
    mgds_mx_buffer_upload(&x->recv);
}

void mgds_mx_exchange_check(struct mgds_mx_case *c, struct mgds_mx_exchange *x,
                            int round)
{
    size_t bytes = x->count * x->type.data;

    mgds_mx_stream(c, x->from, c->rank, round, x->packed, bytes);
    mgds_mx_buffer_place(&x->recv, 0, x->packed, bytes);
    mgds_mx_expect(c, &x->recv);
    mgds_mx_expect(c, &x->send);
}

void mgds_mx_exchange_status(struct mgds_mx_case *c,
                             const struct mgds_mx_exchange *x,
                             MPI_Status *status)
{
    int count = -1;

    MPI_Get_count(status, x->type.mpi, &count);
    if (count != (int)x->count || status->MPI_SOURCE != x->from)
        mgds_mx_fail(c, "status: %d elements from rank %d, not %zu from %d",
                     count, status->MPI_SOURCE, x->count, x->from);
    if (status->MPI_TAG != MGDS_MX_TAG)
        mgds_mx_fail(c, "status: tag %d, not %d", status->MPI_TAG, MGDS_MX_TAG);
}
