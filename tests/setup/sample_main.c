/* A program around README's code sample, which is compiled beside it: a ring of
 * ranks, each of which gives the next one its edge for a few steps, and looks
 * at what it got. Exit status 0 if all of it was right. The driver's calls are
 * looked up, so that no CUDA library is linked. */
#include <cuda.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOUBLES = 1000, STEPS = 5 };

MPI_Comm in_order_of(CUstream cuda, MPI_Comm comm);
void exchange(double *halo, const double *edge, int n, int left, int right,
              MPI_Comm comm);

static void *driver;

static void *look_up(const char *name)
{
    void *call = dlsym(driver, name);

    if (!call) {
        fprintf(stderr, "sample: %s: %s\n", name, dlerror());
        exit(1);
    }
    return call;
}

#define CU(call, ...)                                                          \
    do {                                                                       \
        CUresult cu_result =                                                   \
            ((__typeof__(&(call)))look_up(CU_NAME(call)))(__VA_ARGS__);        \
        if (cu_result != CUDA_SUCCESS) {                                       \
            fprintf(stderr, "sample: %s: %d\n", #call, (int)cu_result);        \
            exit(1);                                                           \
        }                                                                      \
    } while (0)
#define CU_NAME_(call) #call
#define CU_NAME(call) CU_NAME_(call) /* cuda.h renames calls: cuMemAlloc_v2 */

static CUstream begin(int device)
{
    CUcontext context;
    CUstream stream;

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "sample: %s\n", dlerror());
        exit(1);
    }
    CU(cuInit, 0);
    CU(cuDevicePrimaryCtxRetain, &context, device);
    CU(cuCtxSetCurrent, context);
    CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    return stream;
}

static int wrong_values(const double *values, double first)
{
    for (int i = 0; i < DOUBLES; i++)
        if (values[i] != first + i)
            return 1;
    return 0;
}

static int step(CUstream stream, MPI_Comm comm, CUdeviceptr edge,
                CUdeviceptr halo, int number)
{
    static double values[DOUBLES];
    int rank, size, left;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    for (int i = 0; i < DOUBLES; i++)
        values[i] = 1e6 * rank + 1e4 * number + i;
    CU(cuMemcpyHtoDAsync, edge, values, sizeof(values), stream);
    exchange((double *)halo, (const double *)edge, DOUBLES, left,
             (rank + 1) % size, comm);
    CU(cuMemcpyDtoHAsync, values, halo, sizeof(values), stream);
    CU(cuStreamSynchronize, stream);
    return wrong_values(values, 1e6 * left + 1e4 * number);
}

int main(int argc, char **argv)
{
    CUdeviceptr edge, halo;
    CUstream stream;
    MPI_Comm comm;
    int rank, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    stream = begin(0);
    CU(cuMemAlloc, &edge, DOUBLES * sizeof(double));
    CU(cuMemAlloc, &halo, DOUBLES * sizeof(double));
    comm = in_order_of(stream, MPI_COMM_WORLD);
    for (int number = 0; number < STEPS; number++)
        wrong += step(stream, comm, edge, halo, number);
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sample: %d steps, %d wrong\n", STEPS, wrong);
    MPI_Finalize();
    return wrong != 0;
}
