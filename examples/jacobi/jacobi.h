/*
 * What the versions of the example share: a plate of ROWS x COLUMNS points
 * whose upper edge is hot, cut into bands of rows, one for each rank. A band
 * has a row of each neighbour above and below (its halo). A step gives every
 * point the mean of its four neighbours.
 */
#ifndef JACOBI_H
#define JACOBI_H

#include <cuda.h>
#include <mpi.h>

enum { ROWS = 64, COLUMNS = 256, STEPS = 100 };

struct band {
    int rank, ranks;
    int above, below; /* neighbours; MPI_PROC_NULL at the ends */
    int rows;         /* own ones, without the halo */
    CUstream stream;
    CUfunction step;
    double *old;   /* in GPU memory: (rows + 2) x COLUMNS points */
    double *newer; /* what a step makes of it */
};

/* Starts MPI and the GPU; takes the kernel from the file JACOBI_KERNEL. */
void band_open(struct band *band, int *argc, char ***argv);

/* Puts a step on the stream: from `old` to `newer`. */
void band_step(const struct band *band);

/* The next step begins where this one ends. */
void band_swap(struct band *band);

/* Row r of a band, 0 and rows + 1 being the halo. */
double *band_row(double *points, int r);

/* Waits for the stream, compares the plate with what the CPU computes by
 * itself, bit for bit, says so, and ends MPI. Returns main's exit status. */
int band_close(struct band *band, const char *program);

/* Ends the job with a line if the call of the driver failed. */
void cu_check(CUresult result, const char *call);
#define CU(call) cu_check(call, #call)

#endif
