/* Enqueued, with the CUDA runtime, for real GPUs: all in one file. */
#include <cstdio>
#include <cuda_runtime.h>
#include <mpix_gds.h>
#include <utility>
#include <vector>

static const int ROWS = 64, COLUMNS = 256, STEPS = 100;

#define CUDA(call)                                                             \
    do {                                                                       \
        cudaError_t result = (call);                                           \
        if (result != cudaSuccess) {                                           \
            std::fprintf(stderr, "jacobi_runtime: %s: %s\n", #call,            \
                         cudaGetErrorString(result));                          \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

__global__ static void jacobi_step(double *to, const double *from, int rows)
{
    for (int row = 1 + blockIdx.x; row <= rows; row += gridDim.x) {
        for (int column = 1 + threadIdx.x; column < COLUMNS - 1;
             column += blockDim.x) {
            int at = row * COLUMNS + column;

            to[at] = 0.25 * (from[at - COLUMNS] + from[at + COLUMNS] +
                             from[at - 1] + from[at + 1]);
        }
    }
}

/* A communicator whose messages are steps of this stream. */
static MPI_Comm in_order_of(cudaStream_t stream)
{
    MPIX_Stream order;
    MPI_Info info;
    MPI_Comm comm;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    MPIX_Stream_create(info, &order);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, order, &comm);
    MPIX_Stream_free(&order);
    MPI_Info_free(&info);
    return comm;
}

static void exchange(double *points, int rows, int above, int below,
                     MPI_Comm comm)
{
    MPI_Request requests[4];

    MPIX_Irecv_enqueue(points, COLUMNS, MPI_DOUBLE, above, 0, comm,
                       &requests[0]);
    MPIX_Irecv_enqueue(points + (rows + 1) * COLUMNS, COLUMNS, MPI_DOUBLE,
                       below, 1, comm, &requests[1]);
    MPIX_Isend_enqueue(points + COLUMNS, COLUMNS, MPI_DOUBLE, above, 1, comm,
                       &requests[2]);
    MPIX_Isend_enqueue(points + rows * COLUMNS, COLUMNS, MPI_DOUBLE, below, 0,
                       comm, &requests[3]);
    MPIX_Waitall_enqueue(4, requests, MPI_STATUSES_IGNORE);
}

/* The same on the CPU, of the whole plate. */
static std::vector<double> cpu_plate(const std::vector<double> &cold)
{
    std::vector<double> old = cold, newer = cold;

    for (int step = 0; step < STEPS; step++) {
        for (int row = 1; row <= ROWS; row++) {
            for (int column = 1; column < COLUMNS - 1; column++) {
                int at = row * COLUMNS + column;

                newer[at] = 0.25 * (old[at - COLUMNS] + old[at + COLUMNS] +
                                    old[at - 1] + old[at + 1]);
            }
        }
        old.swap(newer);
    }
    return old;
}

/* Everything is cold but the row above the plate. */
static std::vector<double> points_begin(int rows, bool first)
{
    std::vector<double> points((rows + 2) * COLUMNS, 0.0);

    for (int column = 0; first && column < COLUMNS; column++)
        points[column] = 1;
    return points;
}

static double *points_create(const std::vector<double> &from)
{
    double *at;

    CUDA(cudaMalloc(&at, from.size() * sizeof(double)));
    CUDA(cudaMemcpy(at, from.data(), from.size() * sizeof(double),
                    cudaMemcpyHostToDevice));
    return at;
}

static int wrong_points(const double *points, int rows, int rank)
{
    std::vector<double> got(rows * COLUMNS);
    std::vector<double> plate = cpu_plate(points_begin(ROWS, true));
    int wrong = 0;

    CUDA(cudaMemcpy(got.data(), points + COLUMNS, got.size() * sizeof(double),
                    cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < got.size(); i++)
        wrong += got[i] != plate[(1 + rank * rows) * COLUMNS + i];
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return wrong;
}

/* Where a rank is, and its neighbours: MPI_PROC_NULL at the ends. */
struct place {
    int rank, ranks, rows, above, below;
};

static place place_of_this_rank()
{
    place p;

    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
    if (ROWS % p.ranks != 0) {
        std::fprintf(stderr, "jacobi_runtime: give mpiexec a number of ranks "
                             "that divides 64\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    p.rows = ROWS / p.ranks;
    p.above = p.rank > 0 ? p.rank - 1 : MPI_PROC_NULL;
    p.below = p.rank < p.ranks - 1 ? p.rank + 1 : MPI_PROC_NULL;
    return p;
}

/* Returns the points that the last step has made. */
static double *steps_run(double *old, double *newer, const place &p,
                         cudaStream_t stream)
{
    MPI_Comm comm = in_order_of(stream);

    for (int step = 0; step < STEPS; step++) {
        jacobi_step<<<p.rows, 128, 0, stream>>>(newer, old, p.rows);
        CUDA(cudaGetLastError());
        exchange(newer, p.rows, p.above, p.below, comm);
        std::swap(old, newer);
    }
    CUDA(cudaStreamSynchronize(stream));
    MPI_Comm_free(&comm);
    return old;
}

int main(int argc, char **argv)
{
    int devices, wrong;
    cudaStream_t stream;
    double *points[2];

    MPI_Init(&argc, &argv);
    place p = place_of_this_rank();
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(p.rank % devices)); /* ranks of one host */
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (double *&at : points)
        at = points_create(points_begin(p.rows, p.rank == 0));
    wrong = wrong_points(steps_run(points[0], points[1], p, stream), p.rows,
                         p.rank);
    if (p.rank == 0)
        std::printf("jacobi_runtime: %d ranks, %d steps, %d wrong points\n",
                    p.ranks, STEPS, wrong);
    for (double *at : points)
        CUDA(cudaFree(at));
    CUDA(cudaStreamDestroy(stream));
    MPI_Finalize();
    return wrong != 0;
}
