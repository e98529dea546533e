/* Persistent: requests are made once, and started in every step. */
#include "jacobi.h"

#include <mpix_gds.h>

/* A communicator whose messages are steps of this stream. */
static MPI_Comm in_order_of(CUstream stream)
{
    MPIX_Stream order;
    MPI_Info info;
    MPI_Comm comm;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "CUstream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    MPIX_Stream_create(info, &order);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, order, &comm);
    MPIX_Stream_free(&order); /* comm keeps what it needs */
    MPI_Info_free(&info);
    return comm;
}

/* The exchange of these points, not started yet. */
static void exchange_init(const struct band *band, double *points,
                          MPI_Comm comm, MPI_Request requests[4])
{
    double *above = band_row(points, 0);
    double *below = band_row(points, band->rows + 1);

    MPI_Recv_init(above, COLUMNS, MPI_DOUBLE, band->above, 0, comm,
                  &requests[0]);
    MPI_Recv_init(below, COLUMNS, MPI_DOUBLE, band->below, 1, comm,
                  &requests[1]);
    MPI_Send_init(band_row(points, 1), COLUMNS, MPI_DOUBLE, band->above, 1,
                  comm, &requests[2]);
    MPI_Send_init(band_row(points, band->rows), COLUMNS, MPI_DOUBLE,
                  band->below, 0, comm, &requests[3]);
}

static void exchange(MPI_Request requests[4])
{
    MPIX_Startall_enqueue(4, requests);
    MPIX_Waitall_enqueue(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    struct band band;
    MPI_Request requests[2][4]; /* the points change places in every step */
    MPI_Comm comm;

    band_open(&band, &argc, &argv);
    comm = in_order_of(band.stream);
    exchange_init(&band, band.newer, comm, requests[0]);
    exchange_init(&band, band.old, comm, requests[1]);
    for (int step = 0; step < STEPS; step++) {
        band_step(&band);
        exchange(requests[step % 2]);
        band_swap(&band);
    }
    for (int i = 0; i < 8; i++)
        MPI_Request_free(&requests[i / 4][i % 4]);
    MPI_Comm_free(&comm);
    return band_close(&band, "jacobi_persistent");
}
