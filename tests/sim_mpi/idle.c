/* Two ranks: rank 1 waits in MPI_Recv while rank 0 is elsewhere. Rank 1 prints
 * the share of that time, in percent, for which it held a core. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include <mpi.h>

enum { MGDS_AWAY_MS = 400 };

static double cpu_seconds(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void be_away(void)
{
    const struct timespec away = {.tv_nsec = MGDS_AWAY_MS * 1000000L};
    int word = 1;

    nanosleep(&away, NULL);
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

static void wait_and_report(void)
{
    int word = 0;
    double cpu = cpu_seconds();
    double start = MPI_Wtime();

    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%.0f\n", 100.0 * (cpu_seconds() - cpu) / (MPI_Wtime() - start));
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        be_away();
    else if (rank == 1)
        wait_and_report();
    MPI_Finalize();
    return 0;
}
