/* Messages of all sizes there and back between ranks 0 and 1, every byte looked
 * at, and a sum over all ranks: MPICH over the software HCA. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAPS = 10, SMALLEST = 8, LARGEST = 1 << 20 };

static int count_wrong(const unsigned char *data, size_t bytes, int lap)
{
    int wrong = 0;

    for (size_t i = 0; i < bytes; i++)
        wrong += data[i] != (unsigned char)(i + (size_t)lap);
    return wrong;
}

static void fill(unsigned char *data, size_t bytes, int lap)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i + (size_t)lap);
}

static int play(unsigned char *data, int bytes, int rank)
{
    int wrong = 0;

    for (int lap = 0; lap < LAPS; lap++) {
        if (rank == 0) {
            fill(data, (size_t)bytes, lap);
            MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            memset(data, 0, (size_t)bytes);
        }
        MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        wrong += count_wrong(data, (size_t)bytes, lap);
        if (rank == 1)
            MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned char *data = malloc(LARGEST);
    int rank, ranks, wrong = 0, total = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int bytes = SMALLEST; data && bytes <= LARGEST && rank < 2; bytes *= 8)
        wrong += play(data, bytes, rank);
    MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d bytes wrong, sum %d\n", ranks, total, wrong);
    MPI_Finalize();
    free(data);
    return !data || total != 0 || wrong != ranks * (ranks - 1) / 2;
}
