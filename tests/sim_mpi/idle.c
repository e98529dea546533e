/* Two ranks: rank 1 waits in MPI_Recv while rank 0 is elsewhere, until rank 1
 * has slept so many times or so many ms have passed.
 *
 *   mpiexec.mpich -n 2 sim_mpi_idle SLEEPS MS
 *
 * Rank 1 prints how often it slept, and the microseconds of processor time it
 * took. Neither depends on what else the machine does. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MGDS_LOOK_MS = 10 };

struct use {
    long sleeps;
    double cpu_us;
};

static struct use use_of_thread(void)
{
    struct rusage use;

    getrusage(RUSAGE_THREAD, &use);
    return (struct use){
        .sleeps = use.ru_nvcsw,
        .cpu_us = 1e6 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                  (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec)};
}

/* How often the main thread of a process has slept; ends the job if it cannot
   be read. */
static long sleeps_of(int pid)
{
    char path[64], line[256];
    long sleeps = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
    if (sleeps < 0) {
        fprintf(stderr, "%s: no count of voluntary switches\n", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fclose(file);
    return sleeps;
}

static void be_away(long sleeps, long ms)
{
    const struct timespec look = {.tv_nsec = MGDS_LOOK_MS * 1000000L};
    double end;
    int pid;
    long before;

    MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    before = sleeps_of(pid);
    end = MPI_Wtime() + 1e-3 * (double)ms;
    while (sleeps_of(pid) - before < sleeps && MPI_Wtime() < end)
        nanosleep(&look, NULL);
    MPI_Send(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

static void wait_and_report(void)
{
    int pid = getpid();
    struct use before, after;

    MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    before = use_of_thread();
    MPI_Recv(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    after = use_of_thread();
    printf("%ld %.0f\n", after.sleeps - before.sleeps,
           after.cpu_us - before.cpu_us);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) {
        fprintf(stderr, "usage: sim_mpi_idle SLEEPS MS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        be_away(atol(argv[1]), atol(argv[2]));
    else if (rank == 1)
        wait_and_report();
    MPI_Finalize();
    return 0;
}
