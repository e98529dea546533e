/* Before: the CPU waits for the GPU, then for the messages, in every step. */
#include "jacobi.h"

static void exchange(const struct band *band, double *points)
{
    double *above = band_row(points, 0);
    double *below = band_row(points, band->rows + 1);
    MPI_Request requests[4];
    MPI_Status statuses[4];

    CU(cuStreamSynchronize(band->stream));
    MPI_Irecv(above, COLUMNS, MPI_DOUBLE, band->above, 0, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(below, COLUMNS, MPI_DOUBLE, band->below, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(band_row(points, 1), COLUMNS, MPI_DOUBLE, band->above, 1,
              MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(band_row(points, band->rows), COLUMNS, MPI_DOUBLE, band->below, 0,
              MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

int main(int argc, char **argv)
{
    struct band band;

    band_open(&band, &argc, &argv);
    for (int step = 0; step < STEPS; step++) {
        band_step(&band);
        exchange(&band, band.newer);
        band_swap(&band);
    }
    return band_close(&band, "jacobi_before");
}
