/* GPU, kernel, memory, and the comparison with the CPU. */
#include "jacobi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef JACOBI_KERNEL
#define JACOBI_KERNEL "jacobi_kernel.ptx"
#endif

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "jacobi: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void cu_check(CUresult result, const char *call)
{
    const char *name = "unknown error";

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fail(call, name);
}

double *band_row(double *points, int r)
{
    return points + (size_t)r * COLUMNS;
}

static size_t bytes_of(int rows)
{
    return (size_t)rows * COLUMNS * sizeof(double);
}

/* The whole file, closed by a zero byte. */
static char *kernel_read(void)
{
    FILE *file = fopen(JACOBI_KERNEL, "rb");
    char *text = calloc(1, 1 << 20);

    if (!file || !text)
        fail(JACOBI_KERNEL, "cannot be read: build it, and run the program "
                            "where it lies");
    else if (fread(text, 1, (1 << 20) - 1, file) == 0)
        fail(JACOBI_KERNEL, "is empty");
    if (file)
        fclose(file);
    return text;
}

/* Ranks of one host share out its GPUs. */
static void gpu_open(struct band *band)
{
    CUcontext context;
    CUmodule module;
    CUdevice device;
    MPI_Comm host;
    int local, devices = 0;
    char *kernel;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_free(&host);
    CU(cuInit(0));
    CU(cuDeviceGetCount(&devices));
    if (devices == 0)
        fail("cuDeviceGetCount", "no GPU is to be seen");
    CU(cuDeviceGet(&device, local % devices));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&band->stream, CU_STREAM_NON_BLOCKING));
    kernel = kernel_read();
    CU(cuModuleLoadData(&module, kernel));
    CU(cuModuleGetFunction(&band->step, module, "jacobi_step"));
    free(kernel);
}

/* Everything is cold but the row above the plate. */
static void points_begin(double *points, int rows, int first)
{
    memset(points, 0, bytes_of(rows + 2));
    for (int column = 0; first && column < COLUMNS; column++)
        points[column] = 1;
}

static double *points_create(const struct band *band)
{
    double *host = malloc(bytes_of(band->rows + 2));
    CUdeviceptr at;

    if (!host)
        fail("malloc", "no memory");
    points_begin(host, band->rows, band->rank == 0);
    CU(cuMemAlloc(&at, bytes_of(band->rows + 2)));
    CU(cuMemcpyHtoD(at, host, bytes_of(band->rows + 2)));
    free(host);
    return (double *)at;
}

void band_open(struct band *band, int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &band->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &band->ranks);
    if (ROWS % band->ranks != 0)
        fail("mpiexec -n", "give a number of ranks that divides 64");
    band->rows = ROWS / band->ranks;
    band->above = band->rank > 0 ? band->rank - 1 : MPI_PROC_NULL;
    band->below = band->rank < band->ranks - 1 ? band->rank + 1 : MPI_PROC_NULL;
    gpu_open(band);
    band->old = points_create(band);
    band->newer = points_create(band);
}

void band_step(const struct band *band)
{
    int rows = band->rows, columns = COLUMNS;
    void *params[] = {(void *)&band->newer, (void *)&band->old, &rows,
                      &columns};

    CU(cuLaunchKernel(band->step, (unsigned)rows, 1, 1, 128, 1, 1, 0,
                      band->stream, params, NULL));
}

void band_swap(struct band *band)
{
    double *points = band->old;

    band->old = band->newer;
    band->newer = points;
}

static void cpu_step(double *to, const double *from)
{
    for (int row = 1; row <= ROWS; row++) {
        for (int column = 1; column < COLUMNS - 1; column++) {
            int at = row * COLUMNS + column;

            to[at] = 0.25 * (from[at - COLUMNS] + from[at + COLUMNS] +
                             from[at - 1] + from[at + 1]);
        }
    }
}

/* The plate after all steps, computed by one CPU; freed by the caller. */
static double *cpu_plate(void)
{
    double *plates[2];

    for (int i = 0; i < 2; i++) {
        plates[i] = malloc(bytes_of(ROWS + 2));
        if (!plates[i])
            fail("malloc", "no memory");
        points_begin(plates[i], ROWS, 1);
    }
    for (int step = 0; step < STEPS; step++)
        cpu_step(plates[(step + 1) % 2], plates[step % 2]);
    free(plates[(STEPS + 1) % 2]);
    return plates[STEPS % 2];
}

static int wrong_points(const struct band *band)
{
    size_t bytes = bytes_of(band->rows);
    double *got = malloc(bytes), *plate = cpu_plate();
    const double *expected = plate + (1 + band->rank * band->rows) * COLUMNS;
    int wrong = 0;

    if (!got)
        fail("malloc", "no memory");
    CU(cuMemcpyDtoH(got, (CUdeviceptr)band_row(band->old, 1), bytes));
    for (int i = 0; i < band->rows * COLUMNS; i++)
        wrong += memcmp(&got[i], &expected[i], sizeof(double)) != 0;
    free(plate);
    free(got);
    return wrong;
}

int band_close(struct band *band, const char *program)
{
    int wrong;

    CU(cuStreamSynchronize(band->stream));
    wrong = wrong_points(band);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (band->rank == 0)
        printf("%s: %d ranks, %d steps, %d wrong points\n", program,
               band->ranks, STEPS, wrong);
    CU(cuMemFree((CUdeviceptr)band->newer));
    CU(cuMemFree((CUdeviceptr)band->old));
    CU(cuStreamDestroy(band->stream));
    MPI_Finalize();
    return wrong != 0;
}
