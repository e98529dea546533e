/*
 * For programs under mpiexec that hand GPU memory to MPI: buffers with a known
 * filling, and what must hold of them. Everything not true ends the job.
 */
#ifndef MGDS_TESTS_GPU_CASE_H
#define MGDS_TESTS_GPU_CASE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/gpu.h"
#include "tests/lib/mpi_check.h"

extern int gpu_rank, gpu_size;

/* MPI_Init_thread(MULTIPLE), then the GPU; ends with status 77 without one. */
void gpu_begin(int *argc, char ***argv);
/* The same at another level of threads, or more. */
void gpu_begin_at(int *argc, char ***argv, int level);

/* The GPU alone, behind the program's own MPI_Init. */
void gpu_open(void);

/* MPI_Finalize, if that was not yet, and "<name>: all well" from rank 0. */
void gpu_end(const char *name);

/* Device memory of so many bytes, byte i being seed + i * 7; seed -1: all
 * 0xee, "untouched". */
char *gpu_new(size_t bytes, int seed);
void gpu_delete(char *at);
void gpu_fill(char *at, size_t bytes, int seed);

/* Do bytes [from, to) of the memory hold the filling of seed? */
int gpu_holds(const char *at, size_t from, size_t to, int seed);

void gpu_read(void *to, const char *from, size_t bytes);
void gpu_write(char *to, const void *from, size_t bytes);

/* Of two ranks, which show each other that they can map by what they receive in
 * GPU memory: so many bytes of from go both ways, three times. */
void gpu_meet(char *from, int bytes);

/* What a program may be asked to do, by name. Runs the one of that name, which
 * there must be; the last has none. */
struct gpu_way {
    const char *name;
    void (*run)(void);
};
void gpu_run_way(const struct gpu_way *ways, const char *name);

/* Calls that complete one, or some, of so many requests: Waitsome, Testsome,
 * Waitany, Testany by way, from 0 on. How many it were. */
int gpu_complete_some(int way, int count, MPI_Request *requests,
                      MPI_Status *statuses, int *indices);

/* The class of an error code. */
int gpu_class(int code);

/* Makes errors on this communicator return, and counts how often its handler
 * was called since. */
void gpu_count_errors(MPI_Comm comm);
int gpu_errors(void);

/* What an MPI_Status says was received, in bytes. */
int gpu_bytes(MPI_Status *status);

/* MPI_STATUSES_IGNORE, which gcc takes for an array too short. */
MPI_Status *gpu_ignored(void);

#endif
