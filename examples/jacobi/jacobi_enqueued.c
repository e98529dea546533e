/* Enqueued: the messages are steps of the stream, between the kernels. The CPU
 * waits for nothing until the end. */
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

static void exchange(const struct band *band, double *points, MPI_Comm comm)
{
    double *above = band_row(points, 0);
    double *below = band_row(points, band->rows + 1);
    MPI_Request requests[4];

    MPIX_Irecv_enqueue(above, COLUMNS, MPI_DOUBLE, band->above, 0, comm,
                       &requests[0]);
    MPIX_Irecv_enqueue(below, COLUMNS, MPI_DOUBLE, band->below, 1, comm,
                       &requests[1]);
    MPIX_Isend_enqueue(band_row(points, 1), COLUMNS, MPI_DOUBLE, band->above, 1,
                       comm, &requests[2]);
    MPIX_Isend_enqueue(band_row(points, band->rows), COLUMNS, MPI_DOUBLE,
                       band->below, 0, comm, &requests[3]);
    MPIX_Waitall_enqueue(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    struct band band;
    MPI_Comm comm;

    band_open(&band, &argc, &argv);
    comm = in_order_of(band.stream);
    for (int step = 0; step < STEPS; step++) {
        band_step(&band);
        exchange(&band, band.newer, comm);
        band_swap(&band);
    }
    MPI_Comm_free(&comm);
    return band_close(&band, "jacobi_enqueued");
}
